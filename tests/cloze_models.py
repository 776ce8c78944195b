"""Tiny tokenizers, models and dictionaries of abstract cloze, built without downloads."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import torch
from datasets import Dataset
from tokenizers import pre_tokenizers, processors
from transformers import (
    AlbertTokenizer,
    BertForMultipleChoice,
    BertTokenizer,
    DebertaV2Tokenizer,
    RobertaForMultipleChoice,
    RobertaTokenizer,
    XLNetForMultipleChoice,
    XLNetTokenizer,
)

from clozeformers.abstract_cloze.recam import CLOZE_FEATURES
from clozeformers.abstract_cloze.wordnet import Glosses
from clozeformers.pipelines.abstract_cloze import AbstractClozePipeline

WORDS = "the a cat dog sat on mat is was very happy new contract him to club act of doing something and not in"
ARTICLE = "The cat sat on the mat. It was very happy, and so was the dog in the club."
QUESTION = "The cat is @placeholder to the club ."
OPTIONS = ["happy", "doing", "very new"]


class FakeReader:
    """Returns `counts[word]` definitions of a word, or one; records the calls."""

    def __init__(self, **counts: int) -> None:
        self.counts = counts
        self.asked: list[tuple[str, str]] = []

    def many(self, words: Sequence[str], sentences: Sequence[str], starts: Sequence[int]) -> list[Glosses]:
        for word, sentence, start in zip(words, sentences, starts, strict=True):
            assert sentence[start : start + len(word)] == word
            self.asked.append((word, sentence))
        return [Glosses(self.definitions(word), None) for word in words]

    def definitions(self, word: str) -> tuple[str, ...]:
        return tuple(f"the act {number} of doing {word}; new" for number in range(self.counts.get(word, 1)))


def bert_tokenizer() -> BertTokenizer:
    letters = string.ascii_lowercase + string.digits
    pieces = [*WORDS.split(), *letters, *(f"##{letter}" for letter in letters), *string.punctuation]
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces])
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(vocabulary)}, model_max_length=96)


def _sentence_pieces(*special: str) -> list[tuple[str, float]]:
    words = [(f"▁{word}", -2.0) for word in WORDS.split() if len(word) > 1]
    letters = ["▁", *string.ascii_letters, *string.digits, *string.punctuation]
    return [*((token, 0.0) for token in special), *words, *((letter, -5.0) for letter in letters)]


def albert_tokenizer() -> AlbertTokenizer:
    return AlbertTokenizer(vocab=_sentence_pieces("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"))


def deberta_tokenizer() -> DebertaV2Tokenizer:
    return DebertaV2Tokenizer(vocab=_sentence_pieces("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"), unk_id=3)


def xlnet_tokenizer() -> XLNetTokenizer:
    """Pads on the left, and ends with `<cls>`."""
    return XLNetTokenizer(vocab=_sentence_pieces("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"))


def roberta_tokenizer() -> RobertaTokenizer:
    """One piece a byte; a space belongs to the word after it."""
    merges = [("Ġ", letter) for letter in string.ascii_lowercase]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *map("".join, merges)])}
    return RobertaTokenizer(vocab=vocabulary, merges=merges)


def modernbert_tokenizer() -> RobertaTokenizer:
    """Bytes, as RoBERTa's, between the special tokens of BERT."""
    tokenizer = roberta_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


TOKENIZERS = {
    "bert": bert_tokenizer,
    "albert": albert_tokenizer,
    "deberta": deberta_tokenizer,
    "roberta": roberta_tokenizer,
    "modernbert": modernbert_tokenizer,
    "xlnet": xlnet_tokenizer,
}


def cloze_rows(*rows: dict[str, Any]) -> Dataset:
    """Rows of a corpus: default values with the given replacements."""
    usual = {"article": ARTICLE, "question": QUESTION, "options": OPTIONS, "label": 0}
    return Dataset.from_list([{"id": f"q{n}", **usual, **row} for n, row in enumerate(rows)], features=CLOZE_FEATURES)


SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
XLNET_SIZES = {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 16}


# RoBERTa has a single token type, as in the published checkpoints.
ROBERTA_SIZES = SIZES | {"max_position_embeddings": 202, "type_vocab_size": 1, "pad_token_id": 1}
MODELS: dict[str, Any] = {
    "bert": (BertForMultipleChoice, SIZES | {"max_position_embeddings": 96}),
    "roberta": (RobertaForMultipleChoice, ROBERTA_SIZES),
    "xlnet": (XLNetForMultipleChoice, XLNET_SIZES),
}


def tiny_cloze(kind: str, **arguments: Any) -> AbstractClozePipeline:
    """A pipeline around a multiple choice model with fixed random weights."""
    tokenizer = TOKENIZERS[kind]()
    torch.manual_seed(0)
    model_class, sizes = MODELS[kind]
    config = model_class.config_class(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)
    model = model_class(config).eval()
    *_, weight, _ = model.parameters()
    weight.data *= 20  # options of small models have similar logits
    return AbstractClozePipeline(model=model, tokenizer=tokenizer, task="abstract-cloze", device="cpu", **arguments)


def tiny_wn_duma(model_class: Any, **fields: Any) -> AbstractClozePipeline:
    """A pipeline around one of the library's models with fixed random weights."""
    backbone = model_class.config_class.backbone_model_type
    tokenizer = TOKENIZERS[backbone.removesuffix("-v2")]()
    sizes: dict[str, Any] = XLNET_SIZES if backbone == "xlnet" else SIZES
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
    ids = {name: getattr(tokenizer, name) for name in names}
    head = {"num_co_attention_heads": 2, "co_attention_head_size": 8, "initializer_range": 0.5}
    config = model_class.config_class(vocab_size=len(tokenizer), **ids, **head, **sizes, **fields)
    torch.manual_seed(0)
    model = model_class(config).eval()
    return AbstractClozePipeline(model=model, tokenizer=tokenizer, task="abstract-cloze", device="cpu")
