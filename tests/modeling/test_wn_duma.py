"""What is particular to the abstract cloze models: the head's formulas, padding, segments, poolers and labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from clozeformers.modeling import modeling_wn_duma, packing
from clozeformers.modeling.losses import option_loss
from clozeformers.modeling.modeling_wn_duma import WNDumaMixin

from . import literal
from .tiny_models import (
    ALONE,
    CLOZE,
    CLOZE_HEADS,
    HIDDEN_SIZE,
    Row,
    backbone_config,
    close,
    cloze_batch,
    cloze_row,
    every_backbone,
    every_cloze_variant,
    logits_of,
    pieces,
    questions,
)

LABELS = CLOZE.labels["labels"]
TRANSFORMERS = {
    "albert": transformers.AlbertForMultipleChoice,
    "bert": transformers.BertForMultipleChoice,
    "roberta": transformers.RobertaForMultipleChoice,
    "deberta-v2": transformers.DebertaV2ForMultipleChoice,
    "xlnet": transformers.XLNetForMultipleChoice,
    "modernbert": transformers.ModernBertForMultipleChoice,
}


def alone_logits(model: WNDumaMixin, asked: list[list[Row]]) -> list[Tensor]:
    """Each option in a batch of its own, without any padding and without an attention mask."""
    logits = []
    for rows in asked:
        single = [cloze_batch([[one]]) for one in rows]
        for one in single:
            one.pop("attention_mask")
        logits.append(torch.cat([logits_of(model, **one)[0] for one in single]))
    return logits


def same(ours: Tensor, theirs: list[Tensor], within: float) -> None:
    """The logits of a batch are those of its questions; the minimum elsewhere."""
    for of_question, expected in zip(ours, theirs, strict=True):
        close(of_question[: len(expected)], expected, within)
        assert (of_question[len(expected) :] == torch.finfo(ours.dtype).min).all()


@every_backbone
@pytest.mark.parametrize("mode", ["stacked", "parallel"])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_head_is_the_one_of_the_paper(name: str, mode: str, layers: int) -> None:
    model = CLOZE.build(name, co_attention=mode, num_co_attention_layers=layers).double()
    if name in ("bert", "albert"):
        assert model.config.type_vocab_size == 2, "its types are read"
    asked = questions(name)
    expected = []
    for rows in asked:
        logits = []
        for one in rows:
            types = {"token_type_ids": torch.tensor([one.types])} if name != "modernbert" else {}
            encoded = model.base_model(torch.tensor([one.ids]), **types).last_hidden_state[0]
            features, *_ = literal.co_attention_stack(
                model.co_attention, mode, CLOZE_HEADS, layers, encoded, one.article, one.option
            )
            logits.append(model.option_classifier.weight[0] @ features + model.option_classifier.bias[0])
        expected.append(torch.stack(logits).detach())
    same(logits_of(model, **cloze_batch(asked)), expected, 1e-10)


@every_backbone
@every_cloze_variant
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_padding_changes_nothing(name: str, fields: dict[str, Any], data: st.DataObject) -> None:
    """Of articles, of options, of questions, on either side: in float64, to 1e-10."""
    model = CLOZE.build(name, **fields).double()
    sizes = st.tuples(st.integers(0, 6), st.integers(1, 5))
    drawn = data.draw(st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=1, max_size=3))
    asked = [
        [cloze_row(name, pieces(n, 10 * i + j), pieces(m, 100 + 10 * i + j)) for j, (n, m) in enumerate(rows)]
        for i, rows in enumerate(drawn)
    ]
    left = data.draw(st.lists(st.integers(0, 3), min_size=len(asked), max_size=len(asked)))
    spare, options = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    expected = alone_logits(model, asked)
    given = cloze_batch(asked, left, spare, options)
    same(logits_of(model, **given), expected, 1e-10)
    # As compiled code does: nothing is left out, segments are not packed to their own lengths.
    with pytest.MonkeyPatch.context() as patch:
        for module in (modeling_wn_duma, packing):
            patch.setattr(module, "values_are_known", lambda tensor: False)
        same(logits_of(model, **given), expected, 1e-10)


@every_backbone
def test_what_is_read(name: str) -> None:
    """The laws above would be easy to keep by reading nothing."""
    model = CLOZE.build(name)
    base = logits_of(model, **cloze_batch([[cloze_row(name, [6, 7, 8], [9, 10])]]))
    for other in (
        cloze_row(name, [6, 7, 11], [9, 10]),
        cloze_row(name, [6, 7, 8], [9, 11]),
        cloze_row(name, [6, 7], [8, 9, 10]),
        cloze_row(name, [], [9, 10]),
    ):
        assert (logits_of(model, **cloze_batch([[other]])) - base).abs() > 1e-4


@every_backbone
@every_cloze_variant
def test_work_is_spent_on_options_only(name: str, fields: dict[str, Any]) -> None:
    model, given = CLOZE.build(name, **fields), CLOZE.inputs(name)
    masks: list[Tensor] = []
    model.base_model.register_forward_pre_hook(
        lambda _, args, kwargs: masks.append(kwargs["attention_mask"]), with_kwargs=True
    )
    model(**given)
    model(**given, output_hidden_states=True)
    assert [len(mask) for mask in masks] == [5, 6]
    assert masks[1].any(1).all(), "what only pads the batch reads itself"


@every_backbone
def test_token_types_tell_the_segments_apart_where_the_encoder_reads_none(name: str) -> None:
    """Also those of an encoder with one type, as RoBERTa's checkpoints have, or none, as DeBERTa v3's."""
    read = {"xlnet", "bert", "albert", "roberta"}
    for types in (1, 2) if name in ("roberta", "bert") else (None,):
        sizes = {} if types is None else {"type_vocab_size": types}
        model, given = CLOZE.build(name, **ALONE, **sizes), CLOZE.inputs(name)
        token_types = given.pop("token_type_ids")
        apart = (logits_of(model, **given, token_type_ids=token_types) - logits_of(model, **given)).abs().max()
        assert (apart > 1e-4) == (name in read and types != 1)
        model = CLOZE.build(name, **sizes)
        moved = token_types.clone()
        moved[0, 0] = torch.where(token_types[0, 0] == 0, 0, 1)
        moved[0, 0, 2:5] = 1
        apart = logits_of(model, **given, token_type_ids=token_types) - logits_of(model, **given, token_type_ids=moved)
        assert apart[0, 0].abs() > 1e-4


@every_backbone
@pytest.mark.parametrize("mode", ["stacked", "parallel"])
def test_output_attentions(name: str, mode: str) -> None:
    model = CLOZE.build(name, attn_implementation="eager", num_co_attention_layers=2, co_attention=mode)
    asked = questions(name)
    given = cloze_batch(asked, left=2, spare=1)
    out = model(**given, output_attentions=True)
    same(out.logits, [row[: len(rows)] for row, rows in zip(logits_of(model, **given), asked, strict=True)], 1e-5)
    assert len(out.attentions) == len(out.article_attentions) == len(out.option_attentions) == 2
    shape = (2, 3, CLOZE_HEADS, out.article_positions.size(-1), out.option_positions.size(-1))
    for article_weights, option_weights in zip(out.article_attentions, out.option_attentions, strict=True):
        assert article_weights.shape == shape
        assert option_weights.transpose(-1, -2).shape == shape
    for i, rows in enumerate(asked):
        for j, one in enumerate(rows):
            article, option = (positions[i, j].tolist() for positions in (out.article_positions, out.option_positions))
            assert [position for position in article if position >= 0] == [position + 2 for position in one.article]
            assert [position for position in option if position >= 0] == [position + 2 for position in one.option]
            close(out.option_attentions[0][i, j, :, 0, : len(one.article)].sum(-1), torch.ones(CLOZE_HEADS))
            close(out.article_attentions[1][i, j, :, 0, : len(one.option)].sum(-1), torch.ones(CLOZE_HEADS))
    by_config = CLOZE.build(name, attn_implementation="eager", output_attentions=True)(**given)
    assert len(by_config.attentions) == 2
    assert len(by_config.option_attentions) == 1
    assert (
        CLOZE.build(name, attn_implementation="eager", **ALONE)(**given, output_attentions=True).option_positions
        is None
    )


# -------------------------------------------------------------------------------------------------- the encoder alone


@every_backbone
def test_the_encoder_alone_is_transformers_own(name: str) -> None:
    fields = {"type_vocab_size": 1} if name == "roberta" else {}
    ours = CLOZE.build(name, **ALONE, **fields)
    theirs = TRANSFORMERS[name](backbone_config(name, **fields)).eval()
    state = ours.state_dict()
    classifier = "logits_proj" if name == "xlnet" else "classifier"
    theirs.load_state_dict(
        {key.replace("option_classifier", classifier): value for key, value in state.items()}, strict=True
    )
    given = cloze_batch([rows[:2] for rows in questions(name)])
    if name == "xlnet":  # its summary reads the last position
        shift = (1 - given["attention_mask"]).sum(-1, keepdim=True)
        places = (torch.arange(given["input_ids"].size(-1)) - shift) % given["input_ids"].size(-1)
        given = {key: value.gather(-1, places) for key, value in given.items()}
    read = dict(given)
    if name in ("roberta", "modernbert"):
        read.pop("token_type_ids")
    out, reference = ours(**given, labels=LABELS % 2), theirs(**read, labels=LABELS % 2)
    close(out.logits, reference.logits, 1e-6)
    close(out.loss, reference.loss, 1e-6)
    if name != "xlnet":
        assert ours.dropout.p == (theirs.drop if name == "modernbert" else theirs.dropout).p
    else:
        assert ours.dropout.p == 0
        assert ours.sequence_summary.last_dropout.p == 0.1
    without_types = {key: value for key, value in given.items() if key != "token_type_ids"}
    assert ours(**without_types).logits.isfinite().all()


def test_the_encoder_alone_with_modernberts_mean() -> None:
    ours = CLOZE.build("modernbert", **ALONE, classifier_pooling="mean")
    theirs = TRANSFORMERS["modernbert"](backbone_config("modernbert", classifier_pooling="mean")).eval()
    theirs.load_state_dict({key.replace("option_", ""): value for key, value in ours.state_dict().items()})
    given = cloze_batch([rows[:2] for rows in questions("modernbert")])
    expected = theirs(given["input_ids"], attention_mask=given["attention_mask"]).logits
    close(logits_of(ours, **given), expected, 1e-6)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("albert", {"classifier_dropout_prob": 0.3}, 0.3),
        ("bert", {"classifier_dropout": 0.3}, 0.3),
        ("bert", {"hidden_dropout_prob": 0.2}, 0.2),
        ("roberta", {"hidden_dropout_prob": 0.2}, 0.2),
        ("deberta-v2", {"cls_dropout": 0.3}, 0.3),
        ("deberta-v2", {"hidden_dropout_prob": 0.2}, 0.2),
        ("modernbert", {"classifier_dropout": 0.3}, 0.3),
    ],
)
def test_the_pooled_outputs_dropout(name: str, fields: dict[str, Any], expected: float) -> None:
    assert CLOZE.build(name, **ALONE, **fields).dropout.p == expected
    assert (
        TRANSFORMERS[name](backbone_config(name, **fields))
        .get_submodule("drop" if name == "modernbert" else "dropout")
        .p
        == expected
    )


@every_backbone
def test_a_pooler_is_built_only_where_it_is_used(name: str) -> None:
    names = ("pooler", "sequence_summary", "head.")
    assert not [key for key, _ in CLOZE.build(name).named_parameters() if any(part in key for part in names)]
    assert [key for key, _ in CLOZE.build(name, **ALONE).named_parameters() if any(part in key for part in names)]


# -------------------------------------------------------------------------------------------------------- loss, errors


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("items", [None, 7, torch.tensor(5)])
@pytest.mark.parametrize("labels", [[1, 0, -100], [-100] * 3])
def test_option_loss(dtype: torch.dtype, items: Any, labels: list[int]) -> None:
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    logits[1, 2:] = torch.finfo(dtype).min
    logits.requires_grad_()
    total = sum(-logits[i].double().log_softmax(0)[label].item() for i, label in enumerate(labels) if label >= 0)
    count = max(sum(label >= 0 for label in labels), 1)
    loss = option_loss(logits, torch.tensor(labels), items)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert loss.item() == pytest.approx(total / (count if items is None else int(items)), abs=1e-6)
    loss.backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[1, 2:].any()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 2], "label of question 1 is 2, but its options are 0 to 1; -100 ignores"),
        ([3, 0], "label of question 0 is 3, but its options are 0 to 2"),
        ([-1, 0], "label of question 0 is -1"),
        ([0], r"labels have shape \(1,\); there are 2 questions"),
        ([[0, 1], [1, 0]], r"labels have shape \(2, 2\)"),
    ],
)
def test_labels_that_name_no_option(labels: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CLOZE.build("bert")(**CLOZE.inputs("bert"), labels=torch.tensor(labels))


def test_malformed_input() -> None:
    model, given = CLOZE.build("bert"), CLOZE.inputs("bert")

    def refused(said: str, **changed: Any) -> None:
        with pytest.raises(ValueError, match=said):
            model(**given | changed)

    refused("token_type_ids are missing.*for every encoder", token_type_ids=None)
    refused(r"input_ids have shape \(3, 10\).*\.unsqueeze\(0\)", **{key: value[0] for key, value in given.items()})
    refused("either input_ids or inputs_embeds", input_ids=None)
    refused("either input_ids or inputs_embeds", inputs_embeds=torch.zeros(2, 3, 10, HIDDEN_SIZE))
    refused(r"inputs_embeds have shape \(2, 10, 16\)", input_ids=None, inputs_embeds=torch.zeros(2, 10, HIDDEN_SIZE))
    refused(r"a mask has shape \(2, 10\); the input's is \(2, 3, 10\)", attention_mask=torch.ones(2, 10))
    refused(r"token_type_ids have shape \(2, 3, 4\)", token_type_ids=given["token_type_ids"][..., :4])
    types = given["token_type_ids"].clone()
    types[1, 0] = 0
    refused("option 0 of question 1 has no piece of its own", token_type_ids=types)
    types[1, 0, 5] = 1  # a separator only
    refused("option 0 of question 1 has no piece of its own", token_type_ids=types)
