"""Tiny models and tokenizers for tests of saving, loading and showing: made here, nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertTokenizer, PreTrainedTokenizerFast

from clozeformers import AutoModelForNegationScope, NegationScopePipeline
from clozeformers.modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS, NegationScopeMixin
from clozeformers.negation_scope.windows import add_cue_token

SENTENCE = "I do not know the answer."
TEXTS = [SENTENCE, "It is impossible, and nobody came.", "No cue is in the last one, is there none?", "All is well."]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "i do not know the answer . it is im ##possible , and nobody came no cue in last one there none ? all well"
MODELS = {model.config_class.backbone_model_type: model for model in NEGATION_SCOPE_MODELS}
SIZES: dict[str, dict[str, Any]] = {
    "xlnet": {"d_model": 32, "n_layer": 1, "n_head": 2, "d_inner": 32},
    "modernbert": {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32},
    "albert": {"embedding_size": 16},
}
USUAL_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}


def vocabulary() -> dict[str, int]:
    return {word: number for number, word in enumerate([*SPECIAL, *WORDS.split()])}


def tiny_tokenizer(backbone: str) -> Any:
    """BERT's own class for BERT, the general fast tokenizer for the others; each knows the cue token."""
    tokenizer = BertTokenizer(vocab=vocabulary(), model_max_length=64) if backbone == "bert" else general_tokenizer()
    add_cue_token(tokenizer)
    return tokenizer


def general_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(vocabulary(), unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=48, **names)


def tiny_model(backbone: str, **fields: Any) -> NegationScopeMixin:
    """A model of a backbone with random weights, the same at every call; its vocabulary has the cue token too."""
    sizes = SIZES[backbone] if backbone in ("xlnet", "modernbert") else USUAL_SIZES | SIZES.get(backbone, {})
    special = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    config = MODELS[backbone].config_class(
        vocab_size=len(vocabulary()) + 1, num_block_heads=2, **sizes, **special, **fields
    )
    torch.manual_seed(0)
    return AutoModelForNegationScope.from_config(config).eval()


def tiny_pipeline(backbone: str, **fields: Any) -> NegationScopePipeline:
    return NegationScopePipeline(
        model=tiny_model(backbone, **fields), tokenizer=tiny_tokenizer(backbone), task="negation-scope", device="cpu"
    )


def save_tiny(folder: Path, backbone: str = "bert") -> Path:
    """Save a tiny model and its tokenizer, without code."""
    tiny_model(backbone).save_pretrained(folder)
    tiny_tokenizer(backbone).save_pretrained(folder)
    return folder
