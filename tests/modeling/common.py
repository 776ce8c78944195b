"""What every model class has to do: a mixin in the manner of transformers' own common tests.

Memory that nobody initialises holds NaN while the weights of a checkpoint are missing; other batches than the one that
was exported have other sizes and lengths.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime
import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from clozeformers.tasks import Task

HIDDEN_STATES, ATTENTIONS = "output_hidden_states", "output_attentions"


@dataclass(frozen=True)
class Case:
    """A model class with a tiny config and a padded batch.

    Attributes:
        model_class: the class.
        task: its row in the table of tasks.
        config: returns a config, given fields.
        inputs: the batch; `attention_mask` tells which positions are real.
        labels: of the batch.
    """

    model_class: type[PreTrainedModel]
    task: Task
    config: Callable[..., Any]
    inputs: dict[str, Tensor]
    labels: dict[str, Tensor]

    def build(self, **fields: Any) -> Any:
        """A model in evaluation, whose weights are large enough for differences to be seen."""
        torch.manual_seed(0)
        model: Any = self.model_class(self.config(**fields))
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
        return model.eval()

    def answers(self, output: Any, inputs: dict[str, Tensor] | None = None) -> Tensor:
        """The predictions at real positions, in one row."""
        real = (self.inputs if inputs is None else inputs)["attention_mask"].bool()
        real = real.any(-1) if real.dim() == 3 else real
        fields = [output[name] for name in ("logits", "start_logits", "end_logits") if name in output]
        # The dtype's minimum stands where no answer may be.
        return torch.cat(
            [x[real].masked_fill(x[real] == torch.finfo(x.dtype).min, 0).flatten().float() for x in fields]
        )

    def predict(self, model: Any, **inputs: Any) -> Tensor:
        with torch.no_grad():
            return self.answers(model(**inputs or self.inputs), inputs or self.inputs)

    def example(self, number: int) -> dict[str, Tensor]:
        """One example of the batch, without its padding."""
        mask = self.inputs["attention_mask"][number].bool()
        extent = [slice(number, number + 1)]
        for dimension in range(mask.dim()):
            others = [other for other in range(mask.dim()) if other != dimension]
            extent.append(slice(int((mask.any(others[0]) if others else mask).nonzero().max()) + 1))
        return {name: values[tuple(extent)] for name, values in self.inputs.items()}


def close(ours: Tensor, theirs: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(ours, theirs, atol=within, rtol=0)


def roughly_equal(ours: Tensor, theirs: Tensor) -> None:
    """Equal but for the rounding of half precision or eight bits."""
    torch.testing.assert_close(ours, theirs, atol=0.5, rtol=0.1)


class CommonModelTests:
    """Mixin: a subclass names its `case`."""

    case: Case

    # ------------------------------------------------------------------------------------------------- save and load

    def test_every_auto_class_loads_what_was_saved(self, tmp_path: Path) -> None:
        model = self.case.build()
        model.save_pretrained(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
        for loader in (AutoModel, self.case.task.auto_model, self.case.model_class):
            loaded, info = loader.from_pretrained(tmp_path, output_loading_info=True)
            assert type(loaded) is self.case.model_class
            assert not loaded.training
            assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
            assert loaded.config.to_dict() == model.config.to_dict() | {"_name_or_path": str(tmp_path)}
            close(self.case.predict(loaded), self.case.predict(model), 1e-6)

    def test_missing_weights_are_those_of_a_new_model(self, tmp_path: Path) -> None:
        """Each weight in turn of a state is missing; memory that nobody wrote holds NaN."""
        model = self.case.build()
        model.save_pretrained(tmp_path)
        new = self.case.model_class(self.case.config()).state_dict()
        saved = load_file(tmp_path / "model.safetensors")
        torch.use_deterministic_algorithms(True)
        try:
            for part in range(2):
                kept = {key: value for number, (key, value) in enumerate(sorted(saved.items())) if number % 2 == part}
                save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
                loaded = self.case.model_class.from_pretrained(tmp_path).state_dict()
                for key, value in loaded.items():
                    if key in kept:
                        assert torch.equal(value, kept[key]), key
                    else:
                        assert_same_distribution(key, value, new[key])
        finally:
            torch.use_deterministic_algorithms(False)

    def test_mismatched_weights(self, tmp_path: Path) -> None:
        self.case.build().save_pretrained(tmp_path)
        state = load_file(tmp_path / "model.safetensors")
        key = next(name for name in state if name.endswith(("classifier.weight", "end.weight")))
        state[key] = torch.ones(7, 5)
        save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(RuntimeError, match="ignore_mismatched_sizes"):
            self.case.model_class.from_pretrained(tmp_path)
        loaded, info = self.case.model_class.from_pretrained(
            tmp_path, ignore_mismatched_sizes=True, output_loading_info=True
        )
        assert [mismatch[0] for mismatch in info["mismatched_keys"]] == [key]
        assert self.case.predict(loaded).isfinite().all()

    def test_meta_device(self) -> None:
        with torch.device("meta"):
            model = self.case.model_class(self.case.config())
        assert all(parameter.is_meta for parameter in model.parameters())

    # ------------------------------------------------------------------------------------------------------- outputs

    def test_tuple_and_dict(self) -> None:
        model = self.case.build()
        output = model(**self.case.inputs, **self.case.labels)
        names = [name for name in output if output[name] is not None]
        assert names[0] == "loss"
        for values in (
            model(**self.case.inputs, **self.case.labels, return_dict=False),
            configured(model, return_dict=False)(**self.case.inputs, **self.case.labels),
        ):
            assert isinstance(values, tuple)
            for name, value in zip(names, values, strict=True):
                close(value, output[name], 1e-6)

    @pytest.mark.parametrize("switch", [HIDDEN_STATES, ATTENTIONS])
    def test_hidden_states_and_attentions(self, switch: str) -> None:
        model = self.case.build(attn_implementation="eager") if switch == ATTENTIONS else self.case.build()
        field = switch.removeprefix("output_")
        plain = model(**self.case.inputs)
        assert field not in plain
        asked = model(**self.case.inputs, **{switch: True})
        by_config = configured(model, **{switch: True})
        assert by_config(**self.case.inputs, **{switch: False}).keys() == plain.keys()
        from_config = by_config(**self.case.inputs)
        assert from_config.keys() == asked.keys() > plain.keys()
        assert len(from_config[field]) == len(asked[field]) > 0
        for one, other in zip(from_config[field], asked[field], strict=True):
            assert one.isfinite().all()
            close(one, other, 1e-6)
        close(self.case.answers(asked), self.case.answers(plain))

    def test_each_example_alone_is_as_in_its_batch(self) -> None:
        model = self.case.build()
        output = model(**self.case.inputs)
        for number in range(len(self.case.inputs["attention_mask"])):
            alone = self.case.example(number)
            row = {name: output[name][number : number + 1] for name in output if "logits" in name}
            mask = {"attention_mask": self.case.inputs["attention_mask"][number : number + 1]}
            close(self.case.answers(row, mask), self.case.answers(model(**alone), alone))

    # ---------------------------------------------------------------------------------------------------- embeddings

    def test_input_embeddings(self) -> None:
        model = self.case.build()
        before, embeddings = self.case.predict(model), model.get_input_embeddings()
        assert isinstance(embeddings, nn.Embedding)
        assert embeddings.num_embeddings == model.config.vocab_size
        model.set_input_embeddings(deepcopy(embeddings))
        close(self.case.predict(model), before, 1e-6)
        resized = model.resize_token_embeddings(model.config.vocab_size + 5)
        assert model.get_input_embeddings() is resized
        assert resized.num_embeddings == model.config.vocab_size == embeddings.num_embeddings + 5
        close(self.case.predict(model), before, 1e-6)
        inputs = self.case.inputs | {"input_ids": self.case.inputs["input_ids"].clamp(min=model.config.vocab_size - 2)}
        assert self.case.predict(model, **inputs).isfinite().all()

    def test_embeddings_as_input(self) -> None:
        """Of an example without padding: the ids tell some encoders which positions are padded."""
        model, inputs = self.case.build(), self.case.example(0)
        expected = self.case.predict(model, **inputs)
        ids = inputs.pop("input_ids")
        close(self.case.predict(model, inputs_embeds=model.get_input_embeddings()(ids), **inputs), expected)
        with pytest.raises(ValueError, match="input_ids"):
            model(**inputs)

    # ------------------------------------------------------------------------------------------------------ training

    def test_gradient_checkpointing(self) -> None:
        """Same gradients; and each linear layer in a checkpointed one runs again in the backward pass."""
        gradients, counts = [], []
        for checkpointing in (False, True):
            model = without_dropout(self.case.build().train())
            if checkpointing:
                # The older name is deprecated; the lowest supported version lacks the newer one.
                newer = hasattr(model, "activation_checkpointing_enable")
                (model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable)()
            runs: dict[str, int] = {}
            for key, module in model.named_modules():
                if isinstance(module, GradientCheckpointingLayer):
                    for name, layer in module.named_modules(prefix=key):
                        if isinstance(layer, (nn.Linear, nn.RNNBase)):
                            layer.register_forward_pre_hook(lambda *_, n=name, r=runs: r.update({n: r.get(n, 0) + 1}))
            model(**self.case.inputs, **self.case.labels).loss.backward()
            counts.append(runs)
            gradients.append({key: p.grad for key, p in model.named_parameters() if p.grad is not None})
        assert counts[0]
        assert counts[1] == {name: 2 * times for name, times in counts[0].items()}
        assert gradients[0].keys() == gradients[1].keys()
        for key, gradient in gradients[0].items():
            close(gradients[1][key], gradient, 1e-6)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
    def test_half_precision(self, dtype: torch.dtype, tmp_path: Path) -> None:
        model = self.case.build()
        model.save_pretrained(tmp_path)
        half = self.case.model_class.from_pretrained(tmp_path, dtype=dtype)
        assert {p.dtype for p in half.parameters()} == {dtype}
        output = half(**self.case.inputs, **self.case.labels)
        roughly_equal(self.case.answers(output), self.case.predict(model))
        assert output.loss.dtype == torch.float32
        output.loss.backward()
        assert all(p.grad.isfinite().all() for p in half.parameters() if p.grad is not None)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = model(**self.case.inputs, **self.case.labels)
        roughly_equal(self.case.answers(output), self.case.predict(model))

    @pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # in peft
    def test_lora_adapter(self, tmp_path: Path) -> None:
        self.case.build().save_pretrained(tmp_path / "base")
        base = self.case.model_class.from_pretrained(tmp_path / "base")
        linear = [key for key, module in base.named_modules() if isinstance(module, nn.Linear)]
        model = peft.get_peft_model(base, peft.LoraConfig(r=2, target_modules=linear, init_lora_weights=False))
        model(**self.case.inputs, **self.case.labels).loss.backward()
        untrained = [key for key, p in model.named_parameters() if "lora_" in key and p.grad is None]
        model.save_pretrained(tmp_path / "adapter")
        expected = self.case.predict(model.eval())
        for _ in range(2):
            loaded = self.case.task.auto_model.from_pretrained(tmp_path / "adapter")
            close(self.case.predict(loaded), expected, 1e-6)
        assert not untrained

    # ------------------------------------------------------------------------------------------------ memory and speed

    def test_offload_to_disk(self, tmp_path: Path) -> None:
        model = self.case.build()
        expected = self.case.predict(model)
        model.save_pretrained(tmp_path / "model")
        size = sum(p.numel() * p.element_size() for p in model.parameters())
        places: set[str] = set()
        for part in (0.3, 0.5, 0.7, 0.9):
            loaded = self.case.model_class.from_pretrained(
                tmp_path / "model", device_map="auto", max_memory={"cpu": int(part * size)}, offload_folder=tmp_path
            )
            places |= {str(device) for device in loaded.hf_device_map.values()}
            close(self.case.predict(loaded), expected)
        assert "disk" in places

    def test_attention_implementations(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel, calls, answers = nn.functional.scaled_dot_product_attention, [], {}
        monkeypatch.setattr(
            nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or kernel(*a, **k)
        )
        for name in ("eager", "sdpa"):
            calls.clear()
            answers[name] = self.case.predict(self.case.build(attn_implementation=name))
            assert bool(calls) == (name == "sdpa")
        close(answers["eager"], answers["sdpa"])

    @pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
    def test_dynamic_quantisation(self) -> None:
        model = self.case.build()
        quantised = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
        roughly_equal(self.case.predict(quantised), self.case.predict(model))


class CompiledTests(CommonModelTests):
    """Mixin with the slower test too."""

    def test_compiled_in_one_graph(self) -> None:
        torch._dynamo.reset()
        model, given = self.case.build(), self.case.inputs | self.case.labels
        output, expected = torch.compile(model, fullgraph=True, backend="eager")(**given), model(**given)
        close(self.case.answers(output), self.case.answers(expected))
        close(output.loss, expected.loss)


class ExportTests:
    """Mixin of the slowest test."""

    case: Case

    def other_batches(self) -> list[dict[str, Tensor]]:
        """Batches of other sizes and lengths than the example's."""
        longer = {name: nn.functional.pad(values, (0, 3)) for name, values in self.case.inputs.items()}
        if "char_ids" in longer:
            longer["char_ids"] = nn.functional.pad(self.case.inputs["char_ids"], (0, 0, 0, 3))
        twice = {name: torch.cat([values, values]) for name, values in longer.items()}
        return [self.case.inputs, twice, self.case.example(0), self.case.example(1)]

    @pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning")  # in torch.onnx
    def test_exported_to_torch_and_onnx_for_every_batch_and_length(self, tmp_path: Path) -> None:
        model = self.case.build()
        dimensions = {
            name: dict.fromkeys(range(values.dim()), torch.export.Dim.AUTO) for name, values in self.case.inputs.items()
        }
        program = torch.export.export(model, (), self.case.inputs, dynamic_shapes=dimensions)
        torch.onnx.export(program, dynamo=True, verbose=False, optimize=False).save(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        for batch in self.other_batches():
            expected = self.case.predict(model, **batch)
            close(self.case.predict(program.module(), **batch), expected, 1e-4)
            outputs = session.run(None, {given.name: batch[given.name].numpy() for given in session.get_inputs()})
            names = ("logits",) if len(outputs) == 1 else ("start_logits", "end_logits")
            output = dict(zip(names, map(torch.from_numpy, outputs), strict=True))
            close(self.case.answers(output, batch), expected, 1e-4)


def assert_same_distribution(key: str, value: Tensor, new: Tensor) -> None:
    assert value.isfinite().all(), key
    if new.numel() < 64 or new.unique().numel() == 1:
        assert new.unique().numel() > 1 or torch.equal(value, new), key
    else:
        assert 0.6 < float(value.std() / new.std()) < 1.6, key
        assert float(value.mean() - new.mean()).__abs__() < float(new.std()), key


def configured(model: Any, **fields: Any) -> Any:
    """A copy of a model, built from its config with other fields."""
    config = type(model.config).from_dict(json.loads(model.config.to_json_string(use_diff=False)) | fields)
    config._attn_implementation = model.config._attn_implementation
    copy = type(model)(config)
    copy.load_state_dict(model.state_dict())
    return copy.eval()


def without_dropout(model: Any) -> Any:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("dropout", "word_dropout", "attention_dropout", "mlp_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model
