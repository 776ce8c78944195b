"""Tiny models of both heads over every backbone, and batches for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForMultipleChoice, AutoModelForTokenClassification
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from clozeformers import AutoModelForAbstractCloze, AutoModelForNegationScope
from clozeformers.modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS
from clozeformers.modeling.modeling_wn_duma import WN_DUMA_MODELS

VOCABULARY, HIDDEN_SIZE, HEADS = 40, 16, 4
COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN_SIZE,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
DEBERTA_V3 = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 4,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "position_biased_input": False,
    "type_vocab_size": 0,
}
SIZES: dict[str, dict[str, Any]] = {
    "xlnet": {"vocab_size": VOCABULARY, "d_model": HIDDEN_SIZE, "n_layer": 2, "n_head": HEADS, "d_inner": 24},
    "bert": COMMON,
    "roberta": COMMON,
    "albert": COMMON | {"embedding_size": 8},
    "deberta-v2": COMMON | DEBERTA_V3,
    "modernbert": COMMON | {"local_attention": 4, "pad_token_id": 0},
}
DROPOUTS = "head_dropout co_attention_dropout summary_last_dropout hidden_dropout_prob attention_probs_dropout_prob"
DROPOUTS += " dropout attention_dropout mlp_dropout embedding_dropout classifier_dropout_prob"
NO_DROPOUT = dict.fromkeys(DROPOUTS.split(), 0.0)
CLS, SEP, PAD = 3, 4, 1  # RoBERTa recognises padding by its id
NEGATION_LABELS = {
    "labels": torch.tensor([[-100, 0, 1, -100, 1, 0, -100], [-100, 1, 0, 0, -100, -100, -100], [-100] * 7]),
    "word_ids": torch.tensor([[-1, 0, 1, 1, 2, 3, -1], [-1, 0, 1, 2, -1, -1, -1], [-1] * 7]),
}
CLOZE_LABELS = {"labels": torch.tensor([2, 0])}
CLOZE_HEADS, CLOZE_HEAD_SIZE = 3, 4


@dataclass(frozen=True)
class Head:
    """One of the two heads: its classes, and the fields that all its tiny configs have."""

    models: dict[str, Any]
    autos: tuple[Any, ...]
    classifier: str
    labels: dict[str, Tensor]
    fields: dict[str, Any]

    @property
    def auto(self) -> Any:
        return self.autos[0]

    def config(self, name: str, **fields: Any) -> Any:
        return self.models[name].config_class(**SIZES[name] | self.fields | fields)

    def build(self, name: str, **fields: Any) -> Any:
        torch.manual_seed(0)
        model = self.models[name](self.config(name, **fields))
        # With the small initial weights, differences between inputs would be lost in rounding.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        return model.eval()

    def inputs(self, name: str) -> dict[str, Tensor]:
        return negation_inputs() if self is NEGATION else cloze_batch(questions(name))


def by_backbone(models: tuple[Any, ...]) -> dict[str, Any]:
    return {model.config_class.backbone_model_type: model for model in models}


NEGATION = Head(
    by_backbone(NEGATION_SCOPE_MODELS),
    (AutoModelForNegationScope, AutoModelForTokenClassification),
    "scope_classifier",
    NEGATION_LABELS,
    {},
)
CLOZE = Head(
    by_backbone(WN_DUMA_MODELS),
    (AutoModelForAbstractCloze, AutoModelForMultipleChoice),
    "option_classifier",
    CLOZE_LABELS,
    {"num_co_attention_heads": CLOZE_HEADS, "co_attention_head_size": CLOZE_HEAD_SIZE},
)
BASELINE, PARALLEL, ALONE = (
    {"attention_variant": None},
    {"co_attention": "parallel", "num_co_attention_layers": 2},
    {"num_co_attention_layers": 0},
)
SPAN = {"option_features": "span"}
GAP = ALONE | {"option_features": "gap", "use_definitions": False, "mask_token_id": 5}
VARIANTS: dict[str, tuple[Head, dict[str, Any]]] = {
    "negation": (NEGATION, {}),
    "baseline": (NEGATION, BASELINE),
    "stacked": (CLOZE, {}),
    "parallel": (CLOZE, PARALLEL),
    "alone": (CLOZE, ALONE),
    "span": (CLOZE, SPAN),
    "gap": (CLOZE, GAP),
}
every_backbone = pytest.mark.parametrize("name", SIZES)
every_variant = pytest.mark.parametrize(("head", "fields"), VARIANTS.values(), ids=VARIANTS)
both_heads = pytest.mark.parametrize("head", [NEGATION, CLOZE], ids=["negation", "cloze"])
every_cloze_variant = pytest.mark.parametrize(
    "fields",
    [{}, PARALLEL, ALONE, SPAN, ALONE | SPAN],
    ids=["stacked", "parallel", "alone", "span", "span-alone"],
)


def backbone_config(name: str, **fields: Any) -> Any:
    return CONFIG_MAPPING[name](**SIZES[name] | fields)


def logits_of(model: nn.Module, **given: Any) -> Tensor:
    with torch.no_grad():
        return model(**given).logits


def close(ours: Tensor, theirs: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(ours, theirs, atol=within, rtol=0)


def negation_inputs() -> dict[str, Tensor]:
    """Three examples of 7, 5 and 6 pieces, with cues of 1, 2 and 0 pieces."""
    input_ids = torch.randint(5, VOCABULARY, (3, 7), generator=torch.Generator().manual_seed(1))
    attention_mask, cue_mask = torch.ones_like(input_ids), torch.zeros_like(input_ids)
    attention_mask[1, 5:] = attention_mask[2, 6:] = 0
    cue_mask[0, 2] = cue_mask[1, 1] = cue_mask[1, 3] = 1
    input_ids = input_ids.where(attention_mask.bool(), PAD)
    return {"input_ids": input_ids, "attention_mask": attention_mask, "cue_mask": cue_mask}


@dataclass
class Row:
    """An article with one option, as the encoder's tokenizer arranges them."""

    ids: list[int]
    types: list[int]
    article: list[int]  # positions, with the class token
    option: list[int]
    own: list[int]  # positions of the option itself


