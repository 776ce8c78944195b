"""From words and a cue to a model's input, and back from word pieces to words.

Needs only a fast tokenizer, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

NO_WORD = -1
CUE_TOKEN = "[CUE]"


@dataclass(frozen=True)
class Reading:
    """One window of a sentence as a model reads it; the three lists have one entry a word piece.

    Attributes:
        example: number of the sentence in what was given to `read_cues`.
        input_ids: piece ids, special tokens included.
        cue_mask: 1 on the cue's own pieces.
        word_ids: the number of the word in the whole sentence, `NO_WORD` for special tokens.
        is_whole: False if words of the sentence, or pieces of the cue, were left out.
    """

    example: int
    input_ids: list[int]
    cue_mask: list[int]
    word_ids: list[int]
    is_whole: bool = True


def require_fast(tokenizer: Any) -> None:
    """Raise a ValueError unless the tokenizer can say which word a piece belongs to."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} cannot align word pieces with words; load a fast tokenizer with "
            "AutoTokenizer.from_pretrained(...)"
        )


def add_cue_token(tokenizer: Any, cue_token: str = CUE_TOKEN) -> bool:
    """Make the cue token one of the tokenizer's special tokens, saved with it.

    Returns:
        True if it is new, and the model's embeddings must be resized.
    """
    if cue_token in tokenizer.get_vocab():
        return False
    return bool(tokenizer.add_tokens([cue_token], special_tokens=True))


def read_cues(
    tokenizer: Any,
    sentences: Sequence[Sequence[str]],
    cues: Sequence[Sequence[int]],
    *,
    max_length: int,
    cue_token: str | None,
    max_cue_length: int,
    overlapping: bool = False,
) -> list[Reading]:
    """Turn sentences, each with one cue, into model inputs.

    A sentence that is too long is read through windows of whole words that hold the cue: one around the cue, or, with
    `overlapping`, up to three that reach as far as possible to both sides of it.

    Args:
        tokenizer: a fast tokenizer.
        sentences: words of each sentence.
        cues: 0 or 1 a word, for each sentence.
        max_length: most pieces in an input, special tokens included.
        cue_token: the token to put before each cue word ("augment"), known to the tokenizer; None for none ("normal").
        max_cue_length: most pieces that a model takes as the cue; of a longer one, the first are marked.
        overlapping: whether a long sentence gives several windows.

    Returns:
        The windows, in the order of the sentences.
    """
    require_fast(tokenizer)
    if cue_token is not None and cue_token not in tokenizer.get_vocab():
        raise ValueError(
            f"the tokenizer does not know the cue token {cue_token!r}; call add_cue_token(tokenizer) first"
        )
    everything = [range(len(sentence)) for sentence in sentences]
    readings: list[Reading] = []
    whole = _encode(tokenizer, sentences, cues, everything, cue_token=cue_token)
    for number, reading in enumerate(whole):
        if len(reading.input_ids) <= max_length:
            readings.append(_with_short_cue(reading, max_cue_length))
            continue
        lengths = _piece_counts(reading, cues[number], cue_token)
        room = max_length - (len(reading.input_ids) - sum(lengths))
        for window in cue_windows(lengths, cues[number], room, overlapping):
            [part] = _encode(
                tokenizer, [sentences[number]], [cues[number]], [window], cue_token=cue_token, max_length=max_length
            )
            part = replace(part, example=number, is_whole=False)
            readings.append(_with_short_cue(part, max_cue_length))
    return readings


def _with_short_cue(reading: Reading, max_cue_length: int) -> Reading:
    """Unmark the pieces of a cue after the first `max_cue_length`."""
    if sum(reading.cue_mask) <= max_cue_length:
        return reading
    last = [piece for piece, is_cue in enumerate(reading.cue_mask) if is_cue][max_cue_length - 1]
    shorter = reading.cue_mask[: last + 1] + [0] * (len(reading.cue_mask) - last - 1)
    return replace(reading, cue_mask=shorter, is_whole=False)


