"""A question and its context as a model's input, in windows where the context is long.

Needs only a fast tokenizer, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_SPAN = -1
_QUESTION, _CONTEXT, _SPECIAL = 0, 1, -1
# U+3000 is the last white space of Unicode; every character above shares the entry behind it.
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])

Integers = NDArray[np.integer[Any]]


class WindowSizes(NamedTuple):
    """Lengths in the tokenizer's words or pieces.

    Attributes:
        max_length: most in an input, special tokens included.
        max_question_length: most of a question; of a longer one, the first are read.
        doc_stride: how many the windows of a long context share with their neighbours.
    """

    max_length: int
    max_question_length: int
    doc_stride: int


def check_window_sizes(sizes: WindowSizes, tokenizer: Any, names: Sequence[str] = WindowSizes._fields) -> None:
    """Check that even beside the longest question the windows move on.

    Args:
        sizes: the lengths.
        tokenizer: which knows how many special tokens an input has.
        names: what the caller calls the three lengths, for the error.

    Raises:
        TypeError: if one is no whole number.
        ValueError: if one is out of the range that the others leave it, which the message gives.
    """
    for name, value in zip(names, sizes, strict=True):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}; it must be a whole number")
    special = tokenizer.num_special_tokens_to_add(pair=True)
    room = sizes.max_length - special
    limits = ((special + 2, None), (1, room - 1), (0, room - sizes.max_question_length - 1))
    for name, value, (least, most) in zip(names, sizes, limits, strict=True):
        if value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            given = "".join(f"{name}={value}, " for name, value in zip(names, sizes, strict=True))
            raise ValueError(f"{name} is {value}; it must be {bounds} (with {given}{special} special tokens)")


@dataclass(frozen=True)
class TokenisedQuestion:
    """A question and its whole context; every array has one entry a token, L in all.

    Attributes:
        inputs: what a model takes: `input_ids` ``[L]`` and, where the tokenizer gives them, `token_type_ids` ``[L]``
            and `char_ids` ``[L, W]``.
        spans: ``[L, 2]``, start and end in the context's characters, white space at the token's edges left out;
            `NO_SPAN` outside of the context and for tokens of white space alone.
        context: the positions of the context's tokens.
        cls_position: the position of the no-answer slot.
        is_cut: whether the question was longer than its limit.
    """

    inputs: dict[str, Integers]
    spans: Integers
    context: range
    cls_position: int
    is_cut: bool

    def windows(self, max_length: int, stride: int) -> Iterator[Integers]:
        """Yield the positions that each window keeps: the question, the special tokens and a part of the context.

        Raises:
            ValueError: if beside the question there is no more room than `stride`.
        """
        start, stop = self.context.start, self.context.stop
        before, after = np.arange(start), np.arange(stop, len(self.spans))
        room = max_length - len(before) - len(after)
        if len(self.context) > room and room <= stride:
            raise ValueError(
                f"{max_length} words or pieces leave {room} to the context; windows that share {stride} need more: "
                "raise the maximum length or lower the stride (--max_length and --doc_stride of the training script)"
            )
        while stop - start > room:
            yield np.concatenate([before, np.arange(start, start + room), after])
            start += room - stride
        yield np.concatenate([before, np.arange(start, stop), after])

    def tokens_of(self, start: int, end: int) -> tuple[int, int] | None:
        """Find the first and the last token that hold a part of a span of the context's characters.

        Returns:
            Their positions; None if no token does.
        """
        held = np.flatnonzero((self.spans[:, 0] < end) & (self.spans[:, 1] > start))
        return (int(held[0]), int(held[-1])) if len(held) else None


def tokenise_questions(
    tokenizer: Any, questions: Sequence[str], contexts: Sequence[str], max_question_length: int
) -> list[TokenisedQuestion]:
    """Tokenise questions with their contexts, each whole.

    The question comes first, but for tokenizers that pad on the left (such as XLNet's) the context does, as their
    models are trained. White space before a question is left out.

    Args:
        tokenizer: a fast tokenizer.
        questions: the questions.
        contexts: as many contexts.
        max_question_length: most tokens of a question.
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
    tokenised = []
    for number, context in enumerate(contexts):
        role = roles[[-1 if sequence is None else sequence for sequence in encoded.sequence_ids(number)]]
        kept = np.flatnonzero((role != _QUESTION) | ((role == _QUESTION).cumsum() <= max_question_length))
        is_cut = len(kept) < len(role)
        role = role[kept]
        inputs = {
            name: np.asarray(encoded[name][number])[kept]
            for name in ("input_ids", "token_type_ids", "char_ids")
            if name in encoded
        }
        spans = np.full((len(role), 2), NO_SPAN, dtype=np.int32)
        in_context = np.flatnonzero(role == _CONTEXT)
        if len(in_context):
            offsets = np.asarray(encoded["offset_mapping"][number])[kept][in_context]
            spans[in_context] = _without_white_space(context, offsets)
            place = range(int(in_context[0]), int(in_context[-1]) + 1)
        else:
            place = range(len(role), len(role))
        cls_position = _no_answer_position(tokenizer, inputs["input_ids"], role == _SPECIAL)
        tokenised.append(TokenisedQuestion(inputs, spans, place, cls_position, is_cut))
    return tokenised


def _without_white_space(context: str, offsets: Integers) -> Integers:
    """Shrink character spans ``[N, 2]`` to what is not white space at their edges; `NO_SPAN` where nothing is left."""
    codes = np.frombuffer(context.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    solid = ~_IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    places, length = np.arange(len(codes)), len(codes)
    following = np.append(np.minimum.accumulate(np.where(solid, places, length)[::-1])[::-1], length)
    preceding = np.insert(np.maximum.accumulate(np.where(solid, places + 1, 0)), 0, 0)
    spans = np.stack([following[offsets[:, 0]], preceding[offsets[:, 1]]], axis=1)
    spans[spans[:, 0] >= spans[:, 1]] = NO_SPAN
    return spans


def _no_answer_position(tokenizer: Any, input_ids: Integers, is_special: NDArray[np.bool_]) -> int:
    """Where `[CLS]` stands, or else the token of the sequence's beginning, or else 0, as is usual for such models."""
    for token_id in (tokenizer.cls_token_id, tokenizer.bos_token_id):
        if token_id is not None:
            # Text may spell a special token too, which then is none.
            found = np.flatnonzero(is_special & (input_ids == token_id))
            if len(found):
                return int(found[0])
    return 0
