"""Tokenize questions with their contexts, and split long contexts into windows.

Needs only a fast tokenizer, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text import truncate_repr

NO_SPAN = -1
_QUESTION, _CONTEXT, _SPECIAL = 0, 1, -1

Integers = NDArray[np.integer[Any]]


class WindowSizes(NamedTuple):
    """Lengths in tokens.

    Attributes:
        max_length: maximum length of an input, special tokens included.
        max_question_length: maximum length of a question; a longer one is truncated.
        doc_stride: overlap of neighbouring windows of a context.
    """

    max_length: int
    max_question_length: int
    doc_stride: int


def check_window_sizes(sizes: WindowSizes, tokenizer: Any, names: Sequence[str] = WindowSizes._fields) -> None:
    """Check that each window has more room for the context than the overlap, even beside the longest question.

    Args:
        sizes: the lengths.
        tokenizer: gives the number of special tokens of an input.
        names: the caller's names of the three lengths, for the error.

    Raises:
        TypeError, ValueError: a length is not an int, or outside the range that the others allow.
    """
    special = tokenizer.num_special_tokens_to_add(pair=True)
    given = "".join(f"{name}={value}, " for name, value in zip(names, sizes, strict=True))
    for name, value in zip(names, sizes, strict=True):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} is {truncate_repr(value)}; it must be a whole number")
    room = sizes.max_length - special
    ranges = ((special + 2, None), (1, room - 1), (0, room - sizes.max_question_length - 1))
    for name, value, (least, most) in zip(names, sizes, ranges, strict=True):
        if value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            raise ValueError(f"{name} is {value}; it must be {bounds} (with {given}{special} special tokens)")


@dataclass(frozen=True)
class TokenizedQuestion:
    """A question and its whole context; every array has one entry per token, L in all.

    Attributes:
        inputs: `input_ids` ``[L]`` and, if the tokenizer gives them, `token_type_ids` ``[L]`` and `char_ids`
            ``[L, W]``.
        spans: ``[L, 2]``, start and end in the context's characters, without white space at the edges of a token;
            `NO_SPAN` outside of the context and for tokens that are only white space.
        words: ``[L]``, index of the token's word in its text, as the tokenizer's pre-tokenizer splits it; -1 for none.
        context: the positions of the context's tokens.
        cls_position: the position that stands for no answer: that of `[CLS]`, else of the token that begins a sequence,
            else 0, as is usual for such models.
        is_truncated: whether the question was longer than its maximum.
    """

    inputs: dict[str, Integers]
    spans: Integers
    words: Integers
    context: range
    cls_position: int
    is_truncated: bool

    def windows(self, max_length: int, stride: int) -> Iterator[Integers]:
        """Yield the positions of each window: the question, the special tokens and a part of the context.

        `check_window_sizes` checks `max_length`, the maximum number of positions, and `stride`, the overlap.
        """
        start, stop = self.context.start, self.context.stop
        before, after = np.arange(start), np.arange(stop, len(self.spans))
        room = max_length - len(before) - len(after)
        while stop - start > room:
            yield np.concatenate([before, np.arange(start, start + room), after])
            start += room - stride
        yield np.concatenate([before, np.arange(start, stop), after])

    def find_tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the positions of the first and last token that overlap a character span, or None."""
        found = np.flatnonzero((self.spans[:, 0] < end) & (self.spans[:, 1] > start))
        return (int(found[0]), int(found[-1])) if len(found) else None


def tokenize_questions(
    tokenizer: Any, questions: Sequence[str], contexts: Sequence[str], max_question_length: int
) -> list[TokenizedQuestion]:
    """Tokenize questions, truncated to `max_question_length` tokens, with their whole contexts.

    The question comes first, except for tokenizers that pad on the left, such as XLNet's, whose models are trained with
    the context first. White space before a question is dropped. The tokenizer must be a fast one.
    """
    question_first = tokenizer.padding_side == "right"
    questions = [question.lstrip() for question in questions]
    encoded = tokenizer(
        *((questions, list(contexts)) if question_first else (list(contexts), questions)),
        padding=False,
        truncation=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        verbose=False,
    )
    roles = np.array([_QUESTION, _CONTEXT, _SPECIAL] if question_first else [_CONTEXT, _QUESTION, _SPECIAL])
    tokenized = []
    for number, context in enumerate(contexts):
        role = roles[[-1 if sequence is None else sequence for sequence in encoded.sequence_ids(number)]]
        kept = np.flatnonzero((role != _QUESTION) | ((role == _QUESTION).cumsum() <= max_question_length))
        is_truncated = len(kept) < len(role)
        role = role[kept]
        names = [name for name in ("input_ids", "token_type_ids", "char_ids") if name in encoded]
        inputs = {name: np.asarray(encoded[name][number])[kept] for name in names}
        in_context = np.flatnonzero(role == _CONTEXT)
        offsets = encoded["offset_mapping"][number]
        spans = np.full((len(role), 2), NO_SPAN, dtype=np.int32)
        for position in in_context:
            spans[position] = strip_span(context, *offsets[kept[position]]) or NO_SPAN
        place = range(in_context[0], in_context[-1] + 1) if len(in_context) else range(len(role), len(role))
        markers = (tokenizer.cls_token_id, tokenizer.bos_token_id)
        found = (np.flatnonzero((role == _SPECIAL) & (inputs["input_ids"] == marker)) for marker in markers)
        cls_position = next((int(positions[0]) for positions in found if len(positions)), 0)
        words = np.array([-1 if word is None else word for word in encoded.word_ids(number)])[kept]
        tokenized.append(TokenizedQuestion(inputs, spans, words, place, cls_position, is_truncated))
    return tokenized


def word_spans(tokenized: TokenizedQuestion, context: str) -> Integers:
    """Extend the spans of a context's tokens, of which there is at least one, to whole words.

    A word is what the tokenizer's pre-tokenizer separates, and no longer than up to the next white space. Punctuation
    at its edges, as where only white space separates, belongs to an answer only if its own token does.

    Returns:
        ``[L, 2]``, `NO_SPAN` where `tokenized.spans` is.
    """
    inside = np.flatnonzero(tokenized.spans[:, 0] >= 0)
    spans, words = tokenized.spans[inside], tokenized.words[inside]
    is_first = np.ones(len(inside), dtype=bool)
    is_first[1:] = (words[1:] != words[:-1]) | (spans[1:, 0] > spans[:-1, 1])
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(inside)) - 1
    edges = zip(spans[firsts, 0].tolist(), spans[lasts, 1].tolist(), strict=True)
    cores = np.array([_strip_punctuation(context, start, end) for start, end in edges])
    starts, ends = cores[is_first.cumsum() - 1].T
    is_part = (spans[:, 0] < ends) & (spans[:, 1] > starts)
    extended = tokenized.spans.copy()
    extended[inside, 0] = np.where(is_part, np.minimum(spans[:, 0], starts), spans[:, 0])
    extended[inside, 1] = np.where(is_part, np.maximum(spans[:, 1], ends), spans[:, 1])
    return extended


def _strip_punctuation(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a character span by the punctuation at its edges; an empty span if nothing is left."""
    while start < end and unicodedata.category(text[start])[0] == "P":
        start += 1
    while start < end and unicodedata.category(text[end - 1])[0] == "P":
        end -= 1
    return start, end


def strip_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Shrink a character span by the white space at its edges; None if nothing is left."""
    span = text[start:end]
    start += len(span) - len(span.lstrip())
    end -= len(span) - len(span.rstrip())
    return (start, end) if start < end else None
