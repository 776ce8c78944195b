"""An article and a filled-in question with the definitions of its option, as a model's input.

Needs only a fast tokenizer, so that it can travel beside a checkpoint. Source: Jiang et al., "XRJL-HKUST at
SemEval-2021 Task 4: WordNet-Enhanced Dual Multi-head Co-Attention for Reading Comprehension of Abstract Meaning",
section 2; what is cut first is not in the paper, but in the code that its authors published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..negation_scope.windows import require_fast
from .questions import ClozeQuestion

ARTICLE_TYPE, OPTION_TYPE, END_TYPE = 0, 1, 2
_BETWEEN_DEFINITIONS = ";"
_BEFORE_DEFINITIONS = " "

Integers = NDArray[np.integer[Any]]


class FoundDefinitions(Protocol):
    """What a reader of definitions finds for one option."""

    @property
    def definitions(self) -> tuple[str, ...]:
        """The definitions, the usual meaning first; empty where there are none."""
        ...


class DefinitionReader(Protocol):
    """What finds the definitions of options, such as `clozeformers.abstract_cloze.wordnet.OptionReader`."""

    def many(self, words: Sequence[str], sentences: Sequence[str], starts: Sequence[int]) -> Sequence[FoundDefinitions]:
        """Look each word up as what it is in its sentence, in which it begins at this character."""
        ...


class PairLayout(NamedTuple):
    """The special tokens that a tokenizer puts around the article and the option.

    Attributes:
        before: ids before the article.
        between: ids between the two, which count as the article's.
        after: ids after the option.
        after_types: their token types: that of the option, but for a class token that ends the input.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    after_types: list[int]

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return len(self.before) + len(self.between) + len(self.after)

    @property
    def class_token_is_last(self) -> bool:
        """Whether the class token ends the input, so that padding has to stand before it."""
        return END_TYPE in self.after_types


class EncodedOption(NamedTuple):
    """An option as the model reads it.

    Attributes:
        input_ids: ``[L]``.
        token_type_ids: ``[L]``: 0 on the article and what ends it, 1 on the option, its definitions and what ends them,
            2 on a class token at the end.
        definitions: the definitions that are in it, the last one as far as it is.
        article_is_cut: whether the end of the article was left out.
        definitions_are_cut: whether the end of the definitions was left out.
    """

    input_ids: Integers
    token_type_ids: Integers
    definitions: tuple[str, ...]
    article_is_cut: bool
    definitions_are_cut: bool


class _Pieces(NamedTuple):
    """The pieces of a text in two parts; of the second, only so many were looked for as can be read."""

    ids: Integers
    ends: Integers  # the character of the text behind each piece
    num_first: int  # pieces of the first part


def pair_layout(tokenizer: Any) -> PairLayout:
    """Read off a pair what special tokens a tokenizer adds, and where.

    Args:
        tokenizer: a fast tokenizer.

    Raises:
        ValueError: for a tokenizer that is not fast, or does not mark the end of both texts of a pair.
    """
    require_fast(tokenizer)
    encoded = tokenizer(["a"], ["a"], padding=False, truncation=False, verbose=False)
    ids, texts = encoded["input_ids"][0], encoded.sequence_ids(0)
    bounds = [texts.index(number) + end for number in (0, 1) for end in (0, texts.count(number)) if number in texts]
    if len(bounds) == 4:
        before, between, after = ids[: bounds[0]], ids[bounds[1] : bounds[2]], ids[bounds[3] :]
        types = [END_TYPE if token == tokenizer.cls_token_id else OPTION_TYPE for token in after]
        if between and OPTION_TYPE in types:
            return PairLayout(before, between, after, types)
    shown = " ".join(tokenizer.convert_ids_to_tokens(ids))
    raise ValueError(
        f"{type(tokenizer).__name__} encodes the pair of texts 'a' and 'a' as {shown!r}; abstract cloze needs a "
        "tokenizer that ends each of the two with a separator, as those of BERT, ALBERT, RoBERTa, DeBERTa, XLNet and "
        "ModernBERT do"
    )


def check_separators(layout: PairLayout, expected: int, model: str) -> None:
    """Raise a ValueError if the tokenizer ends the article otherwise than the model takes it to.

    Args:
        layout: the tokenizer's.
        expected: how many separators the model finds behind the article.
        model: its name, for the error.
    """
    if len(layout.between) != expected:
        raise ValueError(
            f"the tokenizer puts {len(layout.between)} separators between article and option, but {model} expects "
            f"{expected}; use the tokenizer of the model's own encoder"
        )


