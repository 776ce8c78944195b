"""Tiny tokenizers and models, built here: no test needs the network."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants, hf_api
from transformers import BertTokenizer, PreTrainedTokenizerBase
from transformers.utils.logging import enable_progress_bar, set_verbosity_warning

from clozeformers import BertForNegationScopeOA, BertNegationScopeOAConfig
from clozeformers.negation_scope.windows import CUE_TOKEN, add_cue_token
from clozeformers.training import pretrained

from .hub_server import HubServer, running_hub
from .wordnet_files import write_wordnet

SPECIAL_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
WORDS = "i you we he it do does is was not no never nothing know see the a answer man door cat in out and but . , !"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
torch.set_num_threads(1)  # also without make: two threads round otherwise than one
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "##ing", "'"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest files, so that no worker is left with one of them at the end."""
    slow = ("test_readme.py", "test_experiment.py", "test_heads.py", "test_hub.py", "test_tasks.py")
    items.sort(key=lambda item: item.path.name not in slow)


@pytest.fixture(autouse=True)
def _keep_warnings() -> Iterator[None]:
    """Undo the log levels that scripts and commands set, and show their progress bars again."""
    yield
    enable_progress_bar()
    logging.getLogger("clozeformers").setLevel(logging.NOTSET)
    set_verbosity_warning()


@pytest.fixture(autouse=True)
def _no_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hide the WordNet of this machine, except from tests that read real corpora."""
    if request.node.get_closest_marker("corpora") is None:
        monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path_factory.getbasetemp() / "no-home"))


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


@pytest.fixture
def wordnet_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small WordNet where the library looks for it."""
    home = tmp_path_factory.mktemp("home")
    write_wordnet(home / "corpora" / "wordnet")
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(home))


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub of this process, with an empty cache and a user who is logged in; its clients do not sleep."""
    with running_hub() as server:
        values = {"ENDPOINT": server.endpoint, "HF_HUB_CACHE": str(tmp_path_factory.mktemp("hub"))}
        values["HUGGINGFACE_CO_URL_TEMPLATE"] = f"{server.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for name, value in values.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(hf_api.api, "endpoint", server.endpoint)
        monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        monkeypatch.setenv("HF_TOKEN", "hf_owner")
        monkeypatch.setattr(time, "sleep", server.sleeps.append)
        pretrained._reaches_hub.cache_clear()
        yield server
