"""What users hand to the question answering pipeline, as questions with their contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_RIGHT_CALL = 'pass question="..." and context="...", or {"question": "...", "context": "..."}, or many of these'


class QuestionInContext(NamedTuple):
    """One question and what it is asked about."""

    question: str
    context: str


def question_of_input(given: Any) -> QuestionInContext:
    """Read one input of the pipeline.

    Args:
        given: a mapping with `question` and `context`; other keys, such as those of a corpus row, are not read.

    Raises:
        TypeError: for anything else; names what was given and what would be right.
        ValueError: for an empty question or context, and for one with lone surrogates.
    """
    if not isinstance(given, Mapping) or not {"question", "context"} <= set(given):
        is_mapping = isinstance(given, Mapping)
        shown = f"a mapping with {sorted(map(str, given))}" if is_mapping else f"{type(given).__name__} {given!r:.80}"
        raise TypeError(f"{_RIGHT_CALL}; not {shown}")
    for name in QuestionInContext._fields:
        text = given[name]
        if not isinstance(text, str):
            raise TypeError(f'"{name}" is a string, not {type(text).__name__} {text!r:.80}; {_RIGHT_CALL}')
        if not text.strip():
            raise ValueError(f"the {name} is {text!r:.80}; it must hold at least one word")
        _refuse_surrogates(name, text)
    return QuestionInContext(given["question"], given["context"])


def _refuse_surrogates(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} of the {name}, {text[error.start]!r}, is half of a surrogate pair and no "
            f'character; mend it with {name}.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None


def paired_inputs(question: Any, context: Any) -> Any:
    """Put `question=...` and `context=...` together.

    Args:
        question: one, or a list of them.
        context: one, or a list of them; one is read with each of many questions, and the other way round.

    Returns:
        A mapping where both are one, else a list of mappings; unchecked.

    Raises:
        ValueError: for two lists of different lengths.
    """
    counts = {
        name: len(value) for name, value in (("question", question), ("context", context)) if _is_list_like(value)
    }
    if not counts:
        return {"question": question, "context": context}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"there are {counts['question']} questions and {counts['context']} contexts; give as many of both, or one "
            "string for all"
        )
    count = next(iter(counts.values()))
    questions, contexts = (value if _is_list_like(value) else [value] * count for value in (question, context))
    return [{"question": one, "context": other} for one, other in zip(questions, contexts, strict=True)]


def _is_list_like(value: Any) -> bool:
    """Whether this is a list, tuple, array or column; these can be measured before they are read."""
    is_one = isinstance(value, (str, bytes, bytearray, Mapping))
    return not is_one and isinstance(value, Iterable) and hasattr(value, "__len__") and hasattr(value, "__getitem__")
