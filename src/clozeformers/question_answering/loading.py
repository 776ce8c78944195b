"""From the command line to questions, a model and a tokenizer."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from ..modeling.configuration_bidaf import BiDAFConfig
from ..modeling.configuration_qanet import QANetConfig
from ..modeling.configuration_word_reader import WordReaderConfig
from ..modeling.modeling_bidaf import BiDAFForQuestionAnswering
from ..modeling.modeling_qanet import QANetForQuestionAnswering
from ..modeling.tokenization_word_char import WordCharTokenizer
from ..training.corpora import name_test_files, splits_from_hub
from ..training.cross_validation import first_rows
from ..training.model_arguments import UNLIMITED, check_model_folder
from .arguments import QADataArguments, QAModelArguments
from .simplification import simplify_questions
from .squad import check_squad_columns, load_squad
from .unanswerable import pair_unanswerable
from .word_vectors import extend_vocabulary, read_word_vectors

logger = logging.getLogger(__name__)

_VECTOR_SIZE = 0.4  # root mean square of a word vector's numbers, whatever the source
_DEFAULT_MAX_LENGTH = 453  # 400 words of context and 50 of question (Yu et al., 2018, section 4.1.1), 3 special tokens
_DECIDED_BY_DATA = {"vocab_size", "char_vocab_size", "train_word_vectors", "word_vector_scale"}
_DECIDED_BY_DATA |= {"pad_token_id", "cls_token_id", "sep_token_id", "tie_word_embeddings", "model_type"}
_NEW_MODELS: dict[str, tuple[Any, Any]] = {
    "qanet": (QANetConfig, QANetForQuestionAnswering),
    "bidaf": (BiDAFConfig, BiDAFForQuestionAnswering),
}


class QACorpora(NamedTuple):
    """Questions to train on, to evaluate on while training, and to score, by name."""

    train: Dataset | None
    validation: Dataset | None
    test: dict[str, Dataset]

    def texts(self) -> Iterable[str]:
        """All questions and contexts, each context once."""
        for rows in (self.train, self.validation, *self.test.values()):
            if rows is not None:
                yield from rows["question"]
                yield from dict.fromkeys(rows["context"])


def load_qa_corpora(data_args: QADataArguments, seed: int) -> QACorpora:
    """Read every corpus that the arguments name, and augment what is trained on.

    Raises:
        ValueError: if there is nothing to train on and nothing to score.
    """

    def checked(rows: Dataset, name: str) -> Dataset:
        check_squad_columns(rows, name)
        return rows

    train, validation, test = splits_from_hub(data_args, checked)
    if data_args.train_file:
        files = [load_squad(path) for path in data_args.train_file]
        train = files[0] if len(files) == 1 else concatenate_datasets(files)
    if data_args.validation_file is not None:
        validation = load_squad(data_args.validation_file)
    test |= {name: load_squad(path) for name, path in name_test_files(data_args.test_file or [], taken=test).items()}
    for name, rows in (("--train_file", train), ("--validation_file", validation), *test.items()):
        without = 0 if rows is None or data_args.no_answer else sum(not row["text"] for row in rows["answers"])
        if without and name != "--train_file":
            raise ValueError(
                f"{name} has {without} questions without answer; give --no_answer true to train and score so"
            )
        if without and rows is not None and without == len(rows):
            raise ValueError(f"no question of {name} has an answer; give --no_answer true, or other questions")
    if data_args.max_answer_length < 1:
        raise ValueError(f"--max_answer_length is {data_args.max_answer_length}; an answer has at least one word")
    if train is None and not test:
        raise ValueError("nothing to do: give --train_file, --test_file or --dataset_name")
    if train is not None:
        train = first_rows(train, data_args.max_train_samples)
        if data_args.made_unanswerable:
            if not data_args.no_answer:
                raise ValueError("--made_unanswerable makes questions without answer; give --no_answer true with it")
            made = pair_unanswerable(train, data_args.made_unanswerable, seed)
            train = concatenate_datasets([train, made])
        if data_args.simplify_questions:
            train = simplify_questions(train)
    if validation is not None:
        validation = first_rows(validation, data_args.max_eval_samples)
    return QACorpora(
        train, validation, {name: first_rows(rows, data_args.max_predict_samples) for name, rows in test.items()}
    )


def load_qa_model(model_args: QAModelArguments, corpora: QACorpora, max_length: int | None) -> tuple[Any, Any]:
    """Load a model, or build a new one with the words of the corpora.

    Args:
        model_args: which model.
        corpora: their words are those of a new model. Where vectors are fixed, the words of the questions to score are
            taken as well: nothing is learned from them, and a word with a vector is no unknown word.
        max_length: most words or pieces in an input; None for the model's own limit.

    Raises:
        ValueError: if the arguments name no model or two, or an input would be longer than the model can read.
    """
    if (model_args.model_name_or_path is None) == (model_args.model_type is None):
        raise ValueError(
            "give --model_name_or_path for a model that is there, or --model_type qanet or bidaf for a new one"
        )
    if model_args.model_type is not None:
        if corpora.train is None:
            raise ValueError(f"a new {model_args.model_type} has to be trained: give --train_file or --dataset_name")
        model, tokenizer = new_word_reader(model_args, corpora)
    else:
        _refuse_options_of_new_models(model_args)
        name = str(model_args.model_name_or_path)
        check_model_folder(name)
        tokenizer = AutoTokenizer.from_pretrained(name, revision=model_args.revision)
        model = AutoModelForQuestionAnswering.from_pretrained(name, revision=model_args.revision)
        if model_args.word_vectors is not None:
            _read_more_words(model, tokenizer, model_args.word_vectors, corpora)
        if max_length is None and tokenizer.model_max_length >= UNLIMITED:
            max_length = 384
    positions = getattr(model.config, "max_position_embeddings", None) or UNLIMITED
    length = max_length or tokenizer.model_max_length
    if length > positions:
        raise ValueError(f"--max_length is {length}; this model reads at most {positions} word pieces")
    tokenizer.model_max_length = length  # saved with the model: the pipeline reads no longer windows
    return model, tokenizer


def _refuse_options_of_new_models(model_args: QAModelArguments) -> None:
    """Raise a ValueError for options that a model that is there would silently not follow."""
    for spec in dataclasses.fields(QAModelArguments):
        given = getattr(model_args, spec.name)
        if spec.name not in ("model_name_or_path", "revision", "word_vectors") and given != spec.default:
            raise ValueError(
                f"--{spec.name} {given}: only a new model is built with it; leave it out, or give --model_type "
                "in place of --model_name_or_path"
            )


def _read_more_words(model: Any, tokenizer: Any, source: str, corpora: QACorpora) -> None:
    """Give a model that is there the words of the corpora that it does not know."""
    if not isinstance(tokenizer, WordCharTokenizer) or model.config.train_word_vectors:
        raise ValueError(
            f"--word_vectors {source}: {type(model).__name__} has no fixed word vectors to add to; leave it out"
        )
    added = extend_vocabulary(model, tokenizer, source, corpora.texts())
    logger.info("%d words more are read, with their vectors in %s", added, source)


def new_word_reader(model_args: QAModelArguments, corpora: QACorpora) -> tuple[Any, WordCharTokenizer]:
    """Build a QANet or BiDAF with vectors for the words of the corpora."""
    config_class, model_class = _NEW_MODELS[str(model_args.model_type)]
    fields = _config_fields(model_args.model_config, config_class)
    settings: dict[str, Any] = {"lowercase": model_args.lowercase, "model_max_length": _DEFAULT_MAX_LENGTH}
    vectors = None
    if model_args.word_vectors is None:
        learned = QACorpora(corpora.train, None, {}).texts()
        tokenizer = WordCharTokenizer.train_from_texts(learned, min_frequency=model_args.min_frequency, **settings)
        fields["train_word_vectors"] = True
    else:
        every = WordCharTokenizer.train_from_texts(corpora.texts(), **settings)
        candidates = sorted(set(every.get_vocab()) - set(every.all_special_tokens))
        words, vectors = read_word_vectors(model_args.word_vectors, candidates)
        tokenizer = WordCharTokenizer.train_from_texts(corpora.texts(), words=words, **settings)
        logger.info("%d of %d words have a vector in %s", len(words), len(every), model_args.word_vectors)
        if fields.setdefault("word_embedding_size", vectors.shape[1]) != vectors.shape[1]:
            raise ValueError(
                f"--model_config says word_embedding_size {fields['word_embedding_size']}, but the vectors of "
                f"{model_args.word_vectors} have {vectors.shape[1]} numbers; leave the field out"
            )
        fields["word_vector_scale"] = _VECTOR_SIZE / max(float(np.sqrt(np.square(vectors).mean())), 1e-6)
    model = model_class(
        config_class(**fields, vocab_size=len(tokenizer), char_vocab_size=tokenizer.character_vocab_size)
    )
    if vectors is not None:
        vocabulary = tokenizer.get_vocab()
        model.set_word_vectors([vocabulary[word] for word in words], torch.from_numpy(vectors))
    if getattr(model.config, "word_features", False) and corpora.train is not None:
        contexts = list(dict.fromkeys(corpora.train["context"]))
        ids = tokenizer(contexts, add_special_tokens=False, verbose=False)["input_ids"]
        model.set_word_features(tokenizer.get_vocab(), ids)
    return model, tokenizer


def _config_fields(text: str, config_class: Any) -> dict[str, Any]:
    """Read `--model_config`: fields of the config but for those that the data decide."""
    example = "such as '{\"hidden_size\": 64}'"
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--model_config {text!r} is not JSON ({error}); {example}") from error
    if not isinstance(fields, dict):
        raise ValueError(f"--model_config {text!r} is not a mapping of field to value, {example}")
    classes = [base for base in config_class.__mro__ if issubclass(base, WordReaderConfig)]
    known = {name for base in classes for name in vars(base).get("__annotations__", {})} - _DECIDED_BY_DATA
    unknown = sorted(set(fields) - known)
    if unknown:
        raise ValueError(
            f"--model_config has {', '.join(unknown)}; the fields to choose are {', '.join(sorted(known))}"
        )
    return fields
