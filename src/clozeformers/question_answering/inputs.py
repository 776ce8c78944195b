"""Inputs of the question answering pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..text import check_text, truncate_repr


def question_of_input(given: Any) -> tuple[str, str]:
    """Return the question and the context of one input: a mapping with both; its other keys are ignored.

    Raises:
        TypeError, ValueError: it is not such a mapping; or one of both fails `check_text`.
    """
    if not isinstance(given, Mapping) or not {"question", "context"} <= set(given):
        raise TypeError(
            'pass question="..." and context="...", or {"question": "...", "context": "..."}, or a list of these; got '
            f"{type(given).__name__} {truncate_repr(given)}"
        )
    return check_text(given["question"], "the question"), check_text(given["context"], "the context")


def pair_positional(*given: Any) -> tuple[Any, ...]:
    """Combine a question and a context, two strings, to one input; other positional arguments are returned as given."""
    if len(given) == 2 and all(isinstance(one, str) for one in given):
        return ({"question": given[0], "context": given[1]},)
    return given


def pair_inputs(inputs: Any, question: Any, context: Any) -> Any:
    """Combine `question=...` and `context=...`, each a string or a list of strings, to inputs.

    Returns:
        `inputs` if neither is given; a mapping if both are strings; otherwise a list of mappings, in which a single
        question or context is repeated. None of them is checked.

    Raises:
        TypeError, ValueError: inputs are given, too; or the lists have different lengths.
    """
    if question is None and context is None:
        return inputs
    if inputs is not None:
        raise TypeError(f"pass question=... and context=..., or inputs, not both; inputs is {truncate_repr(inputs)}")
    questions, contexts = _as_list(question), _as_list(context)
    if questions is None and contexts is None:
        return {"question": question, "context": context}
    questions = [question] * len(contexts or ()) if questions is None else questions
    contexts = [context] * len(questions) if contexts is None else contexts
    if len(questions) != len(contexts):
        raise ValueError(
            f"got {len(questions)} questions and {len(contexts)} contexts; pass as many of both, or one string for all"
        )
    return [{"question": one, "context": other} for one, other in zip(questions, contexts, strict=True)]


def _as_list(value: Any) -> list[Any] | None:
    is_one = isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable)
    return None if is_one else list(value)
