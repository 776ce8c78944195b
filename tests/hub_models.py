"""Tiny models of every task for tests of the hub and the command line, built without downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from clozeformers import (
    BiDAFConfig,
    BiDAFForQuestionAnswering,
    ExtractiveQuestionAnsweringPipeline,
    NegationScopePipeline,
    QANetConfig,
    QANetForQuestionAnswering,
    WordCharTokenizer,
)
from clozeformers.modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS, NegationScopeMixin
from clozeformers.negation_scope.windows import add_cue_token

from .cloze_models import ARTICLE
from .conftest import SPECIAL_TOKENS, build_tokenizer

SENTENCE = "I do not know the answer."
TEXTS = [SENTENCE, "It is impossible, and nobody came.", "No cue is in the last one, is there none?", "All is well."]
QUESTION = {
    "question": "Who wrote the letter?",
    "context": "The letter was written by Ada Lovelace in 1843, says Bruno.",
}
INPUTS: dict[str, Any] = {
    "negation-scope": TEXTS,
    "extractive-question-answering": QUESTION,
    "abstract-cloze": {
        "article": ARTICLE,
        "question": "The dog was @placeholder in the club .",
        "options": ["murdered", "secret"],
    },
}
MODELS = {model.config_class.backbone_model_type: model for model in NEGATION_SCOPE_MODELS}
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
XLNET_SIZES = {"d_model": 32, "n_layer": 1, "n_head": 2, "d_inner": 32}
READER_SIZES = {"hidden_size": 16, "num_attention_heads": 2, "word_embedding_size": 8, "num_char_filters": 4}
READERS: dict[str, Any] = {
    "qanet": (QANetForQuestionAnswering, QANetConfig, {"num_model_blocks": 1, "attention": "OA-EM"}),
    "bidaf": (BiDAFForQuestionAnswering, BiDAFConfig, {"attention": "combined", "span_rescoring": "window-max"}),
}


def tiny_tokenizer(backbone: str) -> Any:
    """A `BertTokenizer` for BERT, a general fast tokenizer for the others, both with the cue token."""
    tokenizer: Any = build_tokenizer()
    if backbone != "bert":
        backend = tokenizer.backend_tokenizer
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=64, **SPECIAL_TOKENS)
    add_cue_token(tokenizer)
    return tokenizer


def tiny_model(backbone: str, **fields: Any) -> NegationScopeMixin:
    """A negation scope model with fixed random weights, whose vocabulary includes the cue token."""
    tokenizer = tiny_tokenizer(backbone)
    special = dict.fromkeys(("bos_token_id", "cls_token_id"), 2) | {"eos_token_id": 3, "sep_token_id": 3}
    config = MODELS[backbone].config_class(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        num_block_heads=2,
        **(XLNET_SIZES if backbone == "xlnet" else SIZES),
        **special,
        **fields,
    )
    torch.manual_seed(0)
    return MODELS[backbone](config).eval()


def tiny_pipeline(backbone: str, **fields: Any) -> NegationScopePipeline:
    return NegationScopePipeline(
        model=tiny_model(backbone, **fields), tokenizer=tiny_tokenizer(backbone), task="negation-scope", device="cpu"
    )


def tiny_word_reader(kind: str) -> ExtractiveQuestionAnsweringPipeline:
    """A pipeline around a QANet or BiDAF with fixed random weights."""
    model_class, config_class, fields = READERS[kind]
    tokenizer = WordCharTokenizer.train_from_texts(list(QUESTION.values()), model_max_length=60)
    sizes = {"vocab_size": len(tokenizer), "char_vocab_size": tokenizer.character_vocab_size, **READER_SIZES}
    torch.manual_seed(0)
    model = model_class(config_class(**sizes, **fields)).eval()
    return ExtractiveQuestionAnsweringPipeline(
        model=model, tokenizer=tokenizer, task="extractive-question-answering", device="cpu"
    )


def save_tiny(folder: Path, backbone: str = "bert") -> Path:
    """Save a tiny negation scope model and its tokenizer, without code."""
    tiny_pipeline(backbone).save_pretrained(folder)
    return folder
