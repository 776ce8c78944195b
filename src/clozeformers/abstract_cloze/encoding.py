"""An article and a filled-in question with the definitions of its option, encoded as a pair of texts.

Travels beside a checkpoint. Source: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4" (2021), section 2; what is
truncated first is taken from the authors' published code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

from ..modeling.co_attention import END_TYPE, OPTION_TYPE
from ..text import truncate_repr
from .questions import PLACEHOLDER, ClozeQuestion
from .sentences import keep_pieces, rank_by_similarity, sentence_starts

ARTICLE_TYPE = 0
_BETWEEN_DEFINITIONS = ";"
# A filled-in question, the characters of its option, its definitions, and the word pieces of all with their offsets.
_TokenizedOption = tuple[str, tuple[int, int], Sequence[str], list[int], list[tuple[int, int]]]

# The word pieces of the sentences of an article, and which of these are kept first where not all fit.
_TokenizedArticle = tuple[list[list[int]], list[int]]


class DefinitionReader(Protocol):
    """Finds the definitions of options, as `DefinitionLookup` does."""

    def many(self, words: Sequence[str], sentences: Sequence[str], starts: Sequence[int]) -> Sequence[Any]:
        """Look up each word, which starts at this character of its sentence; the results have ``definitions``."""


class PairLayout(NamedTuple):
    """Ids of the special tokens that a tokenizer puts around the article and the option."""

    before: list[int]
    between: list[int]  # in the article's segment
    after: list[int]
    after_types: list[int]  # token types: the option's, or `END_TYPE` for a class token that ends the input

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    @property
    def class_token_is_last(self) -> bool:
        """Whether the class token ends the input, so that padding has to stand before it."""
        return END_TYPE in self.after_types


class EncodedOption(NamedTuple):
    """Model input of one option.

    Attributes:
        input_ids: word pieces.
        token_type_ids: 0 for the article and its separators, 1 for the option, its definitions and their separators, 2
            for a class token at the end.
        definitions: the definitions in it, of which the last may be truncated.
        option_mask: 1 at the pieces of the option itself.
    """

    input_ids: list[int]
    token_type_ids: list[int]
    definitions: tuple[str, ...]
    article_is_cut: bool
    definitions_are_cut: bool
    option_mask: list[int]


def pair_layout(tokenizer: Any) -> PairLayout:
    """Find out which special tokens a tokenizer adds to a pair of texts.

    Raises:
        ValueError: the tokenizer is not a fast one, or does not mark the end of both texts.
    """
    if not tokenizer.is_fast:
        raise ValueError(f"{type(tokenizer).__name__} is a slow tokenizer; load a fast one with AutoTokenizer")
    encoded = tokenizer("a", "a", padding=False, truncation=False)
    ids, parts = encoded["input_ids"], encoded.sequence_ids(0)
    (article, option), (article_end, option_end) = zip(
        *((parts.index(part), parts.index(part) + parts.count(part)) for part in (0, 1)), strict=True
    )
    before, between, after = ids[:article], ids[article_end:option], ids[option_end:]
    types = [END_TYPE if token == tokenizer.cls_token_id else OPTION_TYPE for token in after]
    if not between or OPTION_TYPE not in types:
        raise ValueError(
            f"{type(tokenizer).__name__} encodes the pair of texts 'a' and 'a' as "
            f"{' '.join(tokenizer.convert_ids_to_tokens(ids))!r}; abstract cloze needs a tokenizer that ends each of "
            "the two with a separator, as those of BERT, ALBERT, RoBERTa, DeBERTa, XLNet and ModernBERT do"
        )
    return PairLayout(before, between, after, types)


def check_separators(layout: PairLayout, expected: int, model: str) -> None:
    """Raise a ValueError unless the tokenizer puts as many separators after the article as the model expects."""
    if len(layout.between) != expected:
        raise ValueError(
            f"the tokenizer puts {len(layout.between)} separators between article and option, but {model} expects "
            f"{expected}; use the tokenizer of the model's own encoder"
        )


def check_max_length(max_length: Any, layout: PairLayout) -> None:
    """Raise a TypeError or ValueError unless `max_length` leaves room beside the special tokens."""
    if not isinstance(max_length, int) or isinstance(max_length, bool):
        raise TypeError(f"the maximum length is {truncate_repr(max_length)} word pieces; it must be a whole number")
    if max_length <= layout.size:
        raise ValueError(f"the maximum length is {max_length} word pieces, {layout.size} of which are special tokens")


def truncated_lengths(article: int, option: int, definitions: int, room: int) -> tuple[int, int]:
    """Choose how many word pieces of an article and of definitions to keep beside an option that is never truncated.

    While the three are longer than `room`, which is at least `option`, one piece is dropped: from the definitions if
    they are longer than the option, else from the article if it is longer than twice the definitions, else from the
    definitions.

    Returns:
        The numbers of pieces of the article and of the definitions to keep.
    """
    while article + option + definitions > room:
        if definitions > option or article <= 2 * definitions:
            definitions -= 1
        else:
            article -= 1
    return article, definitions


def find_definitions(
    questions: Sequence[ClozeQuestion], reader: DefinitionReader | None
) -> list[list[tuple[str, ...]]]:
    """Look up the definitions of each option of each question; empty without a reader."""
    if reader is None:
        return [[()] * len(question.options) for question in questions]
    words = [word for question in questions for word in question.words]
    sentences = [sentence for question in questions for sentence in question.sentences]
    starts = [question.start for question in questions for _ in question.options]
    found = iter(reader.many(words, sentences, starts))
    return [[tuple(next(found).definitions) for _ in question.options] for question in questions]


def encode_questions(
    tokenizer: Any,
    questions: Sequence[ClozeQuestion],
    definitions: Sequence[Sequence[Sequence[str]]],
    max_length: int,
    names: Sequence[str],
    *,
    article_sentences: str = "first",
) -> list[list[EncodedOption]]:
    """Encode questions, each option as a pair: the article, and the filled-in question with the option's definitions.

    Args:
        tokenizer: a fast tokenizer.
        questions: what to encode.
        definitions: for each option of each question its definitions, possibly none.
        max_length: maximum number of word pieces of an input, including special tokens; see `truncated_lengths`.
        names: what to call each question in an error.
        article_sentences: what is kept of a long article: the `"first"` sentences, or those `"similar"` to the
            question, in the order of the article.

    Raises:
        TypeError, ValueError: `max_length` leaves no room, a filled-in question does not fit or has no word piece, or
            the tokenizer is unsuitable.
    """
    layout = pair_layout(tokenizer)
    check_max_length(max_length, layout)
    articles = _tokenize_articles(tokenizer, questions, article_sentences == "similar")
    sentences = [sentence for question in questions for sentence in question.sentences]
    spans = [(question.start, question.start + len(word)) for question in questions for word in question.words]
    glosses = [found for of_question in definitions for found in of_question]
    joined = map(_BETWEEN_DEFINITIONS.join, glosses)
    texts = [f"{sentence} {gloss}" if gloss else sentence for sentence, gloss in zip(sentences, joined, strict=True)]
    tokenized = _tokenize(tokenizer, texts, return_offsets_mapping=True)
    options = zip(sentences, spans, glosses, tokenized["input_ids"], tokenized["offset_mapping"], strict=True)
    room = max_length - layout.size
    return [
        [
            _encode_option(f"{name}: with option {n}, {truncate_repr(word)}", layout, room, article, next(options))
            for n, word in enumerate(question.words)
        ]
        for question, article, name in zip(questions, articles, names, strict=True)
    ]


def _tokenize(tokenizer: Any, texts: Sequence[str], **options: Any) -> Any:
    return tokenizer(texts, add_special_tokens=False, padding=False, truncation=False, verbose=False, **options)


def _tokenize_articles(
    tokenizer: Any, questions: Sequence[ClozeQuestion], by_similarity: bool
) -> list[_TokenizedArticle]:
    texts = [question.article.strip() for question in questions]
    tokenized = _tokenize(tokenizer, texts, return_offsets_mapping=by_similarity)
    if not by_similarity:
        return [([ids], [0]) for ids in tokenized["input_ids"]]
    articles = []
    for text, question, ids, offsets in zip(
        texts, questions, tokenized["input_ids"], tokenized["offset_mapping"], strict=True
    ):
        starts = sentence_starts(text)
        firsts, ends = zip(*offsets, strict=True) if offsets else ((), ())
        cuts = [*(min(bisect_left(firsts, start), bisect_right(ends, start)) for start in starts), len(ids)]
        sentences = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
        order = rank_by_similarity(sentences, question.question.replace(PLACEHOLDER, " "))
        articles.append(([ids[first:last] for first, last in pairwise(cuts)], order))
    return articles


def article_spans(
    tokenizer: Any, question: ClozeQuestion, count: int, *, article_sentences: str
) -> list[tuple[int, int]]:
    """The characters, in the article, of the first `count` word pieces that `encode_questions` keeps of it."""
    [(sentences, order)] = _tokenize_articles(tokenizer, [question], article_sentences == "similar")
    stripped = question.article.strip()
    offsets = _tokenize(tokenizer, [stripped], return_offsets_mapping=True)["offset_mapping"][0]
    ends = [0, *accumulate(map(len, sentences))]
    kept = keep_pieces([range(start, end) for start, end in pairwise(ends)], order, count)
    before = question.article.index(stripped)
    return [(before + offsets[piece][0], before + offsets[piece][1]) for piece in kept]


def _encode_option(
    name: str, layout: PairLayout, room: int, article: _TokenizedArticle, option: _TokenizedOption
) -> EncodedOption:
    sentence, (start, stop), definitions, ids, offsets = option
    num_sentence = sum(first < len(sentence) for first, _ in offsets)
    if not num_sentence:
        raise ValueError(f"{name}, the question has no word piece at all; give words that the tokenizer knows")
    if num_sentence > room:
        raise ValueError(
            f"{name}, the question has {num_sentence} pieces, and {room} fit beside the special tokens; it is never "
            "truncated, so raise max_length (max_option_length) or shorten the question"
        )
    # The pieces beyond the room do not matter: those of the definitions and of the article are dropped first.
    length = sum(map(len, article[0]))
    num_article, num_definitions = truncated_lengths(
        min(length, room + 1), num_sentence, min(len(ids) - num_sentence, room + 1), room
    )
    end = num_sentence + num_definitions
    input_ids = [*layout.before, *keep_pieces(*article, num_article), *layout.between, *ids[:end], *layout.after]
    num_article_type = len(layout.before) + num_article + len(layout.between)
    token_type_ids = [ARTICLE_TYPE] * num_article_type + [OPTION_TYPE] * end + layout.after_types
    num_characters = offsets[end - 1][1] - len(sentence) - 1 if num_definitions else 0
    read = _truncated_definitions(definitions, num_characters)
    own = [int(first < stop and last > start) for first, last in offsets[:end]]
    option_mask = [0] * num_article_type + own + [0] * len(layout.after)
    return EncodedOption(input_ids, token_type_ids, read, num_article < length, end < len(ids), option_mask)


def _truncated_definitions(definitions: Sequence[str], num_characters: int) -> tuple[str, ...]:
    """Return the definitions within the first characters of their joined text."""
    read = []
    for definition in definitions:
        if num_characters > 0:
            read.append(definition[:num_characters])
        num_characters -= len(definition) + len(_BETWEEN_DEFINITIONS)
    return tuple(read)
