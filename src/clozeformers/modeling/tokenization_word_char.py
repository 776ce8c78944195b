"""A tokenizer of whole words and their characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from tokenizers import Encoding, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing
from transformers import BatchEncoding, PreTrainedTokenizerFast

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PADDING_CHARACTER_ID, UNKNOWN_CHARACTER_ID = 0, 1
FIRST_CHARACTER_ID = 2

# Hyphens, dashes and number separators are tokens: an answer may begin or end at any of them. Contractions and clitics
# are split as in the Penn Treebank ("is" + "n't", "Tesla" + "'s"), as published word vectors expect.
_WORD = r"""(?x)
    (?i: \w+? (?= n['’]t (?!\w) ) | n['’]t (?!\w) | ['’] (?: s|re|ve|ll|d|m ) (?!\w) )
  | (?: \p{L} \. ){2,}                                  # U.S.
  | \w+
  | [^\w\s]                                             # any other symbol
"""
_SPLIT = Split(Regex(_WORD), behavior="removed", invert=True)
_CACHE_SIZE = 2**17


class WordCharTokenizer(PreTrainedTokenizerFast):
    """Splits text into words and symbols, and returns `char_ids` beside `input_ids`.

    One text is encoded as `[CLS] text [SEP]`, a pair as `[CLS] question [SEP] context [SEP]`, with `token_type_ids` 1
    for `context [SEP]`. `char_ids` holds the ids of the first `max_word_length` characters of each token: 0 is padding,
    1 the unknown character; special tokens have zeros only. Special tokens in a text are split like any other words.

    Args:
        vocab: word ids, of which 0 to 3 are `SPECIAL_TOKENS`; None for these only.
        characters: the known characters; the first has id 2.
        lowercase: look up words in lower case, for uncased vectors. Characters keep their case.
        max_word_length: number of characters kept per word (W).
        **kwargs: arguments of `PreTrainedTokenizerFast`, such as `model_max_length`.

    Raises:
        ValueError: if `max_word_length` is below 1 or the vocabulary does not begin with the special tokens.
    """

    model_input_names = ["input_ids", "attention_mask", "token_type_ids", "char_ids"]  # noqa: RUF012

    def __init__(
        self,
        vocab: Mapping[str, int] | None = None,
        characters: str = "",
        lowercase: bool = False,
        max_word_length: int = 16,
        **kwargs: Any,
    ) -> None:
        if max_word_length < 1:
            raise ValueError(f"max_word_length is {max_word_length!r}; a word needs at least 1 character")
        self._tokenizer = _backend(_vocabulary(()) if vocab is None else vocab, lowercase)
        self.characters = characters
        self.lowercase = lowercase
        self.max_word_length = max_word_length
        self._character_ids = {character: number for number, character in enumerate(characters, FIRST_CHARACTER_ID)}
        # `datasets` excludes an attribute of this name from its fingerprints.
        self.cache: dict[str, tuple[int, ...]] = {}
        names = ("pad_token", "unk_token", "cls_token", "sep_token")
        super().__init__(
            characters=characters,
            lowercase=lowercase,
            max_word_length=max_word_length,
            **{"split_special_tokens": True, **dict(zip(names, SPECIAL_TOKENS, strict=True)), **kwargs},
        )

    @classmethod
    def train_from_texts(
        cls,
        texts: Iterable[str],
        *,
        min_frequency: int = 1,
        lowercase: bool = False,
        max_word_length: int = 16,
        words: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> WordCharTokenizer:
        """Build a vocabulary of words and characters, by frequency, then by code point.

        Args:
            texts: iterated once.
            min_frequency: rarer words and characters are unknown.
            lowercase: as of the class.
            max_word_length: as of the class.
            words: restrict the vocabulary to these, such as those that have a vector; lower case if `lowercase`.
            **kwargs: as of the class.

        Raises:
            TypeError: if `texts` is a string.
            ValueError: if no word is left, or for a wrong `max_word_length`.
        """
        surfaces = _count_words(texts)
        characters: Counter[str] = Counter()
        frequencies: Counter[str] = Counter()
        for surface, frequency in surfaces.items():
            frequencies[_lower(surface) if lowercase else surface] += frequency
            for character in surface:
                characters[character] += frequency
        allowed = frequencies.keys() if words is None else set(words)
        known = [word for word in _most_frequent(frequencies, min_frequency) if word in allowed]
        if not known:
            filters = "" if words is None else f", and is among the {len(allowed)} of `words`"
            raise ValueError(
                f"none of the {len(frequencies)} words in `texts` occurs at least {min_frequency} times{filters}; "
                "give more texts, or a lower min_frequency"
            )
        return cls(
            _vocabulary(known),
            characters="".join(_most_frequent(characters, min_frequency)),
            lowercase=lowercase,
            max_word_length=max_word_length,
            **kwargs,
        )

    @property
    def character_vocab_size(self) -> int:
        """Number of character ids, including padding and unknown."""
        return FIRST_CHARACTER_ID + len(self.characters)

    def unknown_words(self, texts: Iterable[str]) -> list[str]:
        """Return the distinct words of the texts that are not in the vocabulary, in order of appearance."""
        known = self.get_vocab()
        looked_up = map(_lower, texts) if self.lowercase else texts
        split = (word for text in looked_up for word, _ in _SPLIT.pre_tokenize_str(text))
        return [word for word in dict.fromkeys(split) if word not in known]

    def add_words(self, texts: Iterable[str]) -> int:
        """Append the unknown words of the texts to the vocabulary, and return their number.

        Raises:
            ValueError: if `add_tokens` has taken the ids after the words.
        """
        vocab = self._tokenizer.get_vocab(with_added_tokens=False)
        if len(self) != len(vocab):
            raise ValueError(
                f"the tokens {', '.join(sorted(self.get_vocab().keys() - vocab))} have the ids after the words; call "
                "add_words(...) before add_tokens(...)"
            )
        new = self.unknown_words(texts)
        vocab |= {word: number for number, word in enumerate(new, len(vocab))}
        self._tokenizer.model = WordLevel(vocab, unk_token=self.unk_token)
        return len(new)

    def _encode_plus(
        self, text: Any, text_pair: Any = None, *args: Any, return_tensors: Any = None, **kwargs: Any
    ) -> BatchEncoding:
        if kwargs.get("is_split_into_words"):
            raise ValueError("WordCharTokenizer splits texts into words itself; give texts, not lists of words")
        output = super()._encode_plus(text, text_pair, *args, return_tensors=return_tensors, **kwargs)
        is_batched = isinstance(text, (list, tuple))
        if not is_batched:
            text, text_pair = [text], None if text_pair is None else [text_pair]
        if text_pair is None:
            samples = [(sample,) if isinstance(sample, str) else sample for sample in text]
        else:
            samples = [*zip(text, text_pair, strict=True)]
        owners = output.get("overflow_to_sample_mapping", range(len(output.encodings)))
        char_ids: Any = [
            self._char_ids(encoding, samples[int(owner)])
            for encoding, owner in zip(output.encodings, owners, strict=True)
        ]
        if return_tensors is not None:
            return _add_tensor(output, char_ids, return_tensors)
        is_list = is_batched or "overflow_to_sample_mapping" in output
        output["char_ids"] = char_ids if is_list else char_ids[0]
        return output

    def _char_ids(self, encoding: Encoding, sample: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the character ids of one window ``[L, W]``; special tokens and padding have empty offsets."""
        places = zip(encoding.type_ids, encoding.offsets, strict=True)
        surfaces = [sample[sequence][start:end] for sequence, (start, end) in places]
        cache = self.cache
        # Tuples, which repeated words share.
        return [cache.get(surface) or self._remember(surface) for surface in surfaces]

    def _remember(self, surface: str) -> tuple[int, ...]:
        if len(self.cache) >= _CACHE_SIZE:
            self.cache.clear()
        kept = surface[: self.max_word_length]
        row = [self._character_ids.get(character, UNKNOWN_CHARACTER_ID) for character in kept]
        row += [PADDING_CHARACTER_ID] * (self.max_word_length - len(kept))
        return self.cache.setdefault(surface, tuple(row))

    def pad(self, encoded_inputs: Any, *args: Any, return_tensors: Any = None, **kwargs: Any) -> BatchEncoding:
        """As the base class; `char_ids` are padded with rows of zeros."""
        padded = super().pad(encoded_inputs, *args, **kwargs)
        if return_tensors is None or len(padded["input_ids"]) == 0:
            return padded
        char_ids = padded.pop("char_ids", None)
        padded.convert_to_tensors(return_tensors)
        return padded if char_ids is None else _add_tensor(padded, char_ids, return_tensors)

    def _pad(self, encoded_inputs: Any, *args: Any, padding_side: str | None = None, **kwargs: Any) -> Any:
        padded = super()._pad(encoded_inputs, *args, padding_side=padding_side, **kwargs)
        rows = padded.get("char_ids")
        if rows is not None:
            missing = len(padded["input_ids"]) - len(rows)
            padding = [(PADDING_CHARACTER_ID,) * self.max_word_length] * missing
            rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
            padded["char_ids"] = rows + padding if (padding_side or self.padding_side) == "right" else padding + rows
        return padded


def _add_tensor(output: BatchEncoding, char_ids: Any, return_tensors: Any) -> BatchEncoding:
    # numpy converts nested lists several times as fast as torch.
    output.update(BatchEncoding({"char_ids": np.asarray(char_ids, dtype=np.int64)}, tensor_type=return_tensors))
    return output


def _vocabulary(words: Iterable[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate([*SPECIAL_TOKENS, *words])}


def _backend(vocab: Mapping[str, int], lowercase: bool) -> Tokenizer:
    """Build the backend tokenizer."""
    if [vocab.get(token) for token in SPECIAL_TOKENS] != [0, 1, 2, 3]:
        found = ", ".join(f"{token}: {vocab.get(token)}" for token in SPECIAL_TOKENS)
        raise ValueError(f"the ids of the special tokens are {found}; they must be 0, 1, 2, 3 in this order")
    _, unknown, cls, sep = SPECIAL_TOKENS
    backend = Tokenizer(WordLevel(dict(vocab), unk_token=unknown))
    if lowercase:
        backend.normalizer = Lowercase()
    backend.pre_tokenizer = _SPLIT
    backend.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocab[cls]), (sep, vocab[sep])],
    )
    return backend


def _lower(word: str) -> str:
    # Unlike `str.lower`, the backend has no final sigma.
    return Lowercase().normalize_str(word)


def _count_words(texts: Iterable[str]) -> Counter[str]:
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts!r:.80}; give a list of strings")
    return Counter(word for text in texts for word, _ in _SPLIT.pre_tokenize_str(text))


def _most_frequent(counts: Counter[str], min_frequency: int) -> list[str]:
    return sorted((key for key, count in counts.items() if count >= min_frequency), key=lambda key: (-counts[key], key))