def cut_lengths(article: Integers, option: Integers, definitions: Integers, room: int) -> tuple[Integers, Integers]:
    """Choose how much of articles and definitions is read with options that are never cut.

    As long as the three together are too long, one piece more is left out: of the definitions, if they are longer than
    the option; else of the article, if it is longer than twice the definitions; else of the definitions.

    Args:
        article: pieces of each article, ``[N]``.
        option: pieces of each filled-in question, ``[N]``, at most `room`.
        definitions: pieces of the definitions of each, ``[N]``.
        room: pieces that can be read of the three together.

    Returns:
        The pieces of article and definitions that are read, ``[N]`` each.
    """
    # The first rule, until it no longer holds; then the second.
    excess = np.maximum(article + option + definitions - room, 0)
    shorter_definitions = definitions - np.minimum(excess, np.maximum(definitions - option, 0))
    excess -= definitions - shorter_definitions
    shorter_article = article - np.minimum(excess, np.maximum(article - 2 * shorter_definitions, 0))
    excess -= article - shorter_article
    # From here on the third rule holds whenever the second does not: first definitions alone, then two pieces of the
    # article with each piece of them.
    left = room - option
    last_definitions = np.maximum(left - shorter_article, left // 3)
    is_last = excess > 0
    return (
        np.where(is_last, left - last_definitions, shorter_article),
        np.where(is_last, last_definitions, shorter_definitions),
    )


def find_definitions(
    questions: Sequence[ClozeQuestion], reader: DefinitionReader | None
) -> list[list[tuple[str, ...]]]:
    """Look up every option in its sentence.

    Args:
        questions: the questions.
        reader: what finds definitions; None for no definitions.

    Returns:
        For each question, for each option, its definitions.
    """
    if reader is None:
        return [[()] * len(question.options) for question in questions]
    found = iter(
        reader.many(
            [word for question in questions for word in question.words],
            [sentence for question in questions for sentence in question.sentences],
            [question.start for question in questions for _ in question.options],
        )
    )
    return [[tuple(next(found).definitions) for _ in question.options] for question in questions]


def encode_questions(
    tokenizer: Any,
    questions: Sequence[ClozeQuestion],
    definitions: Sequence[Sequence[Sequence[str]]],
    max_length: int,
    names: Sequence[str],
) -> list[list[EncodedOption]]:
    """Turn questions into model inputs, one an option.

    Args:
        tokenizer: a fast tokenizer.
        questions: the questions.
        definitions: for each option of each question its definitions, which are joined by ``;`` and stand behind the
            question; none for none.
        max_length: most pieces in an input, special tokens included.
        names: what to call each question in an error.

    Returns:
        For each question its options.

    Raises:
        TypeError, ValueError: for a `max_length` that leaves no room; a filled-in question that does not fit, or has no
            piece at all; a tokenizer that does not do.
    """
    layout = pair_layout(tokenizer)
    check_max_length(max_length, layout)
    room = max_length - layout.size
    articles = _tokenise(tokenizer, [""] * len(questions), [question.article.strip() for question in questions], room)
    owners = [number for number, question in enumerate(questions) for _ in question.options]
    sentences = [sentence for question in questions for sentence in question.sentences]
    options = _tokenise(
        tokenizer,
        sentences,
        [_BETWEEN_DEFINITIONS.join(found) for of_question in definitions for found in of_question],
        room,
    )
    article_lengths = np.array([len(articles[owner].ids) for owner in owners], dtype=np.int64)
    option_lengths = np.array([option.num_first for option in options], dtype=np.int64)
    all_lengths = np.array([len(option.ids) for option in options], dtype=np.int64)
    _check_option_lengths(option_lengths, room, questions, names)
    kept_articles, kept_definitions = cut_lengths(article_lengths, option_lengths, all_lengths - option_lengths, room)
    encoded: list[list[EncodedOption]] = [[] for _ in questions]
    for number, owner in enumerate(owners):
        place = len(encoded[owner])
        kept = int(option_lengths[number] + kept_definitions[number])
        input_ids, token_type_ids = _assemble(
            layout, articles[owner].ids[: kept_articles[number]], options[number].ids[:kept]
        )
        begin = len(sentences[number]) + len(_BEFORE_DEFINITIONS)
        read = int(options[number].ends[kept - 1]) - begin if kept_definitions[number] else 0
        encoded[owner].append(
            EncodedOption(
                input_ids,
                token_type_ids,
                _read_part(definitions[owner][place], read),
                bool(kept_articles[number] < article_lengths[number]),
                bool(kept < all_lengths[number]),
            )
        )
    return encoded


def check_max_length(max_length: Any, layout: PairLayout) -> None:
    """Raise a TypeError or ValueError unless at least one piece of an option fits beside the special tokens."""
    if not isinstance(max_length, int) or isinstance(max_length, bool):
        raise TypeError(f"the longest input is {max_length!r} pieces; it must be a whole number")
    if max_length <= layout.size:
        raise ValueError(f"the longest input is {max_length} pieces; {layout.size} of them are special tokens already")


def _check_option_lengths(
    lengths: Integers, room: int, questions: Sequence[ClozeQuestion], names: Sequence[str]
) -> None:
    wrong = np.flatnonzero((lengths > room) | (lengths == 0))
    if not len(wrong):
        return
    first = int(wrong[0])
    places = [(number, place) for number, question in enumerate(questions) for place in range(len(question.options))]
    number, place = places[first]
    option = f"{names[number]}: with option {place}, {questions[number].words[place]!r:.80}, the question"
    if not lengths[first]:
        raise ValueError(f"{option} has no word piece at all; give one with words that the tokenizer knows")
    raise ValueError(
        f"{option} has {lengths[first]} pieces, and {room} fit beside the special tokens; it is never cut, so raise "
        "the longest input (max_length, max_option_length) or shorten the question"
    )


def _tokenise(tokenizer: Any, firsts: Sequence[str], seconds: Sequence[str], most: int) -> list[_Pieces]:
    """Tokenise texts in two parts, the second no further than gives more than `most` pieces where it has them."""
    found: dict[int, _Pieces] = {}
    waiting = list(range(len(firsts)))
    # A word is a piece or more, but for words that a tokenizer drops: where it does, more words are tried.
    num_words = most + 1
    while waiting:
        heads = [_head(seconds[number], num_words) for number in waiting]
        encoded = tokenizer(
            [_joined(firsts[number], head) for number, head in zip(waiting, heads, strict=True)],
            add_special_tokens=False,
            padding=False,
            truncation=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        more = []
        for number, head, ids, offsets in zip(
            waiting, heads, encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            spans = np.array(offsets, dtype=np.int64).reshape(-1, 2)
            num_first = int(np.count_nonzero(spans[:, 0] < len(firsts[number])))
            found[number] = _Pieces(np.array(ids, dtype=np.int64), spans[:, 1], num_first)
            if len(head) < len(seconds[number]) and len(ids) - num_first <= most:
                more.append(number)
        waiting = more
        num_words *= 4
    return [found[number] for number in range(len(firsts))]


def _head(text: str, num_words: int) -> str:
    """The first words of a text; the whole text where it has no more."""
    parts = text.split(None, num_words)
    return text if len(parts) <= num_words else text[: len(text) - len(parts[-1])].rstrip()


def _joined(first: str, second: str) -> str:
    return f"{first}{_BEFORE_DEFINITIONS}{second}" if first and second else first + second


def _assemble(layout: PairLayout, article: Integers, option: Integers) -> tuple[Integers, Integers]:
    """Put the special tokens around an article and an option with its definitions."""
    input_ids = np.concatenate([layout.before, article, layout.between, option, layout.after]).astype(np.int32)
    types = [ARTICLE_TYPE, OPTION_TYPE]
    lengths = [len(layout.before) + len(article) + len(layout.between), len(option)]
    token_type_ids = np.concatenate([np.repeat(types, lengths), layout.after_types]).astype(np.int8)
    return input_ids, token_type_ids


def _read_part(definitions: Sequence[str], num_characters: int) -> tuple[str, ...]:
    """The definitions that the first characters of their joined text hold."""
    read = []
    for definition in definitions:
        if num_characters > 0:
            read.append(definition[:num_characters])
        num_characters -= len(definition) + len(_BETWEEN_DEFINITIONS)
    return tuple(read)
