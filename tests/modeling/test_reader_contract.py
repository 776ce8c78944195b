"""QANet and BiDAF as models of transformers: loading, outputs, checkpointing, devices, compilation and export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForQuestionAnswering

from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.modeling.modeling_bidaf import BiDAFForQuestionAnswering
from clozeformers.modeling.modeling_qanet import QANetForQuestionAnswering

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

WITH_BUFFERS = {QANetForQuestionAnswering: {"num_model_blocks": 1}, BiDAFForQuestionAnswering: {"word_features": True}}


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
    peft = pytest.importorskip("peft")
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@every_model
def test_lower_precision(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    model = single(name)
    model.save_pretrained(tmp_path)
    half = type(model).from_pretrained(tmp_path, dtype=dtype)
    assert {parameter.dtype for parameter in half.parameters()} == {dtype}
    out, expected = half(**inputs(), **LABELS), run(model, inputs())
    real = expected.start_logits > -1e9
    for field in ("start_logits", "end_logits"):
        torch.testing.assert_close(out[field][real].float(), expected[field][real], atol=0.3, rtol=0.05)
    out.loss.backward()
    assert all(p.grad.isfinite().all() for p in half.parameters() if p.requires_grad)


@pytest.mark.parametrize("name", ["qanet", "bidaf-max"])
def test_embeddings_are_resized(name: str) -> None:
    model, given = single(name), inputs()
    expected = run(model, given)
    for size in (40, 30):
        assert model.resize_token_embeddings(size) is model.get_input_embeddings()
        assert model.get_input_embeddings().weight.shape == (size, 6)
        assert not model.get_input_embeddings().weight.requires_grad
        close(run(model, given), expected)
        assert run(model, given | {"input_ids": given["input_ids"].clamp(max=size - 1)}).start_logits.isfinite().all()