def cue_windows(lengths: Sequence[int], cue: Sequence[int], room: int, overlapping: bool) -> Iterator[range]:
    """Windows of words, each of at most `room` pieces, that hold the cue.

    Args:
        lengths: pieces of each word.
        cue: 0 or 1 a word. Without any 1, windows are laid around the first word. Of a cue wider than the room, the
            first words are kept.
        room: pieces that fit.
        overlapping: give the windows that end and begin with the cue as well as the one around it.

    Yields:
        Ranges of word numbers, without repetition.
    """
    first = next((i for i, is_cue in enumerate(cue) if is_cue), 0)
    last = max((i for i, is_cue in enumerate(cue) if is_cue), default=first)
    end, used = first, 0
    while end <= last and used + lengths[end] <= room:
        used += lengths[end]
        end += 1
    if end == first:  # not even the first word fits: it fills the window alone, cut at its end
        end, used = first + 1, room
    core = range(first, end)
    seen = set()
    for left_share in (0.5, 1.0, 0.0) if overlapping else (0.5,):
        window = _grow(lengths, core, room - used, left_share)
        if window not in seen:
            seen.add(window)
            yield window


def _grow(lengths: Sequence[int], core: range, spare: int, left_share: float) -> range:
    """Widen a window, the left side by its share of the spare pieces, each by what the other cannot use."""
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


def _piece_counts(reading: Reading, cue: Sequence[int], cue_token: str | None) -> list[int]:
    """Pieces of each word, with the cue token before it."""
    counts = [int(cue_token is not None and bool(is_cue)) for is_cue in cue]
    for word in reading.word_ids:
        if word != NO_WORD:
            counts[word] += 1
    return counts


def _encode(
    tokenizer: Any,
    sentences: Sequence[Sequence[str]],
    cues: Sequence[Sequence[int]],
    windows: Sequence[range],
    *,
    cue_token: str | None,
    max_length: int | None = None,
) -> list[Reading]:
    """Encode a window of each sentence, cue tokens put in, in one call of the tokenizer.

    With `max_length`, pieces past it are cut: the end of a single word that has more pieces than fit.
    """
    inputs, origins = [], []
    for sentence, cue, window in zip(sentences, cues, windows, strict=True):
        words: list[str] = []
        origin: list[int] = []
        for number in window:
            if cue_token is not None and cue[number]:
                words.append(cue_token)
                origin.append(NO_WORD)
            words.append(sentence[number])
            origin.append(number)
        inputs.append(words)
        origins.append(origin)
    if not inputs:
        return []
    encoded = tokenizer(
        inputs,
        is_split_into_words=True,
        truncation=max_length is not None,
        max_length=max_length,
        return_attention_mask=False,
        verbose=False,
    )
    readings = []
    for example, (origin, cue) in enumerate(zip(origins, cues, strict=True)):
        words_of_pieces = [NO_WORD if word is None else origin[word] for word in encoded.word_ids(example)]
        cue_mask = [int(word != NO_WORD and bool(cue[word])) for word in words_of_pieces]
        readings.append(Reading(example, encoded["input_ids"][example], cue_mask, words_of_pieces))
    return readings


def first_pieces(word_ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the piece at which each word begins, and the word."""
    previous = NO_WORD
    for piece, word in enumerate(word_ids):
        if word not in (NO_WORD, previous):
            yield piece, word
        if word != NO_WORD:
            previous = word


def word_probabilities(
    num_words: int, readings: Sequence[Sequence[int]], pieces: Sequence[Sequence[float]]
) -> list[float]:
    """Probability of each word of a sentence: the mean over its pieces in a window, and over windows.

    Args:
        num_words: words of the sentence.
        readings: `word_ids` of each window of it.
        pieces: a probability a piece, for each window.

    Returns:
        One number a word; 0.0 for a word that no window reaches or that has no pieces.
    """
    totals, windows = [0.0] * num_words, [0] * num_words
    for word_ids, probabilities in zip(readings, pieces, strict=True):
        sums: dict[int, float] = {}
        counts: dict[int, int] = {}
        for word, probability in zip(word_ids, probabilities, strict=True):
            sums[word] = sums.get(word, 0.0) + float(probability)
            counts[word] = counts.get(word, 0) + 1
        for word in sums.keys() - {NO_WORD}:
            totals[word] += sums[word] / counts[word]
            windows[word] += 1
    return [total / max(count, 1) for total, count in zip(totals, windows, strict=True)]
