"""Encode words and a negation cue as model inputs, and map word pieces back to words.

Needs only a fast tokenizer, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

NO_WORD = -1
CUE_TOKEN = "[CUE]"
CANDIDATE_TOKEN = "[CANDIDATE]"


def convention_token(convention: str) -> str:
    """The cue token that tells a model of several conventions which one to follow."""
    return f"[CUE:{convention}]"


@dataclass(frozen=True)
class EncodedWindow:
    """Model input for one cue: its sentence, or a window of it.

    Attributes:
        example: index of the sentence in the batch.
        input_ids: piece ids, special tokens included.
        cue_mask: 1 on the cue's own pieces.
        word_ids: for each piece the index of its word in the whole sentence, `NO_WORD` for special tokens.
        is_whole: False if words of the sentence, or pieces of the cue, are left out.
    """

    example: int
    input_ids: list[int]
    cue_mask: list[int]
    word_ids: list[int]
    is_whole: bool = True


def add_cue_token(tokenizer: Any, *cue_tokens: str) -> bool:
    """Add cue tokens, `CUE_TOKEN` by default; True if any is new, so that the model's embeddings must be resized."""
    new = [token for token in cue_tokens or (CUE_TOKEN,) if token not in tokenizer.get_vocab()]
    return bool(new) and bool(tokenizer.add_tokens(new, special_tokens=True))


def encode_cues(
    tokenizer: Any,
    sentences: Sequence[Sequence[str]],
    cues: Sequence[Sequence[int]] | None,
    *,
    max_length: int,
    mark_tokens: Sequence[str] | None = None,
    marked: Sequence[Sequence[int]] | None = None,
    start_tokens: Sequence[str] | None = None,
    max_cue_length: int | None = None,
    overlapping: bool = False,
) -> list[EncodedWindow]:
    """Encode sentences, each with one cue, or all without.

    A sentence that is too long gives windows of whole words that hold the cue: one around the cue, or, with
    `overlapping`, up to three that reach as far as possible to both sides of it. Without a cue, its windows follow one
    another.

    Args:
        tokenizer: a fast tokenizer.
        sentences: words of each sentence.
        cues: 0 or 1 a word, for each sentence; None for sentences to find cues in.
        max_length: most pieces in an input, special tokens included.
        mark_tokens: for each sentence, the token to put before each marked word, known to the tokenizer; None for none.
        marked: 0 or 1 a word, for each sentence; by default, the words of the cue are marked ("augment").
        start_tokens: for each sentence, the token to begin it with, in all of its windows; None for none.
        max_cue_length: most pieces marked as the cue; of a longer cue, the first are marked. None for no limit.
        overlapping: give a long sentence several windows.

    Raises:
        ValueError: the tokenizer does not know a cue token.
    """
    # `get_vocab` would copy the whole vocabulary at each call.
    no_id = (None, tokenizer.unk_token_id)
    inserted = {*(mark_tokens or ()), *(start_tokens or ())}
    for unknown in sorted(token for token in inserted if tokenizer.convert_tokens_to_ids(token) in no_id):
        raise ValueError(f"the tokenizer does not know the cue token {unknown!r}; call add_cue_token(tokenizer) first")
    if not sentences:
        return []
    none = [None] * len(sentences)
    own_cues = [[0] * len(words) for words in sentences] if cues is None else cues
    batch = [
        _insert_tokens(*example)
        for example in zip(sentences, marked or own_cues, mark_tokens or none, start_tokens or none, strict=True)
    ]
    encoded = tokenizer(
        [[text for text, _, _ in items] for items in batch],
        is_split_into_words=True,
        return_attention_mask=False,
        verbose=False,
    )
    windows: list[EncodedWindow] = []
    for example, (items, cue) in enumerate(zip(batch, own_cues, strict=True)):
        item_ids = encoded.word_ids(example)
        owners = [NO_WORD if item is None else items[item][1] for item in item_ids]
        word_ids = [NO_WORD if item is None else items[item][2] for item in item_ids]
        cue_mask = [int(word != NO_WORD and bool(cue[word])) for word in word_ids]
        whole = EncodedWindow(example, encoded["input_ids"][example], cue_mask, word_ids)
        if len(owners) <= max_length:
            parts = [whole]
        elif cues is None:
            parts = _cut(whole, owners, len(cue), max_length, tiles)
        else:
            parts = _cut(whole, owners, len(cue), max_length, partial(cue_windows, cue=cue, overlapping=overlapping))
        windows.extend(_limit_cue(part, max_cue_length) for part in parts)
    return windows


def _insert_tokens(
    words: Sequence[str], marked: Sequence[int], mark_token: str | None, start_token: str | None
) -> list[tuple[str, int, int]]:
    """List words and tokens of ours, each with the word that it belongs to, and the word that it is."""
    items = [] if start_token is None else [(start_token, NO_WORD, NO_WORD)]
    for number, (word, is_marked) in enumerate(zip(words, marked, strict=True)):
        if mark_token is not None and is_marked:
            items.append((mark_token, number, NO_WORD))
        items.append((word, number, number))
    return items