def cloze_row(name: str, article: list[int], option: list[int]) -> Row:
    separators = [SEP] * (2 if name == "roberta" else 1)
    if name == "xlnet":
        ids = [*article, *separators, *option, SEP, CLS]
        types = [0] * (len(article) + 1) + [1] * (len(option) + 1) + [2]
        positions = [*range(len(article)), len(ids) - 1]
    else:
        ids = [CLS, *article, *separators, *option, SEP]
        types = [0] * (len(article) + 1 + len(separators)) + [1] * (len(option) + 1)
        positions = list(range(len(article) + 1))
    start = types.index(1)
    return Row(
        ids, types, positions, list(range(start, start + len(option))), list(range(start, start + min(len(option), 2)))
    )


def cloze_batch(
    asked: list[list[Row]], left: list[int] | int = 0, spare: int = 0, options: int = 0
) -> dict[str, Tensor]:
    """Pad rows: `left[i]` padding tokens before the rows of question i, `spare` after the longest row."""
    lefts = [left] * len(asked) if isinstance(left, int) else left
    length = max(len(one.ids) + lefts[i] for i, rows in enumerate(asked) for one in rows) + spare
    shape = (len(asked), max(*(len(rows) for rows in asked), options), length)
    made = {"input_ids": torch.full(shape, PAD), "attention_mask": torch.zeros(shape, dtype=torch.long)}
    # The types of padding are arbitrary.
    made["option_mask"] = torch.zeros(shape, dtype=torch.long)
    made["token_type_ids"] = torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(length))
    for i, rows in enumerate(asked):
        for j, one in enumerate(rows):
            place = slice(lefts[i], lefts[i] + len(one.ids))
            made["input_ids"][i, j, place] = torch.tensor(one.ids)
            made["token_type_ids"][i, j, place] = torch.tensor(one.types)
            made["attention_mask"][i, j, place] = 1
            made["option_mask"][i, j, [position + lefts[i] for position in one.own]] = 1
    return made


def pieces(count: int, seed: int) -> list[int]:
    return torch.randint(6, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def questions(name: str) -> list[list[Row]]:
    """One question of three options and one of two, of different lengths; the last has no article."""
    sizes = [[(4, 1, 3, 2), (4, 1, 1, 3), (1, 9, 2, 4)], [(2, 5, 3, 6), (0, 0, 5, 7)]]
    return [[cloze_row(name, pieces(m, a), pieces(n, b)) for m, a, n, b in rows] for rows in sizes]
