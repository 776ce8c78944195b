"""Encode corpus rows as features."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from datasets import Dataset, concatenate_datasets

from ..modeling.losses import IGNORED_LABEL
from ..words import words_of_tokens
from .corpora.schema import Kind, sentence_id
from .cue_labels import AFFIX, CUE, NO_CUE, PART
from .cues import mark_candidates
from .windows import NO_WORD, encode_cues

logger = logging.getLogger(__name__)


class LabelledSentence(NamedTuple):
    """A sentence, its words and a label for each, and the numbers of the rows that annotate its cues."""

    id: str
    corpus: str
    kind: Kind
    tokens: list[str]
    labels: list[int]
    rows: list[int]


def label_sentences(rows: Iterable[Mapping[str, Any]]) -> list[LabelledSentence]:
    """Gather the rows of each sentence, as in `NegationRow`, and label its words, in the order of the corpus.

    Corpora may use an id twice: rows with other words are another sentence. A word that holds parts of two cues has the
    label of the first.
    """
    sentences: dict[tuple[str, ...], LabelledSentence] = {}
    for number, row in enumerate(rows):
        tokens = list(row["tokens"])
        own_id, corpus = sentence_id(row["id"]), row["corpus"]
        empty = LabelledSentence(own_id, corpus, row["kind"], tokens, [NO_CUE] * len(tokens), [])
        sentence = sentences.setdefault((own_id, corpus, *tokens), empty)
        places = [place for place, is_cue in enumerate(row["cue"]) if is_cue]
        if places:
            sentence.rows.append(number)
        whole = len(places) == 1 and row["cue_text"] == tokens[places[0]]
        label = PART if len(places) > 1 else CUE if whole else AFFIX
        for place in places:
            sentence.labels[place] = sentence.labels[place] or label
    return list(sentences.values())


def encode_dataset(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int,
    config: Any,
    label_pieces: str = "all",
    overlapping: bool = False,
) -> Dataset:
    """Encode corpus rows with `encode_cues`; the number of inputs that are cut is logged as a warning.

    Args:
        rows: of any corpora, perhaps with the `target` that `add_teacher_targets` adds. A model of several conventions
            reads each row under that of its corpus.
        tokenizer: a fast tokenizer.
        max_length: see `encode_cues`.
        config: of the model.
        label_pieces: `"all"` pieces of a word count for it, or the `"first"`, as in token classification.
        overlapping: see `encode_cues`.

    Returns:
        One row a window, with `input_ids`, `cue_mask`, `word_ids`, `labels` (0 or 1, or the target, at the first piece
        of each word, -100 elsewhere), `length`, `row` (the index of the corpus row), and its `scope` and `cue`, one
        label a word.
    """
    num_cut = 0

    def encode(batch: dict[str, list[Any]], indices: list[int]) -> dict[str, list[Any]]:
        nonlocal num_cut
        windows = encode_cues(
            tokenizer,
            batch["tokens"],
            batch["cue"],
            max_length=max_length,
            mark_tokens=config.mark_tokens(batch["corpus"]),
            marked=candidates(batch["tokens"]) if config.marks_candidates() else None,
            start_tokens=config.start_tokens(batch["corpus"]),
            max_cue_length=config.max_cue_length,
            overlapping=overlapping,
        )
        num_cut += sum(not window.is_whole for window in windows)
        scopes = [batch["scope"][window.example] for window in windows]
        targets = [batch["target"][window.example] for window in windows] if "target" in batch else scopes
        word_ids = [window.word_ids for window in windows]
        return {
            "input_ids": [window.input_ids for window in windows],
            "cue_mask": [window.cue_mask for window in windows],
            "word_ids": [words if label_pieces == "all" else _first_pieces(words) for words in word_ids],
            "labels": [_piece_labels(words, target) for words, target in zip(word_ids, targets, strict=True)],
            "length": [len(window.input_ids) for window in windows],
            "row": [indices[window.example] for window in windows],
            "scope": scopes,
            "cue": [batch["cue"][window.example] for window in windows],
        }

    features = rows.map(
        encode,
        batched=True,
        with_indices=True,
        remove_columns=rows.column_names,
        load_from_cache_file=False,
        keep_in_memory=True,
        desc="Encoding",
    )
    if num_cut:
        logger.warning(
            f"{num_cut} of {len(features)} inputs hold a part of their sentence or cue only: it has more than "
            f"{max_length} word pieces (max_length), or its cue more than {config.max_cue_length} (max_cue_length)"
        )
    return features


def encode_labelled(sentences: Sequence[LabelledSentence], tokenizer: Any, *, max_length: int, config: Any) -> Dataset:
    """Encode sentences to find cues in; the arguments are those of `encode_dataset`.

    Returns:
        One row a window, with `input_ids`, `cue_mask` (all 0), `word_ids`, `cue_labels` (at the first piece of each
        word, -100 elsewhere), `labels` (all -100), `length`, and `row`, the index of the sentence.
    """
    tokens, conventions = [each.tokens for each in sentences], [each.corpus for each in sentences]
    windows = encode_cues(
        tokenizer,
        tokens,
        None,
        max_length=max_length,
        mark_tokens=config.mark_tokens(conventions, finds_cues=True),
        marked=candidates(tokens) if config.marks_candidates(finds_cues=True) else None,
        start_tokens=config.start_tokens(conventions, finds_cues=True),
    )
    return Dataset.from_list(
        [
            {
                "input_ids": window.input_ids,
                "cue_mask": window.cue_mask,
                "word_ids": window.word_ids,
                "labels": [IGNORED_LABEL] * len(window.input_ids),
                "cue_labels": _piece_labels(window.word_ids, sentences[window.example].labels),
                "length": len(window.input_ids),
                "row": window.example,
            }
            for window in windows
        ]
    )


def candidates(sentences: Iterable[Sequence[str]]) -> list[list[int]]:
    """Of the tokens of each sentence, those that the lexicon takes for cues."""
    return [mark_candidates(words_of_tokens(tokens)) for tokens in sentences]


def join_features(scopes: Dataset, cues: Dataset) -> Dataset:
    """The features of `encode_dataset` and `encode_labelled` as one training set; each has no labels for the other."""
    ignored = [[IGNORED_LABEL] * length for length in scopes["length"]]
    both = scopes.add_column("cue_labels", ignored, feature=cues.features["cue_labels"])
    names = ["input_ids", "cue_mask", "word_ids", "labels", "cue_labels", "length"]
    parts = (both.select_columns(names), cues.select_columns(names))
    return concatenate_datasets([part.cast(parts[0].features) for part in parts])


def _first_pieces(word_ids: Sequence[int]) -> list[int]:
    """Word ids at the first piece of each word only."""
    return [NO_WORD if word == last else word for last, word in zip([NO_WORD, *word_ids], word_ids, strict=False)]


def _piece_labels(word_ids: Sequence[int], scope: Sequence[float]) -> list[float]:
    """Put the label of each word at its first piece."""
    return [IGNORED_LABEL if word == NO_WORD else scope[word] for word in _first_pieces(word_ids)]
