"""Small files in the format of ReCAM, a dictionary and encoders that the tests of abstract cloze make."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AlbertModel, BertModel, PreTrainedTokenizerFast, RobertaModel, set_seed

from .wordnet_files import write_wordnet

RIGHT = ["sunny", "calm", "bright", "gentle", "warm"]
WRONG = ["grim", "cold", "dark", "bitter", "loud", "stormy"]
PLACES = ["harbour", "market", "valley", "school", "garden", "station"]
PEOPLE = ["ada", "bruno", "clara", "dmitri", "elena", "farid"]
OTHERS = (
    "the a in it was day at said on monday when they came home a walk through . , ; of weather light state mind kind "
    "sky council closed library because had no money left town lost its for reasons financial musical medical"
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MODELS: dict[str, Any] = {"bert": BertModel, "roberta": RobertaModel, "albert": AlbertModel}


def real_file(path: str) -> Path:
    """A file of the real corpora; skips the test without them."""
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip(f"CLOZEFORMERS_CORPORA does not name a folder that holds {path}")
    return Path(folder, path)


def recam_rows(questions: int, seed: int, options: tuple[int, ...] = (5,)) -> list[dict[str, Any]]:
    """Questions about different articles, whose right option is one of `RIGHT`, with so many options in turn."""
    generator = random.Random(seed)
    rows = []
    for number in range(questions):
        place, person = generator.choice(PLACES), generator.choice(PEOPLE)
        sentences = [f"{generator.choice(PEOPLE)} came home ." for _ in range(generator.randrange(1, 12))]
        # A number of its own makes each article differ from all others.
        article = f"it was {number} {seed} a walk through the {place} . {' '.join(sentences)}"
        count = options[number % len(options)]
        words = generator.sample(WRONG, count - 1)
        label = generator.randrange(count)
        words.insert(label, generator.choice(RIGHT))
        question = f"{person} said it was a @placeholder day at the {place} ."
        numbered = {f"option_{number}": word for number, word in enumerate(words)}
        rows.append({"article": article, "question": question, **numbered, "label": label})
    return rows


def write_recam(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_dictionary(home: Path) -> Path:
    """A dictionary of the options, found where `CLOZEFORMERS_HOME` is the folder that is returned."""
    glosses = {word: {"adjective": [f"of a {word} kind of weather", "a state of mind"]} for word in [*RIGHT, *WRONG]}
    others = {"financial": {"adjective": ["of money"]}, "day": {"noun": ["a kind of light"]}}
    write_wordnet(home / "corpora" / "wordnet", glosses | others, {})
    return home


def save_encoder(folder: Path, kind: str, num_layers: int = 1) -> Path:
    """Save an untrained encoder without dropout, and a tokenizer of the tests' words in the encoder's own layout."""
    set_seed(0)
    words = dict.fromkeys([*SPECIAL, *RIGHT, *WRONG, *PLACES, *PEOPLE, *OTHERS.split()])
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    process = processors.RobertaProcessing if kind == "roberta" else processors.BertProcessing
    tokenizer.post_processor = process(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    model_class = MODELS[kind]
    sizes: dict[str, Any] = {
        "hidden_size": 24,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 200,
    }
    if kind == "albert":
        sizes["embedding_size"] = 16
    sizes |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = model_class.config_class(vocab_size=len(words), num_hidden_layers=num_layers, pad_token_id=0, **sizes)
    model_class(config).save_pretrained(folder)
    return folder
