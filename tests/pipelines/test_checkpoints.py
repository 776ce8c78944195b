"""Pipelines that `transformers.pipeline` loads: checkpoints without a trained head, wrong tasks, missing arguments."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    Pipeline,
    pipeline,
)
from transformers.pipelines import PIPELINE_REGISTRY

from clozeformers import AutoModelForNegationScope, BertWithWNDuma, NegationScopePipeline, save_with_code
from clozeformers.cli import main
from clozeformers.pipelines.base import TextPipeline
from clozeformers.pipelines.checkpoints import DefaultModel
from clozeformers.tasks import TASKS
from tests.cloze_models import tiny_wn_duma
from tests.hub_models import QUESTION, SENTENCE, SIZES, tiny_pipeline, tiny_word_reader
from tests.qa_models import bert_tokenizer

QA, SCOPE, CLOZE = "extractive-question-answering", "negation-scope", "abstract-cloze"
# A tiny pipeline of each task, and how the names of its head's weights begin.
OWN: dict[str, tuple[Callable[[], TextPipeline], str]] = {
    SCOPE: (lambda: tiny_pipeline("bert"), "scope_classifier"),
    QA: (lambda: tiny_word_reader("bidaf"), "end.weight"),
    CLOZE: (lambda: tiny_wn_duma(BertWithWNDuma), "option_classifier"),
}


def save_own(task: str, folder: Path) -> str:
    OWN[task][0]().save_pretrained(folder)
    return str(folder)


def save_bert(model_class: Any, folder: Path, config_class: Any = BertConfig) -> str:
    tokenizer = bert_tokenizer()
    config = config_class(vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=0, **SIZES)
    model_class(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def load(task: str | None, model: str, **arguments: Any) -> Pipeline:
    return pipeline(task, model=model, device="cpu", **arguments)


# ------------------------------------------------------------------------------------------------- heads not trained


@pytest.mark.parametrize("task", OWN)
def test_a_checkpoint_that_lost_its_head_is_refused(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, head = save_own(task, tmp_path), OWN[task][1]
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if not name.startswith(head)}
    assert len(kept) < len(weights)
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=rf"{folder} is not trained for \"{task}\": .* lacks \d+ weights? \('{head}"):
        load(task, folder)
    commands = {SCOPE: ["scope", SENTENCE], QA: ["answer", *QUESTION.values()]}
    if task in commands:
        capsys.readouterr()
        assert main([*commands[task], "--model", folder]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"clozeformers {commands[task][0]}: error: {folder} is not trained")


@pytest.mark.parametrize(
    ("task", "saved", "message"),
    [
        (
            QA,
            BertModel,
            r"it is a bare encoder, BertModel; it lacks 2 weights \('qa_outputs.bias', 'qa_outputs.weight'\)",
        ),
        (QA, BertForSequenceClassification, r'it is a BertForSequenceClassification, which pipeline\("text-classific'),
        (QA, BertForMaskedLM, r'it is a BertForMaskedLM, which pipeline\("fill-mask", ...\) runs; it lacks 2 weights'),
        (SCOPE, BertModel, "it is a bare encoder, BertModel; .* fine-tune one with `clozeformers train negation-scope"),
        (SCOPE, BertForSequenceClassification, "it is a BertForSequenceClassification"),  # has a `classifier`, too
        (SCOPE, BertForQuestionAnswering, r'.* which pipeline\("extractive-question-answering", ...\) runs'),
        (CLOZE, BertModel, "it is a bare encoder, BertModel; .* `clozeformers train abstract-cloze RECIPE`"),
        (CLOZE, BertForMaskedLM, "it is a BertForMaskedLM"),
    ],
)
def test_a_checkpoint_of_another_task_is_refused(task: str, saved: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf'is not trained for "{task}": {message}'):
        load(task, save_bert(saved, tmp_path))


def test_a_head_of_another_task_with_weights_of_the_same_names_is_refused(tmp_path: Path) -> None:
    folder = save_bert(ModernBertForSequenceClassification, tmp_path, ModernBertConfig)
    assert not AutoModelForQuestionAnswering.from_pretrained(folder, output_loading_info=True)[1]["missing_keys"]
    with pytest.raises(ValueError, match=r'not trained for "extract.*": it is a ModernBertForSequenceCl'):
        load(QA, folder)


def test_weights_of_another_shape_count_as_missing(tmp_path: Path) -> None:
    folder = save_bert(BertForQuestionAnswering, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": 99}))
    with pytest.raises(ValueError, match=r"it lacks 1 weight \('bert.embeddings.word_embeddings.weight'\)"):
        load(QA, folder, model_kwargs={"ignore_mismatched_sizes": True})


@pytest.mark.parametrize(
    ("task", "auto_model"),
    [
        (QA, AutoModelForQuestionAnswering),
        (SCOPE, AutoModelForNegationScope),
        (CLOZE, AutoModelForMultipleChoice),
    ],
)
def test_a_new_head_can_be_trained_and_used_in_memory(task: str, auto_model: Any, tmp_path: Path) -> None:
    model = auto_model.from_pretrained(save_bert(BertForMaskedLM, tmp_path))
    assert pipeline(task, model=model, tokenizer=bert_tokenizer(), device="cpu").model is model
    model.save_pretrained(tmp_path)
    assert load(task, str(tmp_path)).model.config.architectures == [type(model).__name__]


def test_complete_checkpoints_are_loaded_without_a_report(tmp_path: Path) -> None:
    for number, (task, saved) in enumerate([(QA, BertForQuestionAnswering), (CLOZE, BertForMultipleChoice)]):
        loaded = load(task, save_bert(saved, tmp_path / str(number)))
        assert type(loaded.model) is saved
        assert "_checkpoint_report" not in vars(loaded.model)


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("with_head", [False, True])
def test_the_head_may_be_that_of_an_adapter(with_head: bool, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    model = BertForQuestionAnswering.from_pretrained(save_bert(BertModel, tmp_path / "encoder"))
    saved = ["qa_outputs"] if with_head else None
    adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["query"], modules_to_save=saved))
    adapted.save_pretrained(tmp_path / "adapter")
    bert_tokenizer().save_pretrained(tmp_path / "adapter")
    if with_head:
        assert load(QA, str(tmp_path / "adapter"))(QUESTION)["answer"]
    else:
        with pytest.raises(
            ValueError, match=r"adapter is not trained .*: it is an adapter of a bare encoder, .* lacks 2"
        ):
            load(QA, str(tmp_path / "adapter"))


# ------------------------------------------------------------------------------------------- tasks and default models


@pytest.mark.parametrize("task", OWN)
def test_pipelines_of_other_tasks_name_the_right_one(task: str, tmp_path: Path) -> None:
    folder = save_own(task, tmp_path)
    others = {"token-classification", "ner", "question-answering", "feature-extraction", SCOPE, QA, CLOZE} - {task}
    for other in others:
        with pytest.raises(ValueError, match=f'is a model for "{task}", not for "{other}"; use pipeline."{task}", mod'):
            load(other, folder)


def test_pipelines_of_users_may_use_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PIPELINE_REGISTRY, "supported_tasks", dict(PIPELINE_REGISTRY.supported_tasks))
    own = type("ClinicalScopePipeline", (NegationScopePipeline,), {"__module__": __name__})
    PIPELINE_REGISTRY.register_pipeline("clinical-scope", own, pt_model=AutoModelForTokenClassification)
    assert type(load("clinical-scope", save_own(SCOPE, tmp_path))) is own


@pytest.mark.parametrize("task", OWN)
@pytest.mark.parametrize("with_code", [False, True])
def test_the_task_is_inferred_from_the_model(task: str, with_code: bool, tmp_path: Path) -> None:
    built = OWN[task][0]()
    sources = save_with_code(built, tmp_path) if with_code else built.save_pretrained(tmp_path) or []
    assert type(load(None, str(tmp_path), trust_remote_code=True)) is type(built)
    for source in sources:
        source.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    loaded = load(None, str(tmp_path))
    assert type(loaded) is type(built)
    loaded.save_pretrained(tmp_path / "again")
    assert "custom_pipelines" not in json.loads((tmp_path / "again" / "config.json").read_text())


@pytest.fixture
def default_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in place of that of the packaged models; it has none yet."""
    for task in TASKS:
        own = DefaultModel(task.pipeline_name, task.pipeline.training_hint, tmp_path)
        monkeypatch.setitem(PIPELINE_REGISTRY.supported_tasks[task.pipeline_name]["default"], "model", own)
    return tmp_path


