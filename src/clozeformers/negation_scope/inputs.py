"""What users hand to the negation scope pipeline, as sentences with one cue each."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Any

from ..words import Word, sentence_ends, split_words
from .cues import find_cues

Span = tuple[int, int]
CueDetector = Callable[[str], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class CueInSentence:
    """One cue and the words it is read with.

    Attributes:
        text: the whole text; all spans are in it.
        words: the words of its sentence (of several, where the parts of the cue lie in several).
        parts: character spans of the cue's parts, in order.
    """

    text: str
    words: tuple[Word, ...]
    parts: tuple[Span, ...]

    @property
    def cue_words(self) -> list[int]:
        """1 at each word that holds a part of the cue, else 0."""
        return [int(any(start < word.end and word.start < end for start, end in self.parts)) for word in self.words]


def cues_of_input(
    given: Any, reach: int, affixes: bool = True, cue_detector: CueDetector | None = None
) -> list[CueInSentence]:
    """Read one input of the pipeline.

    Args:
        given: a string; or a mapping with `text` or `tokens` and, if they are known, `cues`: words (each occurrence is
            a cue), character spans ``(start, end)`` of the text, token numbers of the tokens, or a list of spans or
            of token numbers for a cue in several parts. The text of tokens is the tokens joined by spaces. A corpus
            row, with its `cue` of 0 and 1 a token, is read too.
        reach: words to keep to each side of a cue, at least as many as a model can read.
        affixes: whether to find affix cues, where no cues are given.
        cue_detector: finds the cues in place of the lexicon; from a text to mappings with `start` and `end`, such as a
            token-classification pipeline with an aggregation strategy.

    Returns:
        The cues in the order given or found.

    Raises:
        TypeError: for anything else; names what was given and what would be right.
        ValueError: for a text with lone surrogates, and for a cue that is not there.
    """
    text, words, is_tokens, cues = _text_and_words(given)
    if cues is not None:
        found = [parts for cue in cues for parts in _given_cue(cue, text, words, is_tokens)]
    elif cue_detector is not None:
        found = _detected(cue_detector, text)
    else:
        found = [cue.parts for cue in find_cues(text, words, affixes=affixes)]
    ends = [len(words)] if is_tokens else sentence_ends(text, words)
    return [CueInSentence(text, _words_around(words, ends, parts, reach), parts) for parts in found]


def _detected(cue_detector: CueDetector, text: str) -> list[tuple[Span, ...]]:
    """The cues that a detector finds; it is not asked about blank text."""
    if not text.strip():
        return []
    found = cue_detector(text)
    try:
        return [(_span((entity["start"], entity["end"]), text),) for entity in found]
    except (TypeError, LookupError) as error:
        raise TypeError(
            f'the cue detector returned {found!r:.80}; it should return mappings with "start" and "end", as a '
            'token-classification pipeline with aggregation_strategy="simple" does'
        ) from error


def _text_and_words(given: Any) -> tuple[str, list[Word], bool, Sequence[Any] | None]:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping) or ("text" in given) == ("tokens" in given):
        is_mapping = isinstance(given, Mapping)
        shown = f"a mapping with {sorted(map(str, given))}" if is_mapping else f"{type(given).__name__} {given!r:.80}"
        raise TypeError(
            f'an input is a string, {{"text": "..."}} or {{"tokens": [...]}}, with "cues" if known; not {shown}'
        )
    cues = _plain(given.get("cues"))
    if cues is not None and (isinstance(cues, (str, bytes)) or not isinstance(cues, Sequence)):
        raise TypeError(f'"cues" is a list, such as ["not"] or [[5, 8]], not {type(cues).__name__} {cues!r:.80}')
    if "text" in given:
        text = given["text"]
        if not isinstance(text, str):
            raise TypeError(f'"text" is a string, not {type(text).__name__} {text!r:.80}')
        _refuse_surrogates(text)
        return text, split_words(text), False, cues
    tokens = _plain(given["tokens"])
    is_list = isinstance(tokens, Sequence) and not isinstance(tokens, (str, bytes))
    if not is_list or not all(isinstance(token, str) for token in tokens):
        raise TypeError(f'"tokens" is a list of strings, not {type(tokens).__name__} {tokens!r:.80}')
    text = " ".join(tokens)
    _refuse_surrogates(text)
    words, start = [], 0
    for token in tokens:
        words.append(Word(token, start, start + len(token)))
        start += len(token) + 1
    return text, words, True, _masked(given.get("cue"), len(tokens)) if cues is None else cues


def _masked(mask: Any, length: int) -> list[Any] | None:
    """The cue of a corpus row, given as 0 or 1 a token, in the form of `cues`; None where there is no mask."""
    if mask is None:
        return None
    mask = _plain(mask)
    if not isinstance(mask, Sequence) or len(mask) != length or not all(value in (0, 1) for value in mask):
        raise ValueError(f'"cue" has 0 or 1 for each of the {length} tokens, not {mask!r:.80}')
    numbers = [number for number, is_cue in enumerate(mask) if is_cue]
    return [numbers] if numbers else []


def _plain(values: Any) -> Any:
    """Lists in place of arrays and tensors."""
    return values.tolist() if hasattr(values, "tolist") else values


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} of the text, {text[error.start]!r}, is half of a surrogate pair and no "
            'character; mend the text with text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None


def _given_cue(cue: Any, text: str, words: Sequence[Word], is_tokens: bool) -> list[tuple[Span, ...]]:
    """The cues that one entry of `cues` names, each as its parts."""
    if isinstance(cue, str):
        return _occurrences(cue, text)
    cue = _plain(cue)
    if is_tokens:
        numbers = [cue] if _is_number(cue) else cue
        if isinstance(numbers, Sequence) and numbers and all(map(_is_number, numbers)):
            return [tuple(_token_span(number, words) for number in sorted(set(map(index, numbers))))]
        raise TypeError(f"a cue of tokens is a word, a token number or a list of token numbers, not {cue!r:.80}")
    if isinstance(cue, Mapping) and {"start", "end"} <= set(cue):
        return [(_span((cue["start"], cue["end"]), text),)]
    if isinstance(cue, Sequence) and len(cue) == 2 and all(map(_is_number, cue)):
        return [(_span(cue, text),)]
    if isinstance(cue, Sequence) and cue and all(isinstance(part, Sequence) and len(part) == 2 for part in cue):
        parts = sorted(_span(part, text) for part in cue)
        for (start, end), (next_start, next_end) in pairwise(parts):
            if next_start < end:
                raise ValueError(f"the parts ({start}, {end}) and ({next_start}, {next_end}) of one cue overlap")
        return [tuple(parts)]
    raise TypeError(f"a cue is a word, a character span (start, end) or a list of such spans, not {cue!r:.80}")


def _is_number(value: Any) -> bool:
    """Whether this is a whole number, numpy's and torch's among them."""
    if isinstance(value, bool):
        return False
    try:
        index(value)
    except TypeError:
        return False
    return True


def _token_span(number: int, words: Sequence[Word]) -> Span:
    if not 0 <= number < len(words):
        raise ValueError(f"there is no token {number}; the {len(words)} tokens are numbered from 0")
    if not words[number].text.strip():
        raise ValueError(f"token {number} is {words[number].text!r}, which is no word")
    return words[number].start, words[number].end


def _span(span: Sequence[Any], text: str) -> Span:
    if not all(map(_is_number, span)):
        raise TypeError(f"a character span is two whole numbers, not ({span[0]!r}, {span[1]!r})")
    start, end = map(index, span)
    if not 0 <= start < end <= len(text):
        raise ValueError(f"the cue span ({start}, {end}) does not lie in the text, which has {len(text)} characters")
    if not text[start:end].strip():
        raise ValueError(f"the cue span ({start}, {end}) holds no word, only {text[start:end]!r}")
    return start, end


def _occurrences(cue: str, text: str) -> list[tuple[Span, ...]]:
    """Every place where a cue stands: as whole words or, if nowhere, as an affix."""
    pattern = r"\s+".join(map(re.escape, cue.split()))
    if not pattern:
        raise ValueError(f"a cue is a word, not {cue!r}")
    for bounded in (rf"(?<!\w){pattern}(?!\w)", rf"(?<!\w){pattern}|{pattern}(?!\w)"):
        places = [match.span() for match in re.finditer(bounded, text, re.IGNORECASE)]
        if places:
            return [(place,) for place in places]
    raise ValueError(f"the cue {cue!r} does not stand in the text {text[:80]!r}")


def _words_around(words: Sequence[Word], ends: Sequence[int], parts: Sequence[Span], reach: int) -> tuple[Word, ...]:
    """The words of the sentences from the first part of a cue to the last, at most `reach` to each side of it.

    Args:
        words: of the whole text.
        ends: for each sentence, the number of the word after its last; in order.
        parts: spans of the cue.
        reach: words that are kept before the first and after the last word of the cue.
    """
    first = bisect_right(words, parts[0][0], key=lambda word: word.end)
    after = bisect_left(words, parts[-1][1], key=lambda word: word.start)
    sentence = bisect_right(ends, first)
    start = ends[sentence - 1] if sentence else 0
    end = ends[min(bisect_left(ends, after), len(ends) - 1)]
    return tuple(words[max(start, first - reach) : min(end, after + reach)])
