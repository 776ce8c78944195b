"""A question with a gap, its article, and the options for the gap. Travels beside a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..text import check_text, truncate_repr

PLACEHOLDER = "@placeholder"


class ClozeQuestion(NamedTuple):
    """One question.

    Attributes:
        article: the text to read; empty if only the question is read.
        question: a text with one `PLACEHOLDER`.
        options: two or more texts that may replace the placeholder, all different.
    """

    article: str
    question: str
    options: tuple[str, ...]

    @property
    def start(self) -> int:
        """The character of each of the `sentences` at which its option begins."""
        return self.question.lstrip().index(PLACEHOLDER)

    @property
    def words(self) -> list[str]:
        """The options as in the `sentences`: without surrounding white space."""
        return [option.strip() for option in self.options]

    @property
    def sentences(self) -> list[str]:
        """The question with each option in place of the placeholder."""
        before, _, after = self.question.strip().partition(PLACEHOLDER)
        return [f"{before}{word}{after}" for word in self.words]


def cloze_question_of(values: Any, use_article: bool = True) -> ClozeQuestion:
    """Check one question.

    Args:
        values: a mapping with `article`, `question` and `options`, or with `option_0`, `option_1` and so on as in the
            files of ReCAM; other keys are ignored.
        use_article: if False, the article is neither needed nor read.

    Raises:
        TypeError: a field is missing or of the wrong type.
        ValueError: a blank text, a question without exactly one placeholder, fewer than two options, or equal ones.
    """
    article_key = '"article": "...", ' if use_article else ""
    expected = f'a question is {{{article_key}"question": "... {PLACEHOLDER} ...", "options": ["...", "..."]}}'
    if not isinstance(values, Mapping):
        raise TypeError(f"{expected}; got {type(values).__name__} {truncate_repr(values)}")
    article = values.get("article") if use_article else ""
    question, options = values.get("question"), _find_options(values)
    for name, value in (("article", article), ("question", question), ("options", options)):
        if value is None:
            keys = ", ".join(map(str, values))[:200] or "nothing"
            raise TypeError(f"{name!r} is missing; {expected}, and there is {keys}")
    article = check_text(article, "the article") if use_article else ""
    question = check_text(question, "the question")
    count = question.count(PLACEHOLDER)
    if count != 1:
        problem = f"the question {truncate_repr(question)} has {PLACEHOLDER} {count} times"
        raise ValueError(f"{problem}; write it once, where the options go")
    return ClozeQuestion(article, question, _check_options(options))


def _find_options(values: Mapping[str, Any]) -> Any:
    """Return `options`, or those of ReCAM's files in the order of their numbers; None if there are none."""
    pattern = re.compile(r"option_[0-9]{1,6}")
    names = [name for name in values if isinstance(name, str) and pattern.fullmatch(name)]
    names.sort(key=lambda name: int(name.removeprefix("option_")))
    if "options" in values and names:
        raise ValueError(f"there are both 'options' and {names[0]!r}; give the options once")
    for number, name in enumerate(names):
        if name != f"option_{number}":
            raise ValueError(f"there is {name} but no option_{number}; number the options from 0, without gaps")
    options: Any = [values[name] for name in names] or values.get("options")
    return options.tolist() if hasattr(options, "tolist") else options


def _check_options(options: Any) -> tuple[str, ...]:
    if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
        raise TypeError(f"the options are {type(options).__name__} {truncate_repr(options)}; give a list of strings")
    if len(options) < 2:
        raise ValueError(f"there must be two options or more, not {truncate_repr(options)}")
    words = [check_text(option, f"option {number}").strip() for number, option in enumerate(options)]
    for number, word in enumerate(words):
        if words.index(word) != number:
            problem = f"options {words.index(word)} and {number} are both {truncate_repr(word)}"
            raise ValueError(f"{problem}; all must be different")
    return tuple(options)
