"""From the arguments of a command to questions, model and tokenizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer

from ..modeling.auto import AutoModelForAbstractCloze
from ..modeling.positions import max_tokens
from ..training import corpora
from ..training.pretrained import loading
from .arguments import NEW_HEAD, ClozeDataArguments, ClozeModelArguments
from .encoding import check_separators, pair_layout
from .features import encode_dataset
from .recam import from_multiple_choice, load_recam, without_articles_of
from .wordnet import DefinitionLookup

HELD_OUT_QUESTIONS = "held-out questions"


def load_corpora(data_args: ClozeDataArguments, seed: int) -> corpora.Corpora:
    """Read all corpora that the arguments name.

    Raises:
        ValueError: as `training.corpora.load_corpora`; or training or validation questions are none or have no label.
    """

    def exclude(rows: Dataset) -> Dataset:
        for path in data_args.exclude_articles_of or []:
            rows = without_articles_of(rows, load_recam(path))
        return rows

    loaded = corpora.load_corpora(
        data_args, seed, read=load_recam, from_hub=from_multiple_choice, group_of=articles, exclude=exclude
    )
    for name, rows in loaded.by_name().items():
        if name in loaded.test:
            continue
        if not len(rows):
            raise ValueError(f"no {name} questions are left; give other files, or leave out --exclude_articles_of")
        unlabelled = sum(label < 0 for label in rows["label"])
        if unlabelled:
            raise ValueError(
                f"{unlabelled} of {len(rows)} {name} questions have no label; score such files by --test_file"
            )
    return loaded


def score_held_out(loaded: corpora.Corpora, args: Any) -> corpora.Corpora:
    """Make the validation part a test set where nothing is chosen by it."""
    if loaded.validation is None or args.eval_strategy != "no":
        return loaded
    return replace(loaded, validation=None, test={HELD_OUT_QUESTIONS: loaded.validation, **loaded.test})


def articles(rows: Dataset | None) -> list[str]:
    """The article of each question: questions of one article stay together in splits."""
    return [] if rows is None else list(rows["article"])


def encode_corpora(
    loaded: corpora.Corpora, tokenizer: Any, data_args: ClozeDataArguments, with_option_mask: bool
) -> tuple[dict[str, Dataset], dict[str, str]]:
    """Encode all corpora; returns the features of each, and a summary of its encoding.

    Raises:
        FileNotFoundError: WordNet is needed, and not installed.
    """
    reader = DefinitionLookup() if data_args.use_definitions else None
    options: dict[str, Any] = {
        "max_length": data_args.max_length,
        "use_article": data_args.use_article,
        "article_sentences": data_args.article_sentences,
        "with_option_mask": with_option_mask,
    }
    features, summaries = {}, {}
    for name, rows in loaded.by_name().items():
        features[name], summaries[name] = encode_dataset(rows, tokenizer, option_reader=reader, **options)
    return features, summaries


def load_tokenizer(model_args: ClozeModelArguments) -> Any:
    """Load the tokenizer; raise a ValueError if it cannot be loaded."""
    with loading(model_args.model_name_or_path, model_args.revision):
        return AutoTokenizer.from_pretrained(model_args.model_name_or_path, revision=model_args.revision)


def load_model(model_args: ClozeModelArguments, data_args: ClozeDataArguments, tokenizer: Any) -> Any:
    """Load the model, with a new head if it has none; the arguments must be complete.

    Raises:
        ValueError: inputs would be longer than the encoder's positions, the tokenizer has no mask for a gap, or not the
            separators that the head expects.
    """
    if model_args.option_features == "gap" and tokenizer.mask_token_id is None:
        raise ValueError(f"--option_features gap: the tokenizer of {model_args.model_name_or_path} has no mask")
    with loading(model_args.model_name_or_path, model_args.revision):
        model = AutoModelForAbstractCloze.from_pretrained(
            model_args.model_name_or_path,
            revision=model_args.revision,
            **{field: getattr(model_args, field) for field in NEW_HEAD},
            use_definitions=data_args.use_definitions,
            use_article=data_args.use_article,
            max_option_length=data_args.max_length,
            article_sentences=data_args.article_sentences,
            mask_token_id=tokenizer.mask_token_id,
        )
    longest = max_tokens(model)
    if longest is not None and model.config.max_option_length > longest:
        raise ValueError(f"--max_length is {data_args.max_length}; this encoder reads at most {longest} word pieces")
    if model.co_attention is not None:
        check_separators(pair_layout(tokenizer), model.article_separators, type(model).__name__)
    if model_args.freeze_word_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    return model
