"""QANet and BiDAF as models of transformers: what the common tests do not ask of every variant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForQuestionAnswering

from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.modeling.modeling_bidaf import BiDAFForQuestionAnswering
from clozeformers.modeling.modeling_qanet import EncoderBlock, QANetForQuestionAnswering
from clozeformers.modeling.recurrent import BidirectionalRNN

from .tiny_readers import TINY, batch, build, every_model, example

LABELS = {"start_positions": torch.tensor([5, 0, 6]), "end_positions": torch.tensor([7, 0, 6])}


def inputs() -> dict[str, Tensor]:
    return questions((3, 6), (5, 2), (2, 9), padding=1)


def questions(*lengths: tuple[int, int], padding: int = 0) -> dict[str, Tensor]:
    return batch([example(seed, *pair) for seed, pair in enumerate(lengths)], padding)


def single(name: str) -> Any:
    return build(name, random=False).float()


def close(ours: Any, theirs: Any, within: float = 1e-5) -> None:
    for field in ("start_logits", "end_logits"):
        torch.testing.assert_close(ours[field], theirs[field], atol=within, rtol=0)


def run(model: nn.Module, given: dict[str, Tensor]) -> Any:
    with torch.no_grad():
        return model(**given)


# ------------------------------------------------------------------------------------------------------ save and load

WITH_BUFFERS = {
    QANetForQuestionAnswering: {"num_model_blocks": 1, "word_features": True},
    BiDAFForQuestionAnswering: {"word_features": True},
}


@pytest.mark.parametrize("model_class", WITH_BUFFERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_missing_weights_are_those_of_a_new_model(
    attention: str, model_class: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = 4 if model_class is QANetForQuestionAnswering else 8
    fields = TINY | WITH_BUFFERS[model_class] | {"hidden_size": 16, "num_attention_heads": heads}
    new = model_class(model_class.config_class(**fields, attention=attention))
    new.save_pretrained(tmp_path)
    saved = load_file(tmp_path / "model.safetensors")
    save_file(dict(list(saved.items())[::2]), tmp_path / "model.safetensors", metadata={"format": "pt"})
    empty_like = torch.empty_like

    def uninitialised(like: Tensor, **options: Any) -> Tensor:
        made = empty_like(like, **options)
        return made.fill_(torch.nan) if made.is_floating_point() else made

    monkeypatch.setattr(torch, "empty_like", uninitialised)
    loaded = model_class.from_pretrained(tmp_path)
    for number, (name, value) in enumerate(saved.items()):
        ours = loaded.state_dict()[name]
        if number % 2 == 0:
            assert torch.equal(ours, value), name
        else:
            assert (ours != 0).any() == (value != 0).any(), name
            assert ours.abs().mean() <= 2.5 * value.abs().mean(), name  # False for NaN
    assert not loaded.embeddings.word_vectors.weight.requires_grad


def test_a_pickle_file_is_loaded_only_if_told_to(tmp_path: Path) -> None:
    model = single("bidaf-dot")
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    for loader in (type(model), AutoModelForQuestionAnswering):
        with pytest.raises(OSError, match=r"no model\.safetensors.* convert them: .*use_safetensors=False\)\.save_pre"):
            loader.from_pretrained(tmp_path)
        close(run(loader.from_pretrained(tmp_path, use_safetensors=False), inputs()), run(model, inputs()))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PEFT
@pytest.mark.parametrize(("name", "layers"), [("qanet", ["query_key_value", "pointwise"]), ("bidaf-dot", ["modeling"])])
def test_adapters(name: str, layers: list[str], tmp_path: Path) -> None:
    """`model_encoder` and `modeling` begin like PEFT's prefix of all names."""
    single(name).save_pretrained(tmp_path / "base")
    base = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(target_modules=layers, init_lora_weights=False)).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    expected = run(adapted, inputs())
    loaded, info = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "adapter", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    close(run(loaded, inputs()), expected)
    loaded.save_pretrained(tmp_path / "again")
    loaded = type(base).from_pretrained(tmp_path / "base")
    loaded.load_adapter(tmp_path / "again")
    close(run(loaded, inputs()), expected)


# ----------------------------------------------------------------------------------------------------------- outputs


