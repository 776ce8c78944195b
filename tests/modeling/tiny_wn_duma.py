"""Tiny abstract cloze models over every backbone, and batches of articles with options for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from clozeformers.modeling.modeling_wn_duma import WN_DUMA_MODELS, WNDumaMixin
from tests.modeling.test_negation_scope_models import NO_DROPOUT as NO_BACKBONE_DROPOUT
from tests.modeling.test_negation_scope_models import SIZES, VOCABULARY

MODELS = {model.config_class.backbone_model_type: model for model in WN_DUMA_MODELS}
HEADS, HEAD_SIZE = 3, 4
HEAD = {"num_co_attention_heads": HEADS, "co_attention_head_size": HEAD_SIZE}
NO_DROPOUT = NO_BACKBONE_DROPOUT | {"co_attention_dropout": 0.0, "summary_last_dropout": 0.0}
ALONE = {"num_co_attention_layers": 0}
CLS, SEP, PAD = 3, 4, 1  # RoBERTa tells padding by its id
SPECIAL_AFTER_ARTICLE = {"roberta": 2}
TRANSFORMERS = {
    "albert": transformers.AlbertForMultipleChoice,
    "bert": transformers.BertForMultipleChoice,
    "roberta": transformers.RobertaForMultipleChoice,
    "deberta-v2": transformers.DebertaV2ForMultipleChoice,
    "xlnet": transformers.XLNetForMultipleChoice,
    "modernbert": transformers.ModernBertForMultipleChoice,
}
every_backbone = pytest.mark.parametrize("name", MODELS)
every_head = pytest.mark.parametrize(
    "head",
    [{}, {"co_attention": "parallel", "num_co_attention_layers": 2}, ALONE],
    ids=["stacked", "parallel", "alone"],
)


def build(name: str, **fields: Any) -> WNDumaMixin:
    torch.manual_seed(0)
    model = MODELS[name](MODELS[name].config_class(**SIZES[name] | HEAD | fields))
    # As if trained: with its own small initialisation, what tells two inputs apart is lost in rounding.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


@dataclass
class Row:
    """An article with one option, as the encoder's tokenizer lays them out."""

    ids: list[int]
    types: list[int]
    article: list[int]  # positions, with the class token
    option: list[int]


def row(name: str, article: list[int], option: list[int]) -> Row:
    separators = [SEP] * SPECIAL_AFTER_ARTICLE.get(name, 1)
    if name == "xlnet":
        ids = [*article, *separators, *option, SEP, CLS]
        types = [0] * (len(article) + 1) + [1] * (len(option) + 1) + [2]
        of_article = [*range(len(article)), len(ids) - 1]
    else:
        ids = [CLS, *article, *separators, *option, SEP]
        types = [0] * (len(article) + 1 + len(separators)) + [1] * (len(option) + 1)
        of_article = list(range(len(article) + 1))
    start = types.index(1)
    return Row(ids, types, of_article, list(range(start, start + len(option))))


def batch(questions: list[list[Row]], left: list[int] | int = 0, spare: int = 0, options: int = 0) -> dict[str, Tensor]:
    """Rows to padded tensors: before the rows of question i stand `left[i]` of padding, after the longest `spare`."""
    lefts = [left] * len(questions) if isinstance(left, int) else left
    length = max(len(one.ids) + lefts[i] for i, rows in enumerate(questions) for one in rows) + spare
    shape = (len(questions), max(*(len(rows) for rows in questions), options), length)
    # Types of padding may be anything, and are zero with most collators.
    made = {"input_ids": torch.full(shape, PAD), "attention_mask": torch.zeros(shape, dtype=torch.long)}
    made["token_type_ids"] = torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(length))
    for i, rows in enumerate(questions):
        for j, one in enumerate(rows):
            place = slice(lefts[i], lefts[i] + len(one.ids))
            made["input_ids"][i, j, place] = torch.tensor(one.ids)
            made["token_type_ids"][i, j, place] = torch.tensor(one.types)
            made["attention_mask"][i, j, place] = 1
    return made


def pieces(count: int, seed: int) -> list[int]:
    return torch.randint(6, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def questions(name: str) -> list[list[Row]]:
    """One question of three options and one of two, of different lengths; the last has no article."""
    return [
        [row(name, pieces(4, 1), pieces(3, 2)), row(name, pieces(4, 1), pieces(1, 3)), row(name, [6], pieces(2, 4))],
        [row(name, pieces(2, 5), pieces(3, 6)), row(name, [], pieces(5, 7))],
    ]


def inputs(name: str) -> dict[str, Tensor]:
    return batch(questions(name))


LABELS = torch.tensor([2, 0])
