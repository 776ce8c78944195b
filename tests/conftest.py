"""Tiny tokenizers and models, built here: no test needs the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    XLNetConfig,
    XLNetModel,
    set_seed,
)

from clozeformers import BertForNegationScopeOA, BertNegationScopeOAConfig
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.negation_scope.demo_corpus import generate_demo_corpus
from clozeformers.negation_scope.windows import CUE_TOKEN, add_cue_token

from .scripts import load_script

SPECIAL_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
WORDS = "i you we he it do does is was not no never nothing know see the a answer man door cat in out and but . , !"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "##ing", "'"]


def build_tokenizer() -> PreTrainedTokenizerBase:
    """A WordPiece tokenizer that knows a few words, and splits any other into letters."""
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split(), *PIECES])
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(vocabulary)}, model_max_length=64)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> PreTrainedTokenizerBase:
    """A WordPiece tokenizer with the cue token; not to be changed."""
    tokenizer = build_tokenizer()
    add_cue_token(tokenizer)
    return tokenizer


@pytest.fixture(scope="session")
def tiny_model_folder(tiny_tokenizer: PreTrainedTokenizerBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved `BertForNegationScopeOA` of random weights, with its tokenizer; not to be changed."""
    torch.manual_seed(0)
    config = BertNegationScopeOAConfig(
        vocab_size=len(tiny_tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=16,
        max_position_embeddings=64,
        pad_token_id=tiny_tokenizer.pad_token_id,
        cue_token=CUE_TOKEN,
    )
    folder = tmp_path_factory.mktemp("tiny-model")
    BertForNegationScopeOA(config).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], Path]:
    """Write a generated corpus of so many sentences with a seed, and return its file."""
    folder = tmp_path_factory.mktemp("corpora")

    def write(sentences: int, seed: int) -> Path:
        path = folder / f"demo-{sentences}-{seed}.jsonl"
        if not path.exists():
            write_negation_jsonl(generate_demo_corpus(sentences, seed), path)
        return path

    return write


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Untrained encoders with tokenizers: `bert` (hidden size 24) and `xlnet` (32), without dropout."""
    set_seed(0)
    words = sorted({word for row in generate_demo_corpus(500, 0) for word in row["tokens"]})
    vocabulary = {word: number for number, word in enumerate([*SPECIAL_TOKENS.values(), *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    sizes = {"bert": 24, "xlnet": 32}
    built = {
        "bert": BertModel(
            BertConfig(
                vocab_size=len(vocabulary),
                hidden_size=sizes["bert"],
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=32,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                pad_token_id=0,
            )
        ),
        "xlnet": XLNetModel(
            XLNetConfig(
                vocab_size=len(vocabulary), d_model=sizes["xlnet"], n_head=2, n_layer=1, d_inner=32, dropout=0.0
            )
        ),
    }
    folders = {}
    for name, model in built.items():
        folders[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(folders[name])
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL_TOKENS).save_pretrained(folders[name])
    return folders


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """`run_glue_style/run_negation_scope.py` as a module."""
    return load_script("run_negation_scope")