def _cut(
    whole: EncodedWindow,
    owners: list[int],
    num_words: int,
    max_length: int,
    choose: Callable[[Sequence[int], int], Iterator[range]],
) -> list[EncodedWindow]:
    """Cut windows out of a sentence's encoding.

    Args:
        whole: the encoding.
        owners: the word of each piece, the cue tokens' pieces included.
        num_words: words of the sentence.
        max_length: most pieces in a window.
        choose: number of pieces of each word, most pieces that are no special tokens -> the words of each window.
    """
    lengths = [0] * num_words
    special = []
    for piece, owner in enumerate(owners):
        if owner == NO_WORD:
            special.append(piece)
        else:
            lengths[owner] += 1
    room = max_length - len(special)
    windows = []
    for words in choose(lengths, room):
        # A single word can have more pieces than fit: its end is cut off.
        pieces = sorted(special + [piece for piece, owner in enumerate(owners) if owner in words][:room])
        window = EncodedWindow(
            whole.example,
            input_ids=[whole.input_ids[piece] for piece in pieces],
            cue_mask=[whole.cue_mask[piece] for piece in pieces],
            word_ids=[whole.word_ids[piece] for piece in pieces],
            is_whole=False,
        )
        windows.append(window)
    return windows


def _limit_cue(window: EncodedWindow, max_cue_length: int | None) -> EncodedWindow:
    """Unmark the pieces of a cue after the first `max_cue_length`."""
    marked = [piece for piece, is_cue in enumerate(window.cue_mask) if is_cue][:max_cue_length]
    if len(marked) == sum(window.cue_mask):
        return window
    return replace(window, cue_mask=[int(piece in marked) for piece in range(len(window.cue_mask))], is_whole=False)


def tiles(lengths: Sequence[int], room: int) -> Iterator[range]:
    """Divide words, given the pieces of each, into windows of at most `room` pieces; a longer word is one by itself."""
    start = used = 0
    for word, length in enumerate(lengths):
        if used + length > room and word > start:
            yield range(start, word)
            start, used = word, 0
        used += length
    if start < len(lengths):
        yield range(start, len(lengths))


def cue_windows(lengths: Sequence[int], room: int, *, cue: Sequence[int], overlapping: bool) -> Iterator[range]:
    """Choose windows of words that hold the cue.

    Args:
        lengths: pieces of each word.
        room: most pieces in a window.
        cue: 0 or 1 a word. Without any 1, the first word stands for the cue. Of a cue wider than the room, the first
            words are kept.
        overlapping: also choose the windows that end and begin with the cue.

    Yields:
        Ranges of word indices, without repetition.
    """
    marked = [number for number, is_cue in enumerate(cue) if is_cue] or [0]
    end, used = marked[0], 0
    while end <= marked[-1] and used + lengths[end] <= room:
        used += lengths[end]
        end += 1
    if end == marked[0]:  # the first word alone is too long: it fills the window
        end, used = end + 1, room
    core = range(marked[0], end)
    shares = (0.5, 1.0, 0.0) if overlapping else (0.5,)
    yield from dict.fromkeys(_grow(lengths, core, room - used, left_share) for left_share in shares)


def _grow(lengths: Sequence[int], core: range, spare: int, left_share: float) -> range:
    """Widen a window: each side gets its share of the spare pieces, and what the other side cannot use."""
    left_all, right_all = sum(lengths[: core.start]), sum(lengths[core.stop :])
    left = min(left_all, max(int(spare * left_share), spare - right_all))
    start, stop = core.start, core.stop
    while start > 0 and lengths[start - 1] <= left:
        start -= 1
        left -= lengths[start]
        spare -= lengths[start]
    while stop < len(lengths) and lengths[stop] <= spare:
        spare -= lengths[stop]
        stop += 1
    return range(start, stop)


def word_probabilities(
    num_words: int, word_ids: Sequence[Sequence[int]], probabilities: Sequence[Sequence[float]]
) -> list[float]:
    """Average the probabilities of word pieces: over the pieces of a word in a window, then over windows.

    Args:
        num_words: words of the sentence.
        word_ids: the word of each piece, for each window of the sentence.
        probabilities: one a piece, for each window.

    Returns:
        One probability a word; 0.0 for a word that no window reaches or that has no pieces.
    """
    means: list[list[float]] = [[] for _ in range(num_words)]
    for window_ids, window_probabilities in zip(word_ids, probabilities, strict=True):
        of_word: dict[int, list[float]] = {}
        for word, probability in zip(window_ids, window_probabilities, strict=True):
            of_word.setdefault(word, []).append(float(probability))
        of_word.pop(NO_WORD, None)
        for word, values in of_word.items():
            means[word].append(sum(values) / len(values))
    return [sum(values) / max(len(values), 1) for values in means]
