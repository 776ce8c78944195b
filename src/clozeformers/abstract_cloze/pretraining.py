"""Self-supervised cloze: words of running text are masked, and predicted among the options of the training questions.

The gap head of a model is trained together with its encoder, over all options at once, before the model reads a
question.
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ..files import CorpusError, atomic_folder, read_json
from ..modeling.losses import IGNORED_LABEL
from ..rows import read_rows
from ..training.experiment import checkpoint_to_resume, remove_checkpoints
from ..training.trainer import LengthGroupedTrainer
from .arguments import ClozeDataArguments, ClozeModelArguments
from .encoding import PairLayout, pair_layout
from .loading import load_model
from .questions import PLACEHOLDER
from .sentences import split_sentences

logger = logging.getLogger(__name__)

MASKED_FRACTION = 0.4
_SENTENCES = 2
_MAX_PIECES = 128
_STEPS_BETWEEN_CHECKPOINTS = 200
_TEXT_FIELDS = ("article", "context", "text")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def read_texts(path: str | Path) -> list[str]:
    """Read the articles, contexts and texts of a file: SQuAD's JSON, or JSON lines, CSV or Parquet; each text once.

    Raises:
        CorpusError: there is none.
    """
    whole = Path(path).name.removesuffix(".gz").endswith(".json")
    values = read_json(path) if whole else [row for _, row in read_rows(path)]
    texts = list(dict.fromkeys(_find_texts(values)))
    if not texts:
        raise CorpusError(path, "at its end", f"there is no text to pretrain on: no field {', '.join(_TEXT_FIELDS)}")
    return texts


def _find_texts(values: Any) -> Iterator[str]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key in _TEXT_FIELDS and isinstance(value, str):
                yield value
            elif isinstance(value, (Mapping, list)):
                yield from _find_texts(value)
    elif isinstance(values, list):
        for value in values:
            yield from _find_texts(value)


def texts_of_questions(rows: Dataset) -> list[str]:
    """The articles, each once, and the questions with the right option in the gap."""
    columns = (rows["question"], rows["options"], rows["label"])
    filled = [question.replace(PLACEHOLDER, options[label]) for question, options, label in zip(*columns, strict=True)]
    return [*dict.fromkeys(rows["article"]), *filled]


def masked_texts(texts: Sequence[str], vocabulary: Collection[str]) -> Dataset:
    """Cut texts into pieces of two sentences that have a word of the vocabulary.

    Returns:
        Rows with ``text``; ``starts`` and ``stops`` of the words of the vocabulary in it; and ``length``.
    """
    rows: dict[str, list[Any]] = {"text": [], "starts": [], "stops": [], "length": []}
    for text in texts:
        parts = split_sentences(text)
        for first in range(0, len(parts), _SENTENCES):
            part = " ".join(parts[first : first + _SENTENCES])
            found = [word for word in _WORD.finditer(part) if word[0].lower() in vocabulary]
            if found:
                rows["text"].append(part)
                rows["starts"].append([word.start() for word in found])
                rows["stops"].append([word.end() for word in found])
                rows["length"].append(len(part))
    return Dataset.from_dict(rows)


class MaskingCollator:
    """Masks two fifths of the words of the vocabulary in each text, at least one, anew each time, and pads the batch.

    A text is encoded as a question without an article. The words are drawn from torch's random state, which resumes
    with a training.

    Args:
        tokenizer: a fast one with a mask.
        vocabulary: the words in lower case.
    """

    def __init__(self, tokenizer: Any, vocabulary: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.numbers = {word: number for number, word in enumerate(vocabulary)}
        self.layout: PairLayout = pair_layout(tokenizer)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Returns `input_ids`, `attention_mask`, `token_type_ids`, and `labels`: a word's number at its mask."""
        masked = [self._mask(row) for row in rows]
        encoded = self.tokenizer([text for text, _ in masked], add_special_tokens=False, verbose=False)["input_ids"]
        before, after = [*self.layout.before, *self.layout.between], self.layout.after
        kept = [ids[: _MAX_PIECES - self.layout.size] for ids in encoded]
        numbers = [iter(words) for _, words in masked]
        mask = self.tokenizer.mask_token_id
        inputs = [[*before, *ids, *after] for ids in kept]
        types = [[0] * len(before) + [1] * len(ids) + self.layout.after_types for ids in kept]
        labels = [
            [next(words) if piece == mask else IGNORED_LABEL for piece in ids]
            for ids, words in zip(inputs, numbers, strict=True)
        ]
        return {
            "input_ids": self._pad(inputs, self.tokenizer.pad_token_id or 0),
            "attention_mask": self._pad([[1] * len(ids) for ids in inputs], 0),
            "token_type_ids": self._pad(types, 0),
            "labels": self._pad(labels, IGNORED_LABEL),
        }

    def _mask(self, row: Mapping[str, Any]) -> tuple[str, list[int]]:
        """Return the text with masks, and the number of each masked word."""
        draws = torch.rand(len(row["starts"]))
        chosen = (draws <= max(MASKED_FRACTION, float(draws.min()))).tolist()
        text, parts, end, words = row["text"], [], 0, []
        for start, stop, is_chosen in zip(row["starts"], row["stops"], chosen, strict=True):
            if is_chosen:
                parts += [text[end:start], self.tokenizer.mask_token]
                end = stop
                words.append(self.numbers[text[start:stop].lower()])
        return "".join([*parts, text[end:]]), words

    def _pad(self, rows: list[list[int]], filler: int) -> Tensor:
        length = max(map(len, rows))
        is_left = self.layout.class_token_is_last
        padding = [[filler] * (length - len(row)) for row in rows]
        return torch.tensor([pad + row if is_left else row + pad for row, pad in zip(rows, padding, strict=True)])


