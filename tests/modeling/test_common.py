"""Every model class of the table of tasks does what `CommonModelTests` asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from clozeformers.modeling.modeling_negation_scope import XLNetForNegationScopeOA
from clozeformers.modeling.modeling_qanet import QANetForQuestionAnswering
from clozeformers.tasks import TASKS, Task

from . import tiny_readers as readers
from .common import Case, CommonModelTests, CompiledTests, ExportTests
from .tiny_models import ALONE, BASELINE, CLOZE, NEGATION, Head

NO_SDPA = "the encoder in transformers has no fused attention"
FUSED = "recurrent layers stay out of the graph: their fused kernels are faster"
ON_META = "the encoder in transformers creates some parameters on the CPU"
OUTSIDE = (
    "the encoder in transformers reads its relative embeddings outside of their module, which offloading cannot see"
)
ELSEWHERE = "the encoder is exported below the other task's head, and this head above other encoders"
IN_PIPELINE = "exported from its pipeline in tests/test_onnx.py"
# What cannot be had, or need not: (test, beginning of the class's name) -> reason.
SKIPPED = {
    **{
        ("test_exported_to_torch_and_onnx_for_every_batch_and_length", name): ELSEWHERE
        for name in ("AlbertFor", "BertWith", "DebertaV2With", "ModernBertWith", "RobertaWith", "XLNetWith")
    },
    **{
        ("test_exported_to_torch_and_onnx_for_every_batch_and_length", name): IN_PIPELINE
        for name in ("BertFor", "RobertaFor")
    },
    ("test_attention_implementations", "XLNet"): NO_SDPA,
    ("test_attention_implementations", "DebertaV2"): NO_SDPA,
    ("test_attention_implementations", "BiDAF"): "no layer of this model has a fused counterpart",
    ("test_compiled_in_one_graph", "BiDAF"): FUSED,
    ("test_meta_device", "XLNet"): ON_META,
    ("test_offload_to_disk", "DebertaV2"): OUTSIDE,
}


def negation_case(task: Task, model_class: Any, **variant: Any) -> Case:
    return head_case(NEGATION, task, model_class, num_attention_blocks=1, **variant)


def cloze_case(task: Task, model_class: Any, **variant: Any) -> Case:
    return head_case(CLOZE, task, model_class, **variant)


def head_case(head: Head, task: Task, model_class: Any, **variant: Any) -> Case:
    name = model_class.config_class.backbone_model_type
    config = partial(head.config, name, num_hidden_layers=1, **variant)
    return Case(model_class, task, config, head.inputs(name), head.labels)


def reader_case(task: Task, model_class: Any, **variant: Any) -> Case:
    inputs = readers.batch([readers.example(1, 3, 6), readers.example(2, 5, 2), readers.example(3, 2, 4)], padding=1)
    labels = {"start_positions": torch.tensor([5, 0, 5]), "end_positions": torch.tensor([7, 0, 6])}
    fields = readers.TINY | variant | ({"num_model_blocks": 1} if model_class is QANetForQuestionAnswering else {})
    return Case(model_class, task, partial(model_class.config_class, **fields), inputs, labels)


# By task: how to build a case, and the variants beside the default one.
CASES: dict[str, tuple[Callable[..., Case], dict[str, dict[str, Any]]]] = {
    "negation_scope": (negation_case, {"Baseline": BASELINE}),
    "abstract_cloze": (cloze_case, {"Alone": ALONE}),
    "question_answering": (reader_case, {"OrthogonalAttention": {"attention": "OA-EMB"}}),
}

# The pipelines of a BERT and of a reader are exported in tests/test_onnx.py.
EXPORTED_FAST = (XLNetForNegationScopeOA,)

for _task in TASKS:
    _build, _variants = CASES[_task.name]
    for _model_class in _task.models:
        _name = f"Test{_model_class.__name__}"
        _case = _build(_task, _model_class)
        globals()[_name] = type(_name, (CompiledTests,), {"case": _case})
        _marks = [] if _model_class in EXPORTED_FAST else [pytest.mark.slow]
        globals()[_name + "Exported"] = type(_name + "Exported", (ExportTests,), {"case": _case, "pytestmark": _marks})
        for _variant, _fields in _variants.items():
            _case = _build(_task, _model_class, **_fields)
            globals()[_name + _variant] = type(_name + _variant, (CommonModelTests,), {"case": _case})


@pytest.fixture(autouse=True)
def skip_what_cannot_be_had(request: pytest.FixtureRequest) -> None:
    if request.cls is not None:
        name = request.cls.__name__.removeprefix("Test").removesuffix("Exported")
        for (test, beginning), reason in SKIPPED.items():
            if request.function.__name__ == test and name.startswith(beginning):
                pytest.skip(reason)


def test_skips_are_of_existing_tests() -> None:
    assert all(hasattr(CompiledTests, test) or hasattr(ExportTests, test) for test, _ in SKIPPED)
