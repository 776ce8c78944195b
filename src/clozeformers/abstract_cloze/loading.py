"""From the command line to questions, a model and a tokenizer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset, concatenate_datasets
from torch import nn
from transformers import AutoTokenizer

from ..modeling.auto import AutoModelForAbstractCloze
from ..modeling.configuration_wn_duma import WNDumaConfigMixin
from ..training.corpora import name_test_files, splits_from_hub
from ..training.cross_validation import first_rows
from ..training.model_arguments import filled_in, head_config
from .arguments import ClozeDataArguments, ClozeModelArguments
from .recam import from_multiple_choice, load_recam, without_articles_of

# Of a new head, section 3 of the paper; a model that has one keeps its own.
NEW_HEAD = {
    "co_attention": "stacked",
    "num_co_attention_layers": 1,
    "num_co_attention_heads": 64,
    "co_attention_head_size": 64,
    "co_attention_dropout": 0.1,
}
NEW_INPUT = {"use_definitions": True, "use_article": True, "max_length": 150}


class ClozeCorpora(NamedTuple):
    """Questions to train on, to choose the best model by, and to score, by name.

    Attributes:
        train: labelled, or None.
        validation: labelled, or None.
        test: test sets by name; labels may be missing (-1).
        left_out: number of training questions left out for their articles.
    """

    train: Dataset | None
    validation: Dataset | None
    test: dict[str, Dataset]
    left_out: int


def load_cloze_corpora(data_args: ClozeDataArguments) -> ClozeCorpora:
    """Read every corpus that the arguments name.

    Raises:
        ValueError: if there is nothing to train on and nothing to score, if training or validation questions have no
            label, if a training file is named twice or an id stands twice among those to score, or if an argument
            would do nothing.
    """
    _refuse_idle_arguments(data_args)
    train, validation, test = splits_from_hub(data_args, from_multiple_choice)
    if data_args.train_file:
        files = [load_recam(path) for path in data_args.train_file]
        train = files[0] if len(files) == 1 else concatenate_datasets(files)
    if data_args.validation_file is not None:
        validation = load_recam(data_args.validation_file)
    test |= {name: load_recam(path) for name, path in name_test_files(data_args.test_file or [], taken=test).items()}
    if train is None and not test:
        raise ValueError("nothing to do: give --train_file, --test_file or --dataset_name")
    left_out = 0
    if train is not None:
        everything = len(train)
        for path in data_args.exclude_articles_of or []:
            train = without_articles_of(train, load_recam(path))
        left_out = everything - len(train)
        train = _labelled(first_rows(train, data_args.max_train_samples), "training")
    if validation is not None:
        validation = _labelled(first_rows(validation, data_args.max_eval_samples), "validation")
    for name, rows in test.items():
        twice = [row_id for row_id, times in Counter(rows["id"]).items() if times > 1]
        if twice:
            raise ValueError(f"{name}: the id {twice[0]!r} stands twice; predictions are told apart by their ids")
    test = {name: first_rows(rows, data_args.max_predict_samples) for name, rows in test.items()}
    return ClozeCorpora(train, validation, test, left_out)


def _refuse_idle_arguments(data_args: ClozeDataArguments) -> None:
    if data_args.dataset_config_name is not None and data_args.dataset_name is None:
        raise ValueError("--dataset_config_name names a part of --dataset_name; give that as well")
    files = [Path(path).resolve() for path in data_args.train_file or []]
    for path in files:
        if files.count(path) > 1:
            raise ValueError(f"--train_file names {path} twice; name each file once")
    if data_args.exclude_articles_of and not files and data_args.dataset_name is None:
        raise ValueError("--exclude_articles_of leaves articles out of training; give --train_file as well")


def _labelled(rows: Dataset, part: str) -> Dataset:
    without = sum(label < 0 for label in rows["label"])
    if not len(rows):
        raise ValueError(f"there are no {part} questions left; give other files, or leave out --exclude_articles_of")
    if without:
        raise ValueError(f"{without} of {len(rows)} {part} questions have no label; score such files by --test_file")
    return rows


def corpus_statistics(corpora: ClozeCorpora) -> dict[str, dict[str, int]]:
    """Questions, options, articles and labelled questions of each corpus; of the first, how many were left out."""
    named = {"train": corpora.train, "validation": corpora.validation, **corpora.test}
    return {
        name: {
            "questions": len(rows),
            "options": sum(map(len, rows["options"])),
            "articles": len(set(rows["article"])),
            "labelled": sum(label >= 0 for label in rows["label"]),
            "left_out": corpora.left_out if name == "train" else 0,
        }
        for name, rows in named.items()
        if rows is not None
    }


def resolve_cloze_arguments(
    model_args: ClozeModelArguments, data_args: ClozeDataArguments, is_trained: bool
) -> tuple[ClozeModelArguments, ClozeDataArguments]:
    """Fill in what was not given: from the model where it has a head, or else as in the paper.

    Args:
        model_args: which model.
        data_args: how its input is made.
        is_trained: whether the run trains; if not, the model must have its head.

    Returns:
        Both, complete.

    Raises:
        ValueError: if what was given contradicts the model's own head, or there is no head and no training.
    """
    name = model_args.model_name_or_path
    config = head_config(name, model_args.revision, WNDumaConfigMixin, is_trained, "an abstract cloze")
    own: dict[str, Any] = NEW_HEAD | NEW_INPUT
    if config is not None:
        fields = {"max_length": "max_option_length"}
        own = {field: getattr(config, fields.get(field, field)) for field in own}
    model = None if config is None else name
    free = ("co_attention_dropout", "max_length")
    return filled_in(model_args, own, model, free), filled_in(data_args, own, model, free)


def load_cloze_tokenizer(model_args: ClozeModelArguments) -> Any:
    """Load the tokenizer of the encoder or model."""
    return AutoTokenizer.from_pretrained(model_args.model_name_or_path, revision=model_args.revision)


def load_cloze_model(model_args: ClozeModelArguments, data_args: ClozeDataArguments) -> Any:
    """Load the model, with a new head where it has none; lower layers are frozen as asked for.

    Args:
        model_args: complete, as `resolve_cloze_arguments` returns them.
        data_args: likewise.

    Raises:
        ValueError: if inputs would be longer than the encoder's positions, or the layers cannot be frozen.
    """
    model = AutoModelForAbstractCloze.from_pretrained(
        model_args.model_name_or_path,
        revision=model_args.revision,
        **{field: getattr(model_args, field) for field in NEW_HEAD},
        use_definitions=data_args.use_definitions,
        use_article=data_args.use_article,
        max_option_length=data_args.max_length,
    )
    most = model.config.max_pieces
    if most is not None and model.config.max_option_length > most:
        raise ValueError(f"--max_length is {data_args.max_length}; this encoder reads at most {most} word pieces")
    freeze_lower_layers(model, model_args.freeze_layers)
    return model


def freeze_lower_layers(model: Any, count: int) -> None:
    """Keep the encoder's embeddings and its lowest layers from training.

    Args:
        model: any model of the library over a pretrained encoder.
        count: of the layers; 0 freezes nothing, the embeddings neither.

    Raises:
        ValueError: if there are not so many layers, or the layers share their weights, as ALBERT's do.
    """
    if count == 0:
        return
    encoder, total = model.base_model, model.config.num_hidden_layers
    if not 0 < count <= total:
        raise ValueError(f"--freeze_layers is {count}; this encoder has {total} layers")
    stacks = [part for part in encoder.modules() if isinstance(part, nn.ModuleList) and len(part) == total]
    if not stacks:
        raise ValueError(
            f"--freeze_layers {count}: the {total} layers of this encoder share their weights; leave it out"
        )
    for part in (getattr(encoder, "embeddings", None) or encoder.get_input_embeddings(), *stacks[0][:count]):
        part.requires_grad_(False)
