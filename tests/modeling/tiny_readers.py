"""Tiny QANet and BiDAF models, and batches for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clozeformers.modeling.configuration_bidaf import BiDAFConfig
from clozeformers.modeling.configuration_qanet import QANetConfig
from clozeformers.modeling.modeling_bidaf import BiDAFForQuestionAnswering
from clozeformers.modeling.modeling_qanet import QANetForQuestionAnswering
from clozeformers.modeling.modeling_word_reader import WordReaderForQuestionAnswering

TINY = {
    "vocab_size": 30,
    "word_embedding_size": 6,
    "word_vector_scale": 1.5,
    "char_vocab_size": 12,
    "char_embedding_size": 3,
    "char_kernel_size": 3,
    "num_char_filters": 4,
    "hidden_size": 8,
    "num_attention_heads": 2,
}
QANETS: dict[str, dict[str, Any]] = {
    "qanet": {},
    "qanet-independent": {"conditional_output": False},
    "qanet-oa": {"attention": "OA-CA"},
    "qanet-features": {"word_features": True},
}
BIDAFS: dict[str, dict[str, Any]] = {
    "bidaf": {},
    "bidaf-words": {"num_char_filters": 0},
    "bidaf-conditional": {"output": "conditional"},
    "bidaf-gru-dense": {"rnn": "gru", "modeling": "dense", "output": "linear", "num_highway_layers": 0},
    "bidaf-dot": {"rnn": "gru", "attention": "dot", "modeling": "dense", "output": "linear"},
    "bidaf-self": {"attention": "self"},
    "bidaf-combined": {"attention": "combined", "output": "linear", "word_features": True},
    "bidaf-sum": {"attention": "combined", "span_rescoring": "window-sum"},
    "bidaf-max": {"word_features": True, "span_rescoring": "window-max"},
    "bidaf-oa": {"attention": "OA-EM"},
}


def build(name: str, random: bool = True) -> WordReaderForQuestionAnswering:
    """A model in float64, in evaluation, of random weights or those that training begins with."""
    torch.manual_seed(0)
    if name in QANETS:
        model: Any = QANetForQuestionAnswering(QANetConfig(**TINY | {"num_model_blocks": 2} | QANETS[name]))
    else:
        model = BiDAFForQuestionAnswering(BiDAFConfig(**TINY | BIDAFS[name]))
    if model.config.word_features:
        model.set_word_features({"What": 5, "when": 6, "the": 7}, [[5, 6, 7, 7], [7, 8, 9]])
    if random:
        randomise(model)
    return model.double().eval()


def randomise(module: nn.Module, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.7, 0.7, generator=generator)


Example = tuple[list[int], list[int], dict[int, list[int]]]  # question, context, characters of each word


def example(seed: int, question_length: int, context_length: int) -> Example:
    generator = torch.Generator().manual_seed(seed)
    question, context = (
        torch.randint(4, 30, (n,), generator=generator).tolist() for n in (question_length, context_length)
    )
    chars = {
        word: torch.randint(1, 12, (1 + word % 5,), generator=torch.Generator().manual_seed(word)).tolist()
        for word in range(4, 30)
    }
    return question, context, chars


def batch(examples: list[Example], padding: int = 0) -> dict[str, Tensor]:
    rows = [[2, *question, 3, *context, 3] for question, context, _ in examples]
    length = max(map(len, rows)) + padding
    inputs = {
        name: torch.zeros(len(rows), length, dtype=torch.long)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    inputs["char_ids"] = torch.zeros(len(rows), length, 6, dtype=torch.long)
    for number, (row, (question, _, chars)) in enumerate(zip(rows, examples, strict=True)):
        inputs["input_ids"][number, : len(row)] = torch.tensor(row)
        inputs["attention_mask"][number, : len(row)] = 1
        inputs["token_type_ids"][number, len(question) + 2 : len(row)] = 1
        for place, word in enumerate(row):
            inputs["char_ids"][number, place, : len(chars.get(word, []))] = torch.tensor(
                chars.get(word, []), dtype=torch.long
            )
    return inputs


every_model = pytest.mark.parametrize("name", [*QANETS, *BIDAFS])
