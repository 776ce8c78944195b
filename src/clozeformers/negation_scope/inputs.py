"""Inputs of the negation scope pipeline, as sentences with one cue each."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Any

from ..text import check_text, truncate_repr
from ..words import Word, plain, sentence_ends, split_words, words_of_tokens
from .cues import Span, find_cues

CueDetector = Callable[[str], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class CueInSentence:
    """One cue and its sentence.

    Attributes:
        text: the whole text, to which all spans refer.
        words: the words of the sentence (of several, if the parts of the cue lie in several).
        parts: character spans of the parts of the cue, in order.
    """

    text: str
    words: tuple[Word, ...]
    parts: tuple[Span, ...]

    @property
    def cue_words(self) -> list[int]:
        """1 for each word that overlaps a part of the cue, 0 for the others."""
        return [int(any(start < word.end and word.start < end for start, end in self.parts)) for word in self.words]


@dataclass(frozen=True)
class GivenText:
    """An input of the pipeline.

    Attributes:
        text: the text; of tokens, these joined by spaces.
        words: its words.
        ends: for each sentence, the number of the word after its last. Tokens are one sentence.
        cues: the parts of each cue, if cues are given.
    """

    text: str
    words: Sequence[Word]
    ends: Sequence[int]
    cues: list[tuple[Span, ...]] | None

    @property
    def sentences(self) -> list[Sequence[Word]]:
        """The words of each sentence."""
        return [self.words[start:end] for start, end in pairwise([0, *self.ends])]

    def cues_in_sentences(self, cues: Iterable[tuple[Span, ...]], max_context: int) -> list[CueInSentence]:
        """Cues, given by their parts, with their sentences: at most `max_context` words on either side of the cue."""
        return [
            CueInSentence(self.text, _words_around(self.words, self.ends, parts, max_context), parts) for parts in cues
        ]


def cues_of_text(
    read: GivenText,
    max_context: int,
    affixes: bool = True,
    convention: str | None = None,
    cue_detector: CueDetector | None = None,
) -> list[CueInSentence]:
    """Find the cues of a text, unless they are given.

    Args:
        read: the text.
        max_context: maximum number of words on either side of a cue.
        affixes: find affix cues, if no cues are given.
        convention: of the cues to find, see `find_cues`.
        cue_detector: finds the cues in place of the lexicon: maps a text to mappings with `start` and `end`.

    Returns:
        The cues in the order given or found.

    Raises:
        TypeError, ValueError: the cue detector returned something else, or a span outside the text.
    """
    found = read.cues
    if found is None and cue_detector is not None:
        found = _detect_cues(cue_detector, read.text) if read.text.strip() else []
    elif found is None:
        found = find_cues(read.words, affixes=affixes, convention=convention)
    return read.cues_in_sentences(found, max_context)


def read_input(given: Any) -> GivenText:
    """Read one input of the pipeline.

    Args:
        given: a string; or a mapping with `text` or `tokens` and optionally `cues`. A cue is a word (each occurrence
            counts), a character span ``(start, end)`` or, for tokens, a token index; a discontinuous cue is a list of
            spans or token indices. The text of tokens is the tokens joined by spaces. In place of `cues`, tokens may
            come with the `cue` of a corpus row, 0 or 1 per token.

    Raises:
        TypeError: for anything else.
        ValueError: for lone surrogates, and for a cue that is not in the text.
    """
    given = {"text": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping) or ("text" in given) == ("tokens" in given):
        raise TypeError(
            'an input is a string, {"text": "..."} or {"tokens": [...]}, with "cues" if known; got '
            f"{type(given).__name__} {truncate_repr(given)}"
        )
    cues = None if given.get("cues") is None else _as_list(given["cues"], '"cues"', 'such as ["not"] or [[5, 8]]')
    is_tokens = "tokens" in given
    if is_tokens:
        tokens = _as_list(given["tokens"], '"tokens"', "of strings")
        text, words = _join_tokens(tokens)
        if cues is None and given.get("cue") is not None:
            cues = _cues_of_mask(given["cue"], len(tokens))
    else:
        text = check_text(given["text"], "the text", allow_blank=True)
        words = split_words(text)
    known = None
    if cues is not None:
        known = [parts for cue in cues for parts in _parse_cue(cue, text, words if is_tokens else None)]
    return GivenText(text, words, [len(words)] if is_tokens else sentence_ends(text, words), known)


def _as_list(values: Any, name: str, contents: str) -> Sequence[Any]:
    """Check a list; arrays and tensors become lists."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name} is {type(values).__name__} {truncate_repr(values)}; it must be a list {contents}")
    return values


def _join_tokens(tokens: Sequence[Any]) -> tuple[str, list[Word]]:
    for number, token in enumerate(tokens):
        check_text(token, f"token {number}", allow_blank=True)
    return " ".join(tokens), words_of_tokens(tokens)


