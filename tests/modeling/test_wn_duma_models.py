"""Abstract cloze models over every backbone: what goes in and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from clozeformers.modeling import modeling_wn_duma
from clozeformers.modeling.modeling_wn_duma import WNDumaMixin, option_loss
from tests.modeling import literal_co_attention as literal
from tests.modeling.test_negation_scope_models import HIDDEN_SIZE, SIZES, backbone_config, close, logits_of
from tests.modeling.tiny_wn_duma import (
    ALONE,
    HEADS,
    LABELS,
    MODELS,
    NO_DROPOUT,
    TRANSFORMERS,
    Row,
    batch,
    build,
    every_backbone,
    every_head,
    inputs,
    pieces,
    questions,
    row,
)


def alone_logits(model: WNDumaMixin, asked: list[list[Row]]) -> list[Tensor]:
    """Each option in a batch of its own, without any padding and without an attention mask."""
    logits = []
    for rows in asked:
        single = [batch([[one]]) for one in rows]
        for one in single:
            one.pop("attention_mask")
        logits.append(torch.cat([logits_of(model, **one)[0] for one in single]))
    return logits


def same(ours: Tensor, theirs: list[Tensor], within: float) -> None:
    """The logits of a batch are those of its questions; the minimum elsewhere."""
    for of_question, expected in zip(ours, theirs, strict=True):
        close(of_question[: len(expected)], expected, within)
        assert (of_question[len(expected) :] == torch.finfo(ours.dtype).min).all()


def test_every_backbone_is_tested() -> None:
    assert set(SIZES) == set(MODELS) == set(TRANSFORMERS)


# ------------------------------------------------------------------------------------------------------- forward pass


@every_backbone
@every_head
def test_shapes_loss_and_tuple(name: str, head: dict[str, Any]) -> None:
    model, given = build(name, **head), inputs(name)
    out = model(**given, labels=LABELS)
    assert out.logits.shape == (2, 3)
    assert out.logits[1, 2] == torch.finfo(torch.float32).min
    assert out.logits.softmax(-1)[1, 2] == 0
    expected = -(out.logits[0].log_softmax(0)[2] + out.logits[1, :2].log_softmax(0)[0]) / 2
    close(out.loss, expected, 1e-6)
    assert out.attentions is out.hidden_states is out.option_attentions is out.article_positions is None
    assert model(**given).loss is None
    as_tuple = model(**given, labels=LABELS, return_dict=False)
    assert isinstance(as_tuple, tuple)
    close(as_tuple[0], out.loss, 1e-6)
    close(as_tuple[1], out.logits, 1e-6)
    assert len(model(**given, output_hidden_states=True).hidden_states) == 3


@every_backbone
@pytest.mark.parametrize("mode", ["stacked", "parallel"])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_head_is_the_one_of_the_paper(name: str, mode: str, layers: int) -> None:
    model = build(name, co_attention=mode, num_co_attention_layers=layers).double()
    if name in ("bert", "albert"):
        assert model.config.type_vocab_size == 2, "its types are read"
    asked = questions(name)
    expected = []
    for rows in asked:
        logits = []
        for one in rows:
            types = {"token_type_ids": torch.tensor([one.types])} if name != "modernbert" else {}
            encoded = model.base_model(torch.tensor([one.ids]), **types).last_hidden_state[0]
            features, *_ = literal.stack(model.co_attention, mode, HEADS, layers, encoded, one.article, one.option)
            logits.append(model.option_classifier.weight[0] @ features + model.option_classifier.bias[0])
        expected.append(torch.stack(logits).detach())
    same(logits_of(model, **batch(asked)), expected, 1e-10)


@every_backbone
@every_head
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_padding_changes_nothing(name: str, head: dict[str, Any], data: st.DataObject) -> None:
    """Of articles, of options, of questions, on either side: in float64, to 1e-10."""
    model = build(name, **head).double()
    sizes = st.tuples(st.integers(0, 6), st.integers(1, 5))
    drawn = data.draw(st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=1, max_size=3))
    asked = [
        [row(name, pieces(n, 10 * i + j), pieces(m, 100 + 10 * i + j)) for j, (n, m) in enumerate(rows)]
        for i, rows in enumerate(drawn)
    ]
    left = data.draw(st.lists(st.integers(0, 3), min_size=len(asked), max_size=len(asked)))
    spare, options = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    expected = alone_logits(model, asked)
    given = batch(asked, left, spare, options)
    same(logits_of(model, **given), expected, 1e-10)
    # As compiled code does: nothing is left out, segments are not packed to their own lengths.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modeling_wn_duma, "values_are_known", lambda tensor: False)
        same(logits_of(model, **given), expected, 1e-10)


@every_backbone
@every_head
def test_padding_changes_little_in_float32(name: str, head: dict[str, Any]) -> None:
    model, asked = build(name, **head), questions(name)
    for padded in (batch(asked), batch(asked, left=3, spare=2, options=4)):
        same(logits_of(model, **padded), alone_logits(model, asked), 1e-5)


@every_backbone
def test_what_is_read(name: str) -> None:
    """The laws above would be easy to keep by reading nothing."""
    model = build(name)
    base = logits_of(model, **batch([[row(name, [6, 7, 8], [9, 10])]]))
    for other in (
        row(name, [6, 7, 11], [9, 10]),
        row(name, [6, 7, 8], [9, 11]),
        row(name, [6, 7], [8, 9, 10]),
        row(name, [], [9, 10]),
    ):
        assert (logits_of(model, **batch([[other]])) - base).abs() > 1e-4


@every_backbone
@every_head
def test_work_is_spent_on_options_only(name: str, head: dict[str, Any]) -> None:
    model, given = build(name, **head), inputs(name)
    masks: list[Tensor] = []
    model.base_model.register_forward_pre_hook(
        lambda _, args, kwargs: masks.append(kwargs["attention_mask"]), with_kwargs=True
    )
    model(**given)
    model(**given, output_hidden_states=True)
    assert [len(mask) for mask in masks] == [5, 6]
    assert masks[1].any(1).all(), "what only pads the batch reads itself"


@every_backbone
@every_head
@pytest.mark.parametrize("known", [True, False])
def test_a_question_of_nothing_but_padding_stays_finite(
    name: str, head: dict[str, Any], known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modeling_wn_duma, "values_are_known", lambda tensor: known)
    model, given = build(name, **head).train(), inputs(name)
    given["attention_mask"][1] = 0
    out = model(**given, labels=torch.tensor([1, -100]))
    assert out.logits.isfinite().all()
    out.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    without = [key for key, p in model.named_parameters() if p.grad is None]
    # XLNet needs these in pretraining only.
    assert {key.rpartition(".")[2] for key in without} <= {"mask_emb"}
    given["attention_mask"][:] = 0
    assert model(**given).logits.isfinite().all()


@every_backbone
@every_head
def test_embeddings_as_input(name: str, head: dict[str, Any]) -> None:
    model, asked = build(name, **head), [questions(name)[0][:1]]  # one: RoBERTa tells padding by its id
    given = batch(asked)
    expected = logits_of(model, **given)
    embeddings = model.get_input_embeddings()(given.pop("input_ids"))
    close(logits_of(model, inputs_embeds=embeddings, **given), expected)
    padded = {key: nn.functional.pad(value, (2, 0)) for key, value in given.items()}
    if name != "roberta":
        close(logits_of(model, inputs_embeds=nn.functional.pad(embeddings, (0, 0, 2, 0)), **padded), expected)


@every_backbone
def test_token_types_tell_the_segments_apart_where_the_encoder_reads_none(name: str) -> None:
    """Also those of an encoder with one type, as RoBERTa's checkpoints have, or none, as DeBERTa v3's."""
    read = {"xlnet", "bert", "albert", "roberta"}
    for types in (1, 2) if name in ("roberta", "bert") else (None,):
        sizes = {} if types is None else {"type_vocab_size": types}
        model, given = build(name, **ALONE, **sizes), inputs(name)
        token_types = given.pop("token_type_ids")
        apart = (logits_of(model, **given, token_type_ids=token_types) - logits_of(model, **given)).abs().max()
        assert (apart > 1e-4) == (name in read and types != 1)
        model = build(name, **sizes)
        moved = token_types.clone()
        moved[0, 0] = torch.where(token_types[0, 0] == 0, 0, 1)
        moved[0, 0, 2:5] = 1
        apart = logits_of(model, **given, token_type_ids=token_types) - logits_of(model, **given, token_type_ids=moved)
        assert apart[0, 0].abs() > 1e-4


@every_backbone
@pytest.mark.parametrize("mode", ["stacked", "parallel"])
def test_output_attentions(name: str, mode: str) -> None:
    model = build(name, attn_implementation="eager", num_co_attention_layers=2, co_attention=mode)
    asked = questions(name)
    given = batch(asked, left=2, spare=1)
    out = model(**given, output_attentions=True)
    same(out.logits, [row[: len(rows)] for row, rows in zip(logits_of(model, **given), asked, strict=True)], 1e-5)
    assert len(out.attentions) == len(out.article_attentions) == len(out.option_attentions) == 2
    shape = (2, 3, HEADS, out.article_positions.size(-1), out.option_positions.size(-1))
    for article_weights, option_weights in zip(out.article_attentions, out.option_attentions, strict=True):
        assert article_weights.shape == shape
        assert option_weights.transpose(-1, -2).shape == shape
    for i, rows in enumerate(asked):
        for j, one in enumerate(rows):
            article, option = (positions[i, j].tolist() for positions in (out.article_positions, out.option_positions))
            assert [position for position in article if position >= 0] == [position + 2 for position in one.article]
            assert [position for position in option if position >= 0] == [position + 2 for position in one.option]
            close(out.option_attentions[0][i, j, :, 0, : len(one.article)].sum(-1), torch.ones(HEADS))
            close(out.article_attentions[1][i, j, :, 0, : len(one.option)].sum(-1), torch.ones(HEADS))
    by_config = build(name, attn_implementation="eager", output_attentions=True)(**given)
    assert len(by_config.attentions) == 2
    assert len(by_config.option_attentions) == 1
    assert build(name, attn_implementation="eager", **ALONE)(**given, output_attentions=True).option_positions is None


# -------------------------------------------------------------------------------------------------- the encoder alone


@every_backbone
def test_the_encoder_alone_is_transformers_own(name: str) -> None:
    fields = {"type_vocab_size": 1} if name == "roberta" else {}
    ours = build(name, **ALONE, **fields)
    theirs = TRANSFORMERS[name](backbone_config(name, **fields)).eval()
    state = ours.state_dict()
    classifier = "logits_proj" if name == "xlnet" else "classifier"
    theirs.load_state_dict(
        {key.replace("option_classifier", classifier): value for key, value in state.items()}, strict=True
    )
    given = batch([rows[:2] for rows in questions(name)])
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
    ours = build("modernbert", **ALONE, classifier_pooling="mean")
    theirs = TRANSFORMERS["modernbert"](backbone_config("modernbert", classifier_pooling="mean")).eval()
    theirs.load_state_dict({key.replace("option_", ""): value for key, value in ours.state_dict().items()})
    given = batch([rows[:2] for rows in questions("modernbert")])
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
    assert build(name, **ALONE, **fields).dropout.p == expected
    assert (
        TRANSFORMERS[name](backbone_config(name, **fields))
        .get_submodule("drop" if name == "modernbert" else "dropout")
        .p
        == expected
    )


@every_backbone
def test_a_pooler_is_built_only_where_it_is_used(name: str) -> None:
    names = ("pooler", "sequence_summary", "head.")
    assert not [key for key, _ in build(name).named_parameters() if any(part in key for part in names)]
    assert [key for key, _ in build(name, **ALONE).named_parameters() if any(part in key for part in names)]


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


@every_backbone
def test_the_loss_of_accumulated_batches_is_that_of_the_whole(name: str) -> None:
    model, given = build(name, **NO_DROPOUT), inputs(name)
    assert model.accepts_loss_kwargs
    whole = model(**given, labels=LABELS).loss
    parts = [
        model(
            **{key: value[i : i + 1] for key, value in given.items()},
            labels=LABELS[i : i + 1],
            num_items_in_batch=torch.tensor(2),
        ).loss
        for i in range(2)
    ]
    close(sum(parts), whole, 1e-6)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 2], "label of question 1 is 2, but its options are 0 to 1; -100 leaves"),
        ([3, 0], "label of question 0 is 3, but its options are 0 to 2"),
        ([-1, 0], "label of question 0 is -1"),
        ([0], r"labels have shape \(1,\); there are 2 questions"),
        ([[0, 1], [1, 0]], r"labels have shape \(2, 2\)"),
        ([0.0, 1.0], "labels are of type torch.float32"),
        ([True, False], "labels are of type torch.bool"),
    ],
)
def test_labels_that_name_no_option(labels: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build("bert")(**inputs("bert"), labels=torch.tensor(labels))


def test_labels_of_every_whole_type_give_the_same_loss() -> None:
    model = build("bert").eval()
    losses = [
        model(**inputs("bert"), labels=torch.tensor([0, 1], dtype=kind)).loss for kind in (torch.int64, torch.int32)
    ]
    assert losses[0] == losses[1]


def test_malformed_input() -> None:
    model, given = build("bert"), inputs("bert")

    def refused(said: str, **changed: Any) -> None:
        with pytest.raises(ValueError, match=said):
            model(**given | changed)

    refused("token_type_ids are missing.*ClozeCollator", token_type_ids=None)
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


@every_backbone
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"co_attention": "serial"}, "co_attention is 'serial'; known are stacked, parallel"),
        ({"num_co_attention_layers": -1}, "num_co_attention_layers is -1; 0 is the encoder alone"),
        ({"num_co_attention_layers": True}, "num_co_attention_layers is True; it must be a whole number"),
        ({"num_co_attention_heads": 0}, "num_co_attention_heads is 0"),
        ({"co_attention_head_size": 0}, "co_attention_head_size is 0"),
        ({"max_option_length": 0}, "max_option_length is 0"),
        ({"co_attention_dropout": 1.0}, "co_attention_dropout is 1.0"),
    ],
)
def test_impossible_configs(name: str, fields: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        MODELS[name].config_class(**SIZES[name] | fields)
    backbone_config(name).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=said):
        MODELS[name].config_class.from_pretrained(tmp_path, **fields)
