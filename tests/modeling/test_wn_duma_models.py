"""Abstract cloze models over every backbone: what goes in, what comes out, and every way to load, save and compile."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForMultipleChoice, GPT2Config

from clozeformers import AutoModelForAbstractCloze, BertForNegationScopeOA
from clozeformers.modeling import modeling_wn_duma
from clozeformers.modeling.modeling_wn_duma import WN_DUMA_MODELS, WNDumaMixin, option_loss
from tests.modeling import literal_co_attention as literal
from tests.modeling.test_negation_scope_models import (
    HIDDEN_SIZE,
    SDPA,
    SIZES,
    VOCABULARY,
    backbone_config,
    close,
    logits_of,
)
from tests.modeling.test_negation_scope_models import (
    NO_DROPOUT as NO_BACKBONE_DROPOUT,
)

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
    ],
)
def test_labels_that_name_no_option(labels: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build("bert")(**inputs("bert"), labels=torch.tensor(labels))


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


# ------------------------------------------------------------------------------------------------------ save and load


@every_backbone
@every_head
def test_save_and_load(name: str, head: dict[str, Any], tmp_path: Path) -> None:
    told = {"use_definitions": False, "use_article": False, "max_option_length": 40, "co_attention_dropout": 0.2}
    model, given = build(name, **head, **told), inputs(name)
    model.save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    expected = logits_of(model, **given)
    for auto in (AutoModelForMultipleChoice, AutoModelForAbstractCloze, MODELS[name]):
        loaded, info = auto.from_pretrained(tmp_path, output_loading_info=True)
        assert type(loaded) is MODELS[name]
        assert not loaded.training
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
        close(logits_of(loaded, **given), expected, 1e-6)  # the last bits depend on how memory is aligned
    written = json.loads((tmp_path / "config.json").read_text())
    read = AutoConfig.from_pretrained(tmp_path)
    assert type(read) is MODELS[name].config_class
    for field, value in (head | told | HEAD).items():
        assert written[field] == getattr(read, field) == value
    assert written["model_type"] == f"{name}-wn-duma"


@every_backbone
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("layers", [0, 2])
def test_load_a_pretrained_backbone(name: str, auto: bool, layers: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = AutoModel.from_config(backbone_config(name, num_labels=3))
    backbone.save_pretrained(tmp_path)
    loader = AutoModelForAbstractCloze if auto else MODELS[name]
    model, info = loader.from_pretrained(
        tmp_path, num_co_attention_layers=layers, co_attention="parallel", **HEAD, output_loading_info=True
    )
    assert type(model) is MODELS[name]
    ours, theirs = model.base_model.state_dict(), backbone.state_dict()
    # The poolers of BERT, RoBERTa and ALBERT are left out where nothing reads them.
    assert {key for key in theirs if layers == 0 or not key.startswith("pooler")} == set(ours)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert not [key for key in info["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    assert {"option_classifier.weight", "option_classifier.bias"} <= set(info["missing_keys"])
    assert (model.config.num_co_attention_layers, model.config.co_attention) == (layers, "parallel")
    assert (model.co_attention is None) == (layers == 0)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


@every_backbone
def test_from_config(name: str) -> None:
    for config in (backbone_config(name), MODELS[name].config_class(**SIZES[name])):
        model = AutoModelForAbstractCloze.from_config(
            config, co_attention="parallel", num_co_attention_layers=3, **HEAD
        )
        assert type(model) is MODELS[name]
        assert model.co_attention.num_layers == 3
        assert model.co_attention.layer.mode == "parallel"
        assert model.config.hidden_size == HIDDEN_SIZE


def test_from_pretrained_with_the_config_of_the_backbone(tmp_path: Path) -> None:
    config = backbone_config("bert", hidden_dropout_prob=0.25)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    model = AutoModelForAbstractCloze.from_pretrained(tmp_path, config=config, num_co_attention_layers=0)
    assert (model.config.hidden_dropout_prob, model.co_attention) == (0.25, None)


def test_checkpoints_of_other_models(tmp_path: Path) -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2)
    known = "albert, bert, roberta, deberta-v2, xlnet, modernbert"
    with pytest.raises(ValueError, match=rf"no abstract cloze model .*'gpt2'; there is one for {known}.*WNDumaMixin"):
        AutoModelForAbstractCloze.from_config(config)
    with pytest.raises(OSError, match=r"AutoModelForAbstractCloze\.from_pretrained\(\.\.\.\)"):
        AutoModelForAbstractCloze()
    BertForNegationScopeOA(BertForNegationScopeOA.config_class(**SIZES["bert"])).save_pretrained(tmp_path)
    said = "checkpoint of type 'bert-negation-scope-oa', not 'bert'; AutoModelForAbstractCloze"
    with pytest.raises(ValueError, match=said):
        MODELS["bert"].from_pretrained(tmp_path)


@pytest.mark.parametrize("num_labels", [2, 5])
def test_a_multiple_choice_models_classifier_is_not_taken_over(num_labels: int, tmp_path: Path) -> None:
    other = TRANSFORMERS["bert"](backbone_config("bert", num_labels=num_labels))
    nn.init.constant_(other.classifier.weight, 7.0)
    other.save_pretrained(tmp_path)
    model = AutoModelForAbstractCloze.from_pretrained(tmp_path, **ALONE)
    assert not (model.option_classifier.weight == 7.0).any()
    assert torch.equal(model.bert.pooler.dense.weight, other.bert.pooler.dense.weight)


@every_backbone
@every_head
def test_bfloat16(name: str, head: dict[str, Any], tmp_path: Path) -> None:
    model, given = build(name, **head), inputs(name)
    model.save_pretrained(tmp_path)
    half = AutoModelForAbstractCloze.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in half.parameters()} == {torch.bfloat16}
    out = half(**given, labels=LABELS)
    assert out.logits.dtype == torch.bfloat16
    assert out.loss.dtype == torch.float32
    assert out.logits[1, 2] == torch.finfo(torch.bfloat16).min
    close(
        out.logits[given["attention_mask"].any(-1)].float(),
        logits_of(model, **given)[given["attention_mask"].any(-1)],
        0.25,
    )
    out.loss.backward()
    assert half.option_classifier.weight.grad.isfinite().all()


# ---------------------------------------------------------------------------------- attention kernels, checkpointing


@pytest.mark.parametrize("name", SDPA)
def test_attention_implementations_agree(name: str, tmp_path: Path) -> None:
    model, given = build(name), inputs(name)
    model.save_pretrained(tmp_path)
    logits = []
    for implementation in ("eager", "sdpa"):
        loaded = AutoModelForAbstractCloze.from_pretrained(tmp_path, attn_implementation=implementation)
        assert loaded.base_model.config._attn_implementation == implementation
        logits.append(logits_of(loaded, **given))
    close(*logits)


@every_backbone
@every_head
def test_gradient_checkpointing(name: str, head: dict[str, Any]) -> None:
    model, given = build(name, **NO_DROPOUT, **head).train(), inputs(name)
    runs: dict[str, int] = {}
    for key, module in model.named_modules():
        if isinstance(module, nn.Linear) and "layer" in key:
            module.register_forward_pre_hook(lambda *_, key=key: runs.update({key: runs.get(key, 0) + 1}))
    counts, gradients = [], []
    for checkpointing in (False, True):
        if checkpointing:
            # The older name is deprecated; the newer one is not there yet in the lowest version allowed.
            newer = hasattr(model, "activation_checkpointing_enable")
            (model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable)()
        model.zero_grad()
        runs.clear()
        model(**given, labels=LABELS).loss.backward()
        counts.append(dict(runs))
        gradients.append({key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None})
    assert counts[1] == {key: 2 * times for key, times in counts[0].items()}, "every layer is run again going back"
    assert any("co_attention" in key for key in counts[0]) == (head != ALONE)
    assert any(key.startswith(model.base_model_prefix) for key in counts[0])
    assert gradients[0].keys() == gradients[1].keys()
    for key, gradient in gradients[0].items():
        close(gradients[1][key], gradient, 1e-6)


# -------------------------------------------------------------------------------------------------- compile and export

ONE_LAYER = {"num_hidden_layers": 1}


@every_backbone
@pytest.mark.parametrize("head", [{}, ALONE], ids=["stacked", "alone"])
def test_compiled_in_one_graph(name: str, head: dict[str, Any]) -> None:
    torch._dynamo.reset()
    model, given = build(name, **ONE_LAYER, **head), inputs(name)
    expected = model(**given, labels=LABELS)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(**given, labels=LABELS)
    close(compiled.logits, expected.logits)
    close(compiled.loss, expected.loss)


@every_backbone
def test_exported_for_every_batch_and_length(name: str) -> None:
    model, given = build(name, **ONE_LAYER), inputs(name)
    dimensions = {key: dict.fromkeys(range(3), torch.export.Dim.AUTO) for key in given}
    exported = torch.export.export(model, (), given, dynamic_shapes=dimensions).module()
    asked = questions(name)
    longer = [[row(name, pieces(20, 1), pieces(5, 2)), row(name, pieces(9, 3), pieces(2, 4))]]
    for given in (batch(asked), batch(asked[1:]), batch(longer, left=1, options=5), batch([*longer, *asked, *asked])):
        close(logits_of(exported, **given), logits_of(model, **given))