@every_model
def test_hidden_states_and_attentions(name: str) -> None:
    model, given = single(name), inputs()
    plain, out = run(model, given), run(model, given | {"output_hidden_states": True, "output_attentions": True})
    assert set(plain) == {"start_logits", "end_logits"}
    close(out, plain, 0)
    is_question = (given["token_type_ids"] == 0) & (given["input_ids"] > 3)
    is_context = ((given["token_type_ids"] == 1) & (given["input_ids"] != 3) & (given["input_ids"] != 0)).index_fill(
        1, torch.tensor(0), True
    )
    for number, states in enumerate(out.hidden_states):
        assert states.shape[:2] == given["input_ids"].shape
        assert states.any()
        assert not states[~(is_context | is_question if number < 2 else is_context)].any()
    assert out.hidden_states[0].size(-1) == model.embeddings.output_size
    assert out.hidden_states[2].size(-1) == model.attention.output_size
    (attention,) = out.attentions
    assert attention.shape == (3, attention.size(1), 15, 15)
    torch.testing.assert_close(attention.sum(-1), is_context.float().unsqueeze(1).expand(attention.shape[:3]))
    assert not attention.masked_select(~is_question[:, None, None, :]).any()
    model.set_attn_implementation("eager")
    model.config.output_hidden_states = model.config.output_attentions = True
    by_config = run(model, given)
    for ours, expected in ((by_config.hidden_states, out.hidden_states), (by_config.attentions, out.attentions)):
        torch.testing.assert_close(ours, expected)
    assert len(run(model, given | {"return_dict": False})) == 4


@every_model
def test_word_vectors_as_input(name: str) -> None:
    model, given = single(name), inputs()
    expected = run(model, given)
    vectors = model.get_input_embeddings()(given["input_ids"])
    close(run(model, given | {"inputs_embeds": vectors}), expected)
    input_ids = given.pop("input_ids")
    given["inputs_embeds"] = vectors.requires_grad_()
    if model.config.word_features:
        with pytest.raises(ValueError, match="give them beside inputs_embeds"):
            run(model, given)
    else:
        out = model(**given, **LABELS)
        close(out, expected)
        out.loss.backward()
        assert torch.equal(vectors.grad.any(-1), input_ids > 3)
        with pytest.raises(ValueError, match="need token_type_ids"):
            model(inputs_embeds=vectors, char_ids=given["char_ids"])
    with pytest.raises(ValueError, match="give input_ids or inputs_embeds"):
        model()


@pytest.mark.parametrize("reentrant", [False, True])
@every_model
def test_gradient_checkpointing(name: str, reentrant: bool) -> None:
    model, given = single(name).train(), inputs()
    runs = []
    layers = [module for module in model.modules() if isinstance(module, (EncoderBlock, BidirectionalRNN))]
    inner = next(module for module in layers[-1].modules() if isinstance(module, (nn.Linear, nn.RNNBase)))
    inner.register_forward_pre_hook(lambda *_: runs.append(1))
    results = []
    for checkpointing in (False, True):
        if checkpointing:
            # The older name is deprecated; the lowest supported version lacks the newer one.
            newer = hasattr(model, "activation_checkpointing_enable")
            enable = model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable
            enable({"use_reentrant": reentrant})
        torch.manual_seed(3)
        model.zero_grad()
        runs.clear()
        loss = model(**given, **LABELS).loss
        loss.backward()
        gradients = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
        results.append((len(runs), loss.detach(), gradients))
    (plain_runs, *plain), (checkpointed_runs, *checkpointed) = results
    assert checkpointed_runs == 2 * plain_runs
    torch.testing.assert_close(checkpointed, plain, atol=1e-6, rtol=0)


# ------------------------------------------------------------------------------------------------ compile and export


@pytest.mark.parametrize(
    ("name", "breaks", "training"), [pytest.param("qanet", 0, True, marks=pytest.mark.slow), ("bidaf", 4, True)]
)
def test_compiled(name: str, breaks: int, training: bool) -> None:
    """Only recurrent layers, of context, question, modeling and end, stay out of the graphs."""
    model, given = single(name).train(training), inputs() | LABELS
    for module in model.modules():
        for field in ("dropout", "word_dropout", "p"):
            if isinstance(getattr(module, field, None), float):
                setattr(module, field, 0.0)
    model.config.dropout = 0.0
    if name == "qanet":  # stochastic depth, which skips nothing here
        for stack in (model.embedding_encoder, model.model_encoder):
            stack.skip = [[1e-9] * len(chances) for chances in stack.skip]
    torch._dynamo.reset()
    assert torch._dynamo.explain(model)(**given).graph_break_count == breaks
    torch._dynamo.reset()
    expected = model(**given)
    out = torch.compile(model, backend="aot_eager", fullgraph=not breaks)(**given)
    close(out, expected)
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    got, wanted = (torch.autograd.grad(one.loss, weights, allow_unused=True) for one in (out, expected))
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)


OTHER_SHAPES = [((4, 20),), ((1, 1), (2, 2)), tuple((2, i + 1) for i in range(7)), ((0, 3), (1, 2))]


def dynamic(given: dict[str, Tensor]) -> dict[str, Any]:
    return {name: dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC) for name in given}


@pytest.mark.parametrize("name", ["bidaf-gru-dense", pytest.param("bidaf-sum", marks=pytest.mark.slow)])
def test_exported_for_every_batch_and_length(name: str) -> None:
    model, given = single(name), inputs()
    with torch.no_grad():
        exported = torch.export.export(model, (), given, dynamic_shapes=dynamic(given), strict=False).module()
    for lengths in OTHER_SHAPES:
        other = questions(*lengths, padding=len(lengths))
        close(run(exported, other), run(model, other))
