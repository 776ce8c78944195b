"""Tiny encoders and corpora that the training tests build for themselves."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, XLNetConfig, XLNetModel, set_seed

from clozeformers.data.demo_corpus import generate_demo_corpus
from clozeformers.data.negation_jsonl import write_negation_jsonl

ROOT = Path(__file__).parents[2]
SPECIAL_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


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


def load_script(name: str) -> ModuleType:
    """A script of `run_glue_style/` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "run_glue_style" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """`run_glue_style/run_negation_scope.py` as a module."""
    return load_script("run_negation_scope")
