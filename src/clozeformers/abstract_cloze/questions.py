"""One question with a gap, the article that it sums up, and the options for the gap: read, checked and filled in.

Needs no other library, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..text import truncate_repr

PLACEHOLDER = "@placeholder"
_NUMBERED_OPTION = re.compile(r"option_(0|[1-9][0-9]{0,5})")


class ClozeQuestion(NamedTuple):
    """One question.

    Attributes:
        article: the text to read; empty where only the question is read.
        question: a sentence with one `PLACEHOLDER`.
        options: two words or more that may stand in its place, all different.
    """

    article: str
    question: str
    options: tuple[str, ...]

    @property
    def start(self) -> int:
        """The character of each of the `sentences` that its option begins with."""
        return self.question.lstrip().index(PLACEHOLDER)

    @property
    def words(self) -> list[str]:
        """The options as they stand in the `sentences`: without white space around them."""
        return [option.strip() for option in self.options]

    @property
    def sentences(self) -> list[str]:
        """The question with each option in place; nothing but the marker is replaced."""
        before, _, after = self.question.strip().partition(PLACEHOLDER)
        return [f"{before}{word}{after}" for word in self.words]


def cloze_question_of(values: Any, use_article: bool = True) -> ClozeQuestion:
    """Check one question.

    Args:
        values: a mapping with `article`, `question` and `options`, or with `option_0`, `option_1` and so on as the
            files of ReCAM have them; other keys, such as those of a corpus row, are not read.
        use_article: whether there must be an article; otherwise it is not looked at.

    Raises:
        TypeError: for anything else; names what was given and what would be right.
        ValueError: for a blank text, a question without a placeholder or with several, fewer than two options, options
            that are the same or given twice over, and a text with lone surrogates.
    """
    if not isinstance(values, Mapping):
        raise TypeError(
            f"a question is {_right_keys(use_article)}; not {type(values).__name__} {truncate_repr(values)}"
        )
    article = _text(values, "article", use_article) if use_article else ""
    question = _text(values, "question", use_article)
    count = question.count(PLACEHOLDER)
    if count != 1:
        raise ValueError(
            f"the question {truncate_repr(question)} has {PLACEHOLDER} {count} times; write it once, where an option is to "
            "stand"
        )
    return ClozeQuestion(article, question, _options(values, use_article))


def _text(values: Mapping[str, Any], name: str, use_article: bool) -> str:
    if name not in values:
        there = ", ".join(map(str, values)) or "nothing"
        raise TypeError(f"{name!r} is missing; a question is {_right_keys(use_article)}, and there is {there}")
    text = values[name]
    check_text(f"the {name}", text)
    return str(text)


def check_text(name: str, text: Any) -> None:
    """Raise a TypeError or ValueError unless this is a string with a word in it that UTF-8 can hold."""
    if not isinstance(text, str):
        raise TypeError(f"{name} is a string, not {type(text).__name__} {truncate_repr(text)}")
    if not text.strip():
        is_article = name == "the article"
        without = "; to read the question alone, pass use_article=False" if is_article else ""
        raise ValueError(f"{name} is {truncate_repr(text)}; it must hold at least one word{without}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} of {name}, {text[error.start]!r}, is half of a surrogate pair and no character; "
            'mend it with text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None


def _options(values: Mapping[str, Any], use_article: bool) -> tuple[str, ...]:
    numbered = _numbered_options(values)
    if "options" in values and numbered is not None:
        raise ValueError("there are both 'options' and 'option_0'; give the options once")
    options: Any = values.get("options", numbered)
    options = options.tolist() if hasattr(options, "tolist") else options
    if options is None:
        there = ", ".join(map(str, values))
        raise TypeError(f"'options' is missing; a question is {_right_keys(use_article)}, and there is {there}")
    if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
        raise TypeError(f"the options are a list of strings, not {type(options).__name__} {truncate_repr(options)}")
    if len(options) < 2:
        raise ValueError(f"there must be two options or more, not {truncate_repr(options)}")
    first_places: dict[str, int] = {}
    for number, option in enumerate(options):
        check_text(f"option {number}", option)
        first = first_places.setdefault(option.strip(), number)
        if first != number:
            raise ValueError(
                f"options {first} and {number} are both {truncate_repr(option.strip())}; all must be different"
            )
    return tuple(options)


def _numbered_options(values: Mapping[str, Any]) -> list[Any] | None:
    """The options of ReCAM's files, in the order of their numbers; None where there are none."""
    matches = [_NUMBERED_OPTION.fullmatch(name) for name in values if isinstance(name, str)]
    numbers = sorted(int(match[1]) for match in matches if match)
    for expected, number in enumerate(numbers):
        if number != expected:
            raise ValueError(
                f"there is option_{number} but no option_{expected}; number the options from 0, without gaps"
            )
    return [values[f"option_{number}"] for number in numbers] or None


def _right_keys(use_article: bool) -> str:
    article = '"article": "...", ' if use_article else ""
    return f'{{{article}"question": "... {PLACEHOLDER} ...", "options": ["...", "..."]}}'