@pytest.mark.parametrize("task", OWN)
def test_a_task_without_a_model_says_how_to_name_or_train_one(task: str, default_models: Path) -> None:
    named = rf'no default model for "{task}"; name one: pipeline."{task}", model=.*`clozeformers train {task} RECIPE`'
    for _ in range(2):
        with pytest.raises(ValueError, match=named):
            pipeline(task)


@pytest.mark.parametrize("task", OWN)
def test_a_packaged_model_is_the_default_and_is_loaded_in_silence(
    task: str, default_models: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder = save_own(task, default_models / task)
    logging.getLogger("transformers").propagate = True
    try:
        assert pipeline(task, device="cpu").model.name_or_path == folder
        assert not caplog.records
        logging.getLogger("transformers.pipelines").warning(other := "No model was supplied, defaulted to another")
        assert set(caplog.messages) == {other}
    finally:
        logging.getLogger("transformers").propagate = False
    assert "supplied" not in capfd.readouterr().out


@pytest.mark.parametrize("task", OWN)
def test_an_unknown_keyword_is_answered_with_the_nearest(task: str) -> None:
    built = OWN[task][0]()
    given = {QA: "contxt", SCOPE: "affix", CLOZE: "option"}[task]
    meant = {QA: "context", SCOPE: "affixes", CLOZE: "options"}[task]
    with pytest.raises(TypeError, match=rf"has no parameter {given}; it has .*{meant}.*; did you mean {meant}"):
        built(**{given: "x"})
    with pytest.raises(TypeError, match=r"has no parameter batchsize, xyz; it has .*; did you mean batch_size\?"):
        type(built)(model=built.model, tokenizer=built.tokenizer, batchsize=2, xyz=1)
