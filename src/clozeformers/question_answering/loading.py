"""From the arguments of a command to questions, model and tokenizer."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer

from ..modeling.configuration_word_reader import WordReaderConfig
from ..modeling.positions import max_tokens
from ..modeling.tokenization_word_char import WordCharTokenizer
from ..text import did_you_mean
from ..training import corpora
from ..training.arguments import UNLIMITED
from ..training.pretrained import loading
from .arguments import QADataArguments, QAModelArguments
from .encoding import simplify_questions
from .squad import check_squad_columns, load_squad
from .unanswerable import pair_unanswerable
from .word_vectors import extend_vocabulary, read_word_vectors

logger = logging.getLogger(__name__)

_VECTOR_SIZE = 0.4  # root mean square of a word vector's numbers, whatever the source
DEFAULT_ENCODER_LENGTH = 384
_DEFAULT_MAX_LENGTH = 453  # 400 words of context and 50 of question (Yu et al., 2018, section 4.1.1), 3 special tokens
_DECIDED_BY_DATA = {"vocab_size", "char_vocab_size", "train_word_vectors", "word_vector_scale"}
_DECIDED_BY_DATA |= {"max_question_length", "max_answer_length", "max_input_length", "doc_stride", "simplify_questions"}
_DECIDED_BY_DATA |= {"no_answer_threshold"}
_DECIDED_BY_DATA |= {"pad_token_id", "cls_token_id", "sep_token_id", "tie_word_embeddings", "model_type"}


def load_corpora(data_args: QADataArguments, seed: int) -> corpora.Corpora:
    """Read all corpora that the arguments name.

    Raises:
        ValueError: as `training.corpora.load_corpora`; questions lack an answer without `no_answer`; or an article is
            both in the folds and in the training data of every fold.
    """
    if data_args.unanswerable_fraction and not data_args.no_answer:
        raise ValueError("--unanswerable_fraction makes questions without an answer; give --no_answer true with it")

    loaded = corpora.load_corpora(
        data_args, seed, read=load_squad, from_hub=check_squad_columns, group_of=article_titles
    )
    both = set(article_titles(loaded.train)).intersection(article_titles(loaded.extra))
    if both:
        raise ValueError(f"--extra_train_file has questions on {min(both)!r}, an article that a fold scores; remove it")
    for name, rows in loaded.by_name().items():
        unanswerable = 0 if data_args.no_answer else sum(not answers["text"] for answers in rows["answers"])
        if unanswerable and name not in ("train", corpora.EXTRA):
            raise ValueError(f"{name} has {unanswerable} questions without an answer; give --no_answer true")
        if unanswerable and unanswerable == len(rows):
            raise ValueError("no training question has an answer; give --no_answer true")
    return loaded


def article_titles(rows: Dataset | None) -> list[str]:
    """The article of each question: the questions of one article stay together in splits."""
    return [] if rows is None else list(rows["title"])


def augment(loaded: corpora.Corpora, data_args: QADataArguments, seed: int) -> corpora.Corpora:
    """Add unanswerable questions and simple forms to the training questions, as the arguments ask for.

    Validation questions get unanswerable ones too, unless they have some: a threshold is chosen on both kinds.
    """
    train, validation = loaded.train, loaded.validation
    if train is not None and data_args.unanswerable_fraction:
        train = _with_unanswerable(train, data_args.unanswerable_fraction, seed)
        if validation is not None and all(answers["text"] for answers in validation["answers"]):
            validation = _with_unanswerable(validation, data_args.unanswerable_fraction, seed)
    if train is not None and data_args.simplify_questions:
        train = simplify_questions(train)
    return replace(loaded, train=train, validation=validation)


def _with_unanswerable(rows: Dataset, fraction: float, seed: int) -> Dataset:
    return concatenate_datasets([rows, pair_unanswerable(rows, fraction, seed)])


def _texts(loaded: corpora.Corpora, only_train: bool = False) -> Iterator[str]:
    """All questions and contexts, each context once."""
    for name, rows in loaded.by_name().items():
        if name == "train" or not only_train:
            yield from rows["question"]
            yield from dict.fromkeys(rows["context"])


def load_model(model_args: QAModelArguments, data_args: QADataArguments, loaded: corpora.Corpora) -> tuple[Any, Any]:
    """Load a model, or build a new one with the words of the corpora.

    Args:
        model_args: as given.
        data_args: as `resolve_arguments` returns them. The pipeline's defaults are saved in the model's config.
        loaded: corpora. A new model knows the words of the training data; with fixed vectors, of all.

    Raises:
        ValueError: an input would be longer than the model can read, or an option has no effect.
    """
    if model_args.model_type is not None:
        if loaded.train is None:
            raise ValueError(f"a new {model_args.model_type} has to be trained: give --train_file or --dataset_name")
        model, tokenizer = new_word_reader(model_args, loaded)
        length = data_args.max_length or tokenizer.model_max_length
    else:
        _refuse_options_of_new_models(model_args)
        name = str(model_args.model_name_or_path)
        with loading(name, model_args.revision):
            tokenizer = AutoTokenizer.from_pretrained(name, revision=model_args.revision)
            config = AutoConfig.from_pretrained(name, revision=model_args.revision)
        fields = _changed_fields(config, model_args.model_config)
        with loading(name, model_args.revision):
            model = AutoModelForQuestionAnswering.from_pretrained(name, revision=model_args.revision, **fields)
        if model_args.word_vectors is not None:
            _add_words(model, tokenizer, model_args.word_vectors, loaded)
        limit = tokenizer.model_max_length
        length = data_args.max_length or (limit if limit < UNLIMITED else DEFAULT_ENCODER_LENGTH)
    longest = max_tokens(model) or UNLIMITED
    if length > longest:
        raise ValueError(f"--max_length is {length}; this model reads at most {longest} word pieces")
    tokenizer.model_max_length = model.config.max_input_length = length
    for field in ("max_question_length", "max_answer_length", "doc_stride", "simplify_questions"):
        setattr(model.config, field, getattr(data_args, field))
    return model, tokenizer


def _refuse_options_of_new_models(model_args: QAModelArguments) -> None:
    """Raise a ValueError for options that have no effect on an existing model."""
    effective = ("model_name_or_path", "revision", "word_vectors", "model_config")
    for spec in dataclasses.fields(QAModelArguments):
        given = getattr(model_args, spec.name)
        if spec.name not in effective and given != spec.default:
            raise ValueError(f"--{spec.name} {given} has no effect on an existing model; leave it out")


def _changed_fields(config: Any, model_config: str) -> dict[str, Any]:
    """Read `--model_config` of an existing model: dropout and span rescoring change none of its weights."""
    fields = _read_model_config(model_config)
    for name in fields:
        if not hasattr(config, name) or not ("dropout" in name or name == "span_rescoring"):
            raise ValueError(f"--model_config {name} has no effect on an existing model; leave it out")
    return fields


def _add_words(model: Any, tokenizer: Any, source: str, loaded: corpora.Corpora) -> None:
    if not isinstance(tokenizer, WordCharTokenizer) or model.config.train_word_vectors:
        raise ValueError(f"--word_vectors {source}: {type(model).__name__} has no fixed word vectors; leave it out")
    added = extend_vocabulary(model, tokenizer, source, _texts(loaded))
    logger.info("%d words are added, with their vectors in %s", added, source)


def new_word_reader(model_args: QAModelArguments, loaded: corpora.Corpora) -> tuple[Any, WordCharTokenizer]:
    """Build a QANet or BiDAF with vectors for the words of the corpora."""
    config_class: Any = CONFIG_MAPPING[str(model_args.model_type)]
    fields = _config_fields(model_args.model_config, config_class)
    settings: dict[str, Any] = {"lowercase": model_args.lowercase, "model_max_length": _DEFAULT_MAX_LENGTH}
    vectors = None
    if model_args.word_vectors is None:
        texts = _texts(loaded, only_train=True)
        tokenizer = WordCharTokenizer.train_from_texts(texts, min_frequency=model_args.min_frequency, **settings)
        fields["train_word_vectors"] = True
    else:
        every = WordCharTokenizer.train_from_texts(_texts(loaded), **settings)
        candidates = sorted(set(every.get_vocab()) - set(every.all_special_tokens))
        words, vectors = read_word_vectors(model_args.word_vectors, candidates)
        tokenizer = WordCharTokenizer.train_from_texts(_texts(loaded), words=words, **settings)
        logger.info("%d of %d words have a vector in %s", len(words), len(every), model_args.word_vectors)
        if fields.setdefault("word_embedding_size", vectors.shape[1]) != vectors.shape[1]:
            given = f"word_embedding_size {fields['word_embedding_size']} in --model_config"
            raise ValueError(f"{given}, but {model_args.word_vectors} has vectors of {vectors.shape[1]} numbers")
        fields["word_vector_scale"] = _VECTOR_SIZE / max(float(np.sqrt(np.square(vectors).mean())), 1e-6)
    config = config_class(**fields, vocab_size=len(tokenizer), char_vocab_size=tokenizer.character_vocab_size)
    model = AutoModelForQuestionAnswering.from_config(config)
    if vectors is not None:
        vocabulary = tokenizer.get_vocab()
        model.set_word_vectors([vocabulary[word] for word in words], torch.from_numpy(vectors))
    if config.word_features and loaded.train is not None:
        contexts = list(dict.fromkeys(loaded.train["context"]))
        ids = tokenizer(contexts, add_special_tokens=False, verbose=False)["input_ids"]
        model.set_word_features(tokenizer.get_vocab(), ids)
    return model, tokenizer


def _config_fields(text: str, config_class: Any) -> dict[str, Any]:
    """Read `--model_config`: fields of the config but for those that the data decide."""
    fields = _read_model_config(text)
    classes = [base for base in config_class.__mro__ if issubclass(base, WordReaderConfig)]
    known = {name for base in classes for name in vars(base).get("__annotations__", {})} - _DECIDED_BY_DATA
    unknown = sorted(set(fields) - known)
    if unknown:
        suggested = did_you_mean(unknown[0], known) or "; the fields are " + ", ".join(sorted(known))
        raise ValueError(f"--model_config has {', '.join(unknown)}{suggested}")
    return fields


def _read_model_config(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"--model_config {text!r} is not a JSON object such as '{{\"hidden_size\": 64}}'") from error
