"""Tiny tokenizers and models, built here: no test needs the network."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import BertTokenizer, PreTrainedTokenizerBase
from transformers.utils.logging import set_verbosity_warning

from clozeformers import BertForNegationScopeOA, BertNegationScopeOAConfig
from clozeformers.negation_scope.windows import CUE_TOKEN, add_cue_token

SPECIAL_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
WORDS = "i you we he it do does is was not no never nothing know see the a answer man door cat in out and but . , !"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "##ing", "'"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest files, so that no worker is left with one of them at the end."""
    slow = ("test_readme.py", "test_experiment.py", "test_heads.py", "test_hub.py", "test_tasks.py")
    items.sort(key=lambda item: item.path.name not in slow)


@pytest.fixture(autouse=True)
def _keep_warnings() -> Iterator[None]:
    """Undo the log levels that scripts and commands set."""
    yield
    logging.getLogger("clozeformers").setLevel(logging.NOTSET)
    set_verbosity_warning()


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
