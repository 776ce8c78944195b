"""Split raw text into words and sentences, by character spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

# Characters that texts have in place of an apostrophe and of a hyphen.
_APOSTROPHES = "’ʼ＇`´‘′"
_HYPHENS = "‐‑"
_PLAIN = str.maketrans(_APOSTROPHES + _HYPHENS, "'" * len(_APOSTROPHES) + "-" * len(_HYPHENS))

# Penn Treebank's treatment of negated verbs: "isn't" is "is" + "n't", "cannot" is "can" + "not".
_WORD = re.compile(
    rf"""
    (?P<verb>\w+?) (?P<negation>n['{_APOSTROPHES}]t) (?!\w)   # is|n't
  | (?P<can>can) (?P<not>not) (?!\w)                    # can|not
  | w/o (?:ut)? (?!\w)                                   # w/o
  | \d+ (?: [.,:/] \d+ )+                               # 3.5  1,000  10:30
  | (?: \w \. ){{2,}}                                   # U.S.
  | ['’] (?: s|re|ve|ll|d|m ) (?!\w)                   # Holmes|'s
  | \w+ (?: [-‐‑] \w+ )* (?: ['’] (?! (?:s|re|ve|ll|d|m)(?!\w) ) \w+ )?   # well-known  o'clock
  | [^\w\s]                                             # any other character alone
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Word(NamedTuple):
    """A word and its character span: ``text == source[start:end]``."""

    text: str
    start: int
    end: int


def plain(text: str) -> str:
    """A text with ASCII apostrophes and hyphens, character for character."""
    return text.translate(_PLAIN)


def split_words(text: str) -> list[Word]:
    """Split raw text into words and punctuation marks, in order; their spans leave out nothing but white space."""
    words: list[Word] = []
    for match in _WORD.finditer(text):
        groups = [name for name in ("verb", "negation", "can", "not") if match[name] is not None]
        spans = [match.span(name) for name in groups] or [match.span()]
        words.extend(Word(text[start:end], start, end) for start, end in spans)
    return words


def words_of_tokens(tokens: Sequence[str]) -> list[Word]:
    """Tokens as the words of the text that joins them by spaces."""
    words: list[Word] = []
    for token in tokens:
        start = words[-1].end + 1 if words else 0
        words.append(Word(token, start, start + len(token)))
    return words


# A full stop after one of these does not end a sentence; after "no", only before a number.
_ABBREVIATIONS = frozenset(
    [
        *("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd"),
        *("vs", "etc", "fig", "figs", "eq", "vol", "al", "e.g", "i.e", "cf", "ca", "approx"),
    ]
)
_NUMERO = ("no", "nos")
# A letter after one of these is a label, and no initial: "hepatitis C."
_LETTERED = (
    *("class", "factor", "grade", "group", "hepatitis", "influenza"),
    *("option", "plan", "stage", "type", "vitamin"),
)
# The beginning of a line that is an item of a list or has a heading: "- fever", "2. Fever", "Lungs: clear".
_ITEM = re.compile(r"[-–—*•·▪+>] |\(?\d{1,2}[.)] |[A-Z][\w/&()' -]{0,40}:(?!\w)")
_CLOSING = frozenset("\"'”’)]»")


def sentence_ends(text: str, words: Sequence[Word]) -> list[int]:
    """Find where sentences end.

    A sentence ends after a full stop, ellipsis, question or exclamation mark and the closing quotes and brackets behind
    it, if white space and anything but a lower-case letter follow; at an empty line; and before a line that begins with
    the mark of a list item, a number or a heading (*Lungs:*). A full stop after an abbreviation (*Dr.*, *U.S.*), an
    initial (*J.*) or, before a number, *No.* ends none.

    Args:
        text: the text.
        words: its words, as `split_words` returns them.

    Returns:
        For each sentence, the index of the word after its last; the last entry is the number of words.
    """
    ends = []
    for number, (word, following) in enumerate(pairwise(words)):
        gap = text[word.end : following.start]
        ends_line = "\n" in gap and (gap.count("\n") > 1 or _ITEM.match(text, following.start))
        if ends_line or (gap and not following.text[0].islower() and _closes_sentence(words, number)):
            ends.append(number + 1)
    return [*ends, len(words)] if words else []


def _closes_sentence(words: Sequence[Word], number: int) -> bool:
    following = words[number + 1]
    while number > 0 and words[number].text in _CLOSING and words[number - 1].end == words[number].start:
        number -= 1
    mark = words[number].text
    if mark != "." or number == 0:
        return mark in ("?", "!", ".", "…")
    before = words[number - 1].text
    if before.lower() in _NUMERO:
        return not following.text[0].isdigit()
    is_initial = len(before) == 1 and before.isalpha() and before != "I"
    if is_initial and number > 1 and words[number - 2].text.lower() in _LETTERED:
        return True
    return before.lower() not in _ABBREVIATIONS and not is_initial


def require_fast(tokenizer: Any) -> None:
    """Raise a ValueError unless the tokenizer can say which word a piece belongs to."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} cannot align word pieces with words; load a fast tokenizer with "
            "AutoTokenizer.from_pretrained(...)"
        )
