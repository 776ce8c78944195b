"""What is read of the option's own pieces: the mean over them, or a mask in their place."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from clozeformers.modeling import modeling_wn_duma, packing

from . import literal
from .test_wn_duma import same
from .tiny_models import (
    ALONE,
    CLOZE,
    CLOZE_HEADS,
    GAP,
    SPAN,
    Row,
    close,
    cloze_batch,
    cloze_row,
    every_backbone,
    logits_of,
    pieces,
    questions,
)

MASK = GAP["mask_token_id"]
OPTIONS = [[11, 12], [13], [14, 15], [16]]


def encode(model: Any, name: str, ids: list[int], types: list[int]) -> Tensor:
    """The encoder's output for one row without padding, ``[L, D]``."""
    types_of = {"token_type_ids": torch.tensor([types])} if name != "modernbert" else {}
    return model.base_model(torch.tensor([ids]), **types_of).last_hidden_state[0].detach()


def one_question(name: str, article: list[int], options: list[list[int]] = OPTIONS) -> list[Row]:
    """One article and question, with each option in the gap."""
    rows = [cloze_row(name, article, [*option, 20, 21]) for option in options]
    for row, option in zip(rows, options, strict=True):
        row.own = row.option[: len(option)]
    return rows


@every_backbone
def test_the_mean_over_the_option_is_read_beside_the_rest(name: str) -> None:
    model = CLOZE.build(name, **SPAN).double()
    asked, expected = questions(name), []
    for rows in asked:
        logits = []
        for one in rows:
            encoded = encode(model, name, one.ids, one.types)
            features, *_ = literal.co_attention_stack(
                model.co_attention, "stacked", CLOZE_HEADS, 1, encoded, one.article, one.option
            )
            own = sum(encoded[place] for place in one.own) / len(one.own)
            features = torch.cat([features, literal.layer_norm(model.span_norm, own)])
            logits.append(literal.linear(model.option_classifier, features)[0])
        expected.append(torch.stack(logits).detach())
    same(logits_of(model, **cloze_batch(asked)), expected, 1e-10)


def literal_gap_logits(model: Any, name: str, rows: list[Row]) -> Tensor:
    """The question once, with a mask for the option; its state against the mean embedding of each option."""
    head, read = model.gap_head, max(rows, key=lambda row: len(row.own))
    kept = [place for place in range(len(read.ids)) if place not in read.own[1:]]
    ids = [MASK if place == read.own[0] else read.ids[place] for place in kept]
    encoded = encode(model, name, ids, [read.types[place] for place in kept])
    x = literal.linear(head.dense, encoded[ids.index(MASK)])
    state = literal.layer_norm(head.state_norm, x * (1 + torch.erf(x / math.sqrt(2))) / 2)
    table, logits = model.get_input_embeddings().weight, []
    for row in rows:
        mean = sum(table[row.ids[place]] for place in row.own) / len(row.own)
        candidate = literal.layer_norm(head.candidate_norm, mean)
        logits.append(literal.dot(state, candidate) / math.sqrt(len(state)))
    return torch.stack(logits).detach()


@every_backbone
def test_the_gap_is_compared_with_the_options(name: str) -> None:
    model = CLOZE.build(name, **GAP).double()
    asked = [one_question(name, pieces(6, 1)), one_question(name, pieces(2, 2), OPTIONS[1:]), one_question(name, [])]
    expected = [literal_gap_logits(model, name, rows) for rows in asked]
    same(logits_of(model, **cloze_batch(asked)), expected, 1e-10)
    # Padding and the order of options and questions change nothing, nor does compiled code, which reads no values.
    turned = [rows[::-1] for rows in asked[::-1]]
    given = cloze_batch(turned, left=[2, 0, 1], spare=1, options=5)
    backwards = [logits.flip(0) for logits in expected[::-1]]
    same(logits_of(model, **given), backwards, 1e-10)
    with pytest.MonkeyPatch.context() as patch:
        for module in (modeling_wn_duma, packing):
            patch.setattr(module, "values_are_known", lambda tensor: False)
        same(logits_of(model, **given), backwards, 1e-10)


@every_backbone
def test_the_gap_costs_one_row_a_question(name: str) -> None:
    model, shapes = CLOZE.build(name, **GAP), []
    model.base_model.register_forward_pre_hook(
        lambda _, args, kwargs: shapes.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    given = cloze_batch([one_question(name, [6, 7]), one_question(name, [8])])
    logits = model(**given, labels=torch.tensor([2, 0])).logits
    assert [len(shape) for shape in shapes] == [2]
    assert shapes[0][0] == 2
    assert logits.shape == (2, 4)


@pytest.mark.parametrize("fields", [SPAN, SPAN | ALONE, GAP], ids=["span", "span-alone", "gap"])
def test_the_option_is_marked(fields: dict[str, Any]) -> None:
    model, given = CLOZE.build("bert", **fields), cloze_batch([one_question("bert", [6, 7])])
    marked = given["option_mask"].clone()
    given["option_mask"][0, 2] = 0
    with pytest.raises(ValueError, match="option 2 of question 0 has no piece of its own: option_mask must be 1"):
        model(**given)
    given["option_mask"] = marked[..., 1:]
    with pytest.raises(ValueError, match="a mask has shape"):
        model(**given)
    del given["option_mask"]
    with pytest.raises(ValueError, match="option_mask is missing: the model's option_features are"):
        model(**given)


def test_a_gap_needs_ids_and_the_id_of_the_mask() -> None:
    given = cloze_batch([one_question("bert", [6, 7])])
    with pytest.raises(ValueError, match=r"config\.mask_token_id is missing"):
        CLOZE.build("bert", **GAP | {"mask_token_id": None})(**given)
    model = CLOZE.build("bert", **GAP)
    embeddings = model.get_input_embeddings()(given.pop("input_ids"))
    with pytest.raises(ValueError, match="input_ids is missing"):
        model(**given, inputs_embeds=embeddings)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"option_features": "word"}, "option_features is 'word'; known are span, gap"),
        ({"article_sentences": "last"}, "article_sentences is 'last'; known are first, similar"),
        (GAP | {"use_definitions": True}, "reads no definitions and has no co-attention"),
        (GAP | {"num_co_attention_layers": 1}, "reads no definitions and has no co-attention"),
    ],
)
def test_wrong_fields(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CLOZE.config("bert", **fields)


def test_scores_of_many_candidates_are_a_product_of_matrices() -> None:
    """All candidates for all states, as in pretraining, and candidates of each state, as for the options."""
    head = CLOZE.build("bert", **GAP).gap_head
    states, candidates = torch.randn(3, 16), torch.randn(7, 16)
    close(head(states, candidates), states @ candidates.T / 4)
    close(head(states, candidates.expand(3, 7, 16)), head(states, candidates))