def _cues_of_mask(mask: Any, length: int) -> list[Any]:
    """Turn the `cue` of a corpus row into `cues`."""
    mask = _as_list(mask, '"cue"', "of 0 and 1")
    if len(mask) != length or not all(value in (0, 1) for value in mask):
        raise ValueError(f'"cue" is {truncate_repr(mask)}; it must have 0 or 1 for each of the {length} tokens')
    numbers = [number for number, is_cue in enumerate(mask) if is_cue]
    return [numbers] if numbers else []


def _detect_cues(cue_detector: CueDetector, text: str) -> list[tuple[Span, ...]]:
    found = cue_detector(text)
    try:
        return [(_check_span((entity["start"], entity["end"]), text),) for entity in found]
    except (TypeError, LookupError) as error:
        raise TypeError(
            f'the cue detector returned {truncate_repr(found)}; it must return mappings with "start" and "end", as a '
            'token-classification pipeline with aggregation_strategy="simple" does'
        ) from error


def _parse_cue(cue: Any, text: str, tokens: Sequence[Word] | None) -> list[tuple[Span, ...]]:
    """Return the cues that one entry of `cues` stands for, each as its parts."""
    if isinstance(cue, str):
        return _find_occurrences(cue, text)
    cue = cue.tolist() if hasattr(cue, "tolist") else cue
    if isinstance(cue, Mapping) and tokens is None:
        cue = [cue.get("start"), cue.get("end")]
    parts = list(cue) if isinstance(cue, Sequence) else [cue]
    if tokens is not None and parts and all(map(_is_integer, parts)):
        return [tuple(_token_span(number, tokens) for number in sorted(set(map(index, parts))))]
    if tokens is None and len(parts) == 2 and not any(isinstance(part, Sequence) for part in parts):
        return [(_check_span(parts, text),)]
    if tokens is None and parts and all(isinstance(part, Sequence) and len(part) == 2 for part in parts):
        spans = sorted(_check_span(part, text) for part in parts)
        for (_, end), (start, _) in pairwise(spans):
            if start < end:
                raise ValueError(f"the parts {spans} of a cue overlap")
        return [tuple(spans)]
    kind = "a character span (start, end)" if tokens is None else "a token index"
    raise TypeError(f"a cue is a word, {kind} or a list of these; got {truncate_repr(cue)}")


def _is_integer(value: Any) -> bool:
    """Whether this is an integer, possibly of numpy or torch."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _token_span(number: int, tokens: Sequence[Word]) -> Span:
    if not 0 <= number < len(tokens):
        raise ValueError(f"there is no token {number}; the {len(tokens)} tokens are numbered from 0")
    if not tokens[number].text.strip():
        raise ValueError(f"token {number} is {tokens[number].text!r}; a cue must be a word")
    return tokens[number].start, tokens[number].end


def _check_span(span: Sequence[Any], text: str) -> Span:
    if not all(map(_is_integer, span)):
        raise TypeError(f"a character span is two integers, not {truncate_repr(tuple(span))}")
    start, end = map(index, span)
    if not 0 <= start < end <= len(text):
        raise ValueError(f"the cue span ({start}, {end}) does not lie in the text, which has {len(text)} characters")
    if not text[start:end].strip():
        raise ValueError(f"the cue span ({start}, {end}) holds no word, only {truncate_repr(text[start:end])}")
    return start, end


def _find_occurrences(cue: str, text: str) -> list[tuple[Span, ...]]:
    """Find a cue as whole words or, if it is nowhere one, as an affix."""
    pattern = r"\s+".join(map(re.escape, plain(cue).split()))
    for bounded in (rf"(?<!\w){pattern}(?!\w)", rf"(?<!\w){pattern}|{pattern}(?!\w)"):
        places = [match.span() for match in re.finditer(bounded, plain(text), re.IGNORECASE)]
        if pattern and places:
            return [(place,) for place in places]
    raise ValueError(f"the cue {truncate_repr(cue)} is not in the text {truncate_repr(text)}")


def _words_around(
    words: Sequence[Word], ends: Sequence[int], parts: Sequence[Span], max_context: int
) -> tuple[Word, ...]:
    """Return the words of the sentences from the first part of a cue to the last, up to `max_context` on either side.

    `ends` holds, for each sentence, the number of the word after its last.
    """
    first = bisect_right(words, parts[0][0], key=lambda word: word.end)
    after = bisect_left(words, parts[-1][1], key=lambda word: word.start)
    sentence = bisect_right(ends, first)
    start = ends[sentence - 1] if sentence else 0
    end = ends[min(bisect_left(ends, after), len(ends) - 1)]
    return tuple(words[max(start, first - max_context) : min(end, after + max_context)])