class GapPretraining(nn.Module):
    """Predicts masked words with the encoder and the gap head of a model, over all words of the vocabulary.

    It stays in evaluation mode: a text is read once or twice, so dropout would only cost time.

    Args:
        model: with `option_features="gap"`.
        tokenizer: of the model.
        vocabulary: the words to predict, in lower case.
    """

    def __init__(self, model: Any, tokenizer: Any, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self.model, self.base_model_prefix = model, f"model.{model.base_model_prefix}"
        pieces = tokenizer(list(vocabulary), add_special_tokens=False, padding=True, return_tensors="pt")
        self.register_buffer("piece_ids", pieces["input_ids"], persistent=False)
        self.register_buffer("piece_mask", pieces["attention_mask"].bool(), persistent=False)

    def train(self, mode: bool = True) -> GapPretraining:
        """Stay in evaluation mode."""
        return super().train(False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, labels: Tensor
    ) -> dict[str, Tensor]:
        """The mean cross-entropy over the masks, from what `MaskingCollator` returns."""
        is_masked = labels != IGNORED_LABEL
        encoded = self.model.encode(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        candidates = self.model.gap_head.candidates(self.model.get_input_embeddings()(self.piece_ids), self.piece_mask)
        logits = self.model.gap_head(self.model.gap_head.states(encoded[is_masked]), candidates)
        loss = cross_entropy(logits, labels[is_masked], reduction="sum")  # of no mask, if all lie beyond the pieces
        return {"loss": loss / is_masked.sum().clamp(min=1)}


def vocabulary_of(rows: Dataset) -> list[str]:
    """All options of the questions that are one word, in lower case, sorted."""
    words = {option.strip().lower() for options in rows["options"] for option in options}
    return sorted(word for word in words if _WORD.fullmatch(word))


def pretrain(
    model_args: ClozeModelArguments, data_args: ClozeDataArguments, args: Any, rows: Dataset | None, tokenizer: Any
) -> ClozeModelArguments:
    """Pretrain the encoder and a gap head, if the arguments ask for it.

    Args:
        model_args: complete, as are `data_args`.
        data_args: those of the questions.
        args: training arguments of the command; those named ``pretrain_...`` replace their namesakes.
        rows: the training questions, whose articles and summaries are read, and whose options are predicted.
        tokenizer: of the model.

    Returns:
        The model arguments with the folder ``pretraining`` of the output folder in place of the encoder. A finished one
        is read as it is; an interrupted training in it goes on if the arguments resume.

    Raises:
        ValueError: there is nothing to train on, or there are folds, which would read each other's articles.
    """
    if not args.num_pretrain_epochs:
        return model_args
    if rows is None:
        raise ValueError("--num_pretrain_epochs reads the articles of --train_file; give it, or leave the option out")
    if args.num_folds:
        raise ValueError("--num_pretrain_epochs would read the articles of all folds; leave out --num_folds")
    folder = Path(args.output_dir) / "pretraining"
    if not (args.resumes and (folder / "config.json").exists()):
        gap_args = replace(model_args, option_features="gap", num_co_attention_layers=0)
        model = load_model(gap_args, replace(data_args, use_definitions=False), tokenizer)
        vocabulary = vocabulary_of(rows)
        texts = texts_of_questions(rows) + [text for path in data_args.pretrain_file or [] for text in read_texts(path)]
        texts = [text for text in dict.fromkeys(texts) if tokenizer.mask_token not in text]  # which would be a mask
        examples = masked_texts(texts, set(vocabulary))
        logger.info("Pretraining on %d texts with %d words to predict", len(examples), len(vocabulary))
        trainer = LengthGroupedTrainer(
            model=GapPretraining(model, tokenizer, vocabulary),
            args=_arguments(args, folder),
            processing_class=tokenizer,
            data_collator=MaskingCollator(tokenizer, vocabulary),
            train_dataset=examples,
        )
        trainer.train(resume_from_checkpoint=checkpoint_to_resume(trainer.args))
        trainer.check_weights()
        with atomic_folder(folder) if args.should_save else nullcontext(folder) as unfinished:
            if args.should_save:
                save_pretrained(model, tokenizer, unfinished)
        trainer.accelerator.wait_for_everyone()  # the other processes read what the first has saved
        if args.should_save and not args.keep_checkpoints:
            remove_checkpoints(folder)
    return replace(model_args, model_name_or_path=str(folder), revision="main")


def _arguments(args: Any, folder: Path) -> Any:
    """The arguments of the pretraining, from those of the training on questions."""
    args = copy.copy(args)
    args.output_dir = str(folder)
    args.resume_from_checkpoint = "true" if args.resumes else None  # a checkpoint that is named is the other training's
    args.num_train_epochs, args.max_steps = args.num_pretrain_epochs, -1
    args.learning_rate, args.per_device_train_batch_size = args.pretrain_learning_rate, args.pretrain_batch_size
    args.eval_strategy, args.load_best_model_at_end, args.early_stopping_patience = "no", False, None
    args.gradient_checkpointing = False
    args.push_to_hub = False  # Trainer would push checkpoints
    args.save_strategy, args.save_steps = "steps", _STEPS_BETWEEN_CHECKPOINTS
    return args


def save_pretrained(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model as a checkpoint of its encoder, as BERT's are: with the head's weights, but with no field of it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config, own = model.config, model.config.head_fields() | {"model_type", "architectures"}
    fields = {name: value for name, value in config.to_dict().items() if name not in own}
    CONFIG_MAPPING[config.backbone_model_type](**fields).save_pretrained(folder)
