"""What all pipelines share: kinds of input, batches, streams, workers, invalid inputs and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import IterableDataset
from transformers import AutoTokenizer, PythonBackend

from clozeformers import BertForNegationScopeOA
from clozeformers.hub_export import flat_source, needed_modules
from clozeformers.modeling.modeling_wn_duma import WN_DUMA_MODELS
from clozeformers.pipelines.base import TextPipeline
from clozeformers.pipelines.negation_scope import NegationScopePipeline
from clozeformers.pipelines.question_answering import ExtractiveQuestionAnsweringPipeline
from tests import cloze_models, hub_models, qa_models

from .results import same

TASKS = ["negation", "qa-word", "cloze-bert"]
MODELS = ["negation", *(f"qa-{kind}" for kind in qa_models.MODELS), *(f"cloze-{kind}" for kind in cloze_models.MODELS)]
TEXTS = ["I do not know.", "", "He is never in, but not out.", "All is well.", "No man, no cat. " * 7, "no"]
ASKED = {"article": cloze_models.ARTICLE, "question": cloze_models.QUESTION, "options": cloze_models.OPTIONS}
MANY: dict[str, list[Any]] = {
    "negation": [{"text": text} for text in TEXTS],
    "qa": [
        {"question": "Who sits on the mat?", "context": qa_models.CONTEXT},
        {"question": "where", "context": "Paris"},
        {"question": "In 1990?", "context": qa_models.CONTEXT * 6},
        {"question": " what does it cost, and who says so " * 9, "context": "x" + qa_models.CONTEXT},
        {"question": "?", "context": "."},
    ],
    "cloze": [
        ASKED,
        ASKED | {"options": ["not", "very happy", "a", "new", "doing something and"]},
        ASKED | {"article": cloze_models.ARTICLE * 20},
        {"article": "cat", "question": "@placeholder", "options": ["İﬁ", "😀 é"]},
        ASKED | {"question": "the dog sat on the mat , in the @placeholder of the cat ", "article": "A dog."},
    ],
}


def build(name: str, folder: Path, **arguments: Any) -> Any:
    task, _, kind = name.partition("-")
    if task == "qa":
        return qa_models.tiny_reader(kind, **arguments)
    if task == "cloze":
        return cloze_models.tiny_cloze(kind, **arguments)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForNegationScopeOA.from_pretrained(folder)
    return NegationScopePipeline(model=model, tokenizer=tokenizer, device="cpu", **arguments)


@pytest.fixture(scope="module", params=TASKS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def many(name: str) -> list[Any]:
    return MANY[name.split("-", maxsplit=1)[0]]


@pytest.fixture(scope="module")
def pipe(name: str, tiny_model_folder: Path) -> Any:
    return build(name, tiny_model_folder)


@pytest.mark.parametrize("name", MODELS, scope="module")
def test_batches_and_order_change_nothing(pipe: Any, many: list[Any]) -> None:
    alone = [pipe(given) for given in many]
    for batch_size in (1, 2, 64):
        assert same(pipe(many, batch_size=batch_size), alone)
        assert same(pipe(many[::-1] * 2, batch_size=batch_size), alone[::-1] * 2)


class Rows(TorchDataset[Any]):
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> Any:
        return self.rows[number]


class Stream(IterableDataset[Any]):
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __iter__(self) -> Any:
        return iter(self.rows)


def test_every_kind_of_collection(pipe: Any, many: list[Any]) -> None:
    expected = pipe(many)
    for collection in (tuple(many), np.array(many, dtype=object), pd.Series(many, index=range(9, 9 + len(many)))):
        assert pipe(collection) == expected
    corpus = Dataset.from_list([row | {"id": str(number)} for number, row in enumerate(many)])
    streams = [iter(many), Rows(many), Stream(many), corpus, corpus.with_format("numpy"), corpus.to_iterable_dataset()]
    for collection in streams:
        results = pipe(collection, progress_bar=True)
        assert not isinstance(results, list)
        assert list(results) == expected
    assert pipe([]) == []
    with pytest.raises(TypeError, match=r'a data frame is not supported; pass its rows, frame.to_dict\("records"\)'):
        pipe(pd.DataFrame(many))


def test_generators_stream(pipe: Any, many: list[Any]) -> None:
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield many[0]

    results = pipe(endless(), batch_size=2)
    assert not taken
    assert len(list(islice(results, 3))) == 3
    assert len(taken) < 100


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_worker_processes_change_nothing(pipe: Any, many: list[Any]) -> None:
    given = [many[0], 5, *many[1:]] * 3
    expected = pipe(given, on_error="skip", batch_size=2)
    state = torch.get_rng_state()
    assert pipe(given, on_error="skip", batch_size=2, num_workers=2) == expected
    assert list(pipe(iter(given), on_error="skip", batch_size=2, num_workers=2)) == expected
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(TypeError, match=r"input 1: .* int 5"):
        pipe(given, num_workers=1)


def test_invalid_inputs_are_named_or_skipped(pipe: Any, many: list[Any]) -> None:
    with pytest.raises(TypeError, match="got int 5") as single:
        pipe(5)
    assert single.value.__cause__ is None
    with pytest.raises(TypeError, match=r"input 1: .* got int 5") as numbered:
        pipe([many[0], 5])
    assert str(numbered.value.__cause__) == str(single.value)
    lone = {name: "\ud83d" if isinstance(value, str) else value for name, value in many[0].items()}
    with pytest.raises(ValueError, match=r"input 2: .*character 0, '\\ud83d', is half of a surrogate pair"):
        list(pipe(iter([many[0], many[1], lone])))
    results = pipe([many[0], 5, lone, many[1]], on_error="skip", batch_size=2)
    assert same([results[0], results[3]], pipe(many[:2]))
    assert results[1] == {"error": str(single.value)}
    assert set(results[2]) == {"error"}
    assert "error" in pipe(None, on_error="skip")


def test_parameters_of_the_pipeline_and_of_a_call(name: str, tiny_model_folder: Path) -> None:
    pipe = build(name, tiny_model_folder, on_error="skip", batch_size=3, num_workers=0)
    assert "error" in pipe(5)
    with pytest.raises(TypeError, match="got int 5"):
        pipe(5, on_error="raise")
    with pytest.raises(TypeError, match=r"Pipeline has no parameter aggregation; it has .*, batch_size"):
        build(name, tiny_model_folder, aggregation=1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"on_error": "ignore"}, ValueError, 'on_error is \'ignore\'; it must be "raise" or "skip"'),
        *(({"batch_size": size}, ValueError, f"batch_size is {size!r}; it must be an") for size in (0, "4", 1.5, True)),
        ({"num_workers": -1}, ValueError, "num_workers is -1; it must be an integer of at least 0"),
        ({"aggregation": 1}, TypeError, "Pipeline has no parameter aggregation"),
    ],
)
def test_wrong_parameters(pipe: Any, many: list[Any], arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pipe(many[0], **arguments)


def test_a_second_positional_argument(pipe: Any, many: list[Any]) -> None:
    with pytest.raises(TypeError, match=r"Pipeline takes .*, or a list of inputs; got another positional argument 'x'"):
        pipe(many[0], "x")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("built", MODELS)
def test_logits_must_be_finite(built: str, tiny_model_folder: Path, value: float) -> None:
    raises_for_weights(build(built, tiny_model_folder), MANY[built.partition("-")[0]][0], [-1], value)


OWN = {
    **{f"negation-{kind}": partial(hub_models.tiny_pipeline, kind) for kind in hub_models.MODELS},
    **{f"qa-{kind}": partial(hub_models.tiny_word_reader, kind) for kind in hub_models.READERS},
    **{f"cloze-{model.__name__}": partial(cloze_models.tiny_wn_duma, model) for model in WN_DUMA_MODELS},
}


@pytest.mark.usefixtures("wordnet_home")
@pytest.mark.parametrize("own", OWN)
def test_weights_that_are_nan_never_give_a_score(own: str) -> None:
    raises_for_weights(OWN[own](), MANY[own.partition("-")[0]][0], range(-3, 0), float("nan"))


def raises_for_weights(pipe: Any, given: Any, places: Iterable[int], value: float) -> None:
    """Check that the pipeline raises when the parameters at these places have a value."""
    with torch.no_grad():
        for place in places:
            list(pipe.model.parameters())[place].fill_(value)
    for batch in (given, [given, given], iter([given])):
        with pytest.raises(ValueError, match=r"the logits of the model are NaN or infinite; .* dtype=torch.float32"):
            list(pipe(batch, on_error="skip"))


def test_saved_and_loaded_again_gives_the_same(pipe: Any, many: list[Any], tmp_path: Path) -> None:
    pipe.save_pretrained(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".safetensors", ".txt"}
    model = type(pipe.model).from_pretrained(tmp_path)
    again = type(pipe)(model=model, tokenizer=type(pipe.tokenizer).from_pretrained(tmp_path), device="cpu")
    assert same(again(many), pipe(many))


def test_the_code_can_travel_with_a_checkpoint(pipe: TextPipeline) -> None:
    """It needs no `datasets`, which users of a checkpoint may not have."""
    sources = [flat_source(module) for module in needed_modules([type(pipe).__module__])]
    assert not any("from datasets" in source or "import datasets" in source for source in sources)


def test_slow_tokenizers_are_refused() -> None:
    class Slow(PythonBackend):
        vocab_size = 3

        def get_vocab(self) -> dict[str, int]:
            return {}

    with pytest.raises(ValueError, match=r"Slow cannot align .* load a fast tokenizer with AutoTokenizer"):
        ExtractiveQuestionAnsweringPipeline(model=qa_models.tiny_reader("bert").model, tokenizer=Slow(), device="cpu")
