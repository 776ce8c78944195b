"""Push and pull through a Hub: every kind of model, every way, and what happens when the Hub fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants, list_repo_files
from transformers import Pipeline, pipeline

from clozeformers import BertWithWNDuma
from clozeformers.abstract_cloze.arguments import ClozeTrainingArguments
from clozeformers.abstract_cloze.trainer import AbstractClozeTrainer
from clozeformers.cli import main
from clozeformers.hub import push_to_hub
from clozeformers.negation_scope.arguments import NegationTrainingArguments
from clozeformers.negation_scope.trainer import NegationScopeTrainer
from clozeformers.negation_scope.windows import CUE_TOKEN
from clozeformers.question_answering.arguments import QATrainingArguments
from clozeformers.question_answering.trainer import QuestionAnsweringTrainer
from clozeformers.tasks import TASKS, task_named
from clozeformers.training import pretrained

from .cloze_models import tiny_wn_duma
from .hub_models import INPUTS, SENTENCE, save_tiny, tiny_pipeline, tiny_word_reader
from .hub_server import Action, File, HubServer, cut, first, status, truncate
from .pipelines.results import same

pytestmark = pytest.mark.usefixtures("wordnet_home")
NAMES = [task.pipeline_name for task in TASKS]
LOGIN = r"; check the name, log in with `hf auth login`, or set HF_TOKEN to a token that may "
AGAIN = r"; try again; files that have arrived are not transferred again$"
TOKEN = "Invalid credentials in Authorization header"
BUSY = status(429, "slow down", Retry_After="7")


def build(task: str) -> Any:
    builders: dict[str, Callable[[], Pipeline]] = {
        "negation-scope": lambda: tiny_pipeline("bert", cue_token=CUE_TOKEN),
        "extractive-question-answering": lambda: tiny_word_reader("bidaf"),
        "abstract-cloze": lambda: tiny_wn_duma(BertWithWNDuma),
    }
    return builders[task]()


def changed(model: Any) -> Any:
    """The same model with other weights."""
    with torch.no_grad():
        for weights in model.model.parameters():
            weights.neg_()
    return model


@pytest.mark.parametrize("task", NAMES)
def test_every_task_is_pushed_and_pulled_by_branch_and_by_commit(
    task: str, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, inputs = build(task), INPUTS[task]
    before = built(inputs)
    commit = push_to_hub(built, "model", with_code=False, private=True, commit_message="A model")
    assert commit.repo_url.repo_id == "user/model"
    after = changed(built)(inputs)
    assert not same(after, before)
    push_to_hub(built, "user/model")
    push_to_hub(built, "user/model", revision="next")
    files = set(list_repo_files("user/model", revision="next"))
    assert files - set(list_repo_files("user/model", revision=commit.oid)) >= {"clozeformers_pipelines_base.py"}
    for revision, expected in {None: after, "next": after, commit.oid: before}.items():
        assert same(pipeline(task, model="user/model", revision=revision, device="cpu")(inputs), expected)
    auto_model = task_named(task).auto_model
    for name, weights in auto_model.from_pretrained("user/model", revision="next").state_dict().items():
        assert torch.equal(weights, built.model.state_dict()[name]), name
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", f"{constants.HF_HUB_CACHE}-2")
    with pytest.raises(OSError, match="If this is a private repository, make sure to pass a token"):
        pipeline(task, model="user/model", device="cpu")
    assert same(pipeline(task, model="user/model", token="hf_owner", device="cpu")(inputs), after)


@pytest.mark.parametrize(
    ("task", "trainer", "arguments", "given"),
    [
        ("negation-scope", NegationScopeTrainer, NegationTrainingArguments, {}),
        (
            "extractive-question-answering",
            QuestionAnsweringTrainer,
            QATrainingArguments,
            {"max_answer_length": 5, "no_answer": False},
        ),
        ("abstract-cloze", AbstractClozeTrainer, ClozeTrainingArguments, {}),
    ],
)
def test_trainers_push(
    task: str, trainer: Any, arguments: Any, given: dict[str, Any], hub: HubServer, tmp_path: Path
) -> None:
    built = build(task)
    untrained = {"eval_strategy": "no", "load_best_model_at_end": False, "report_to": "none"}
    args = arguments(str(tmp_path), use_cpu=True, hub_model_id="user/model", **untrained)
    trainer(built.model, args, processing_class=built.tokenizer, **given).push_to_hub()
    assert same(pipeline(task, model="user/model", device="cpu")(INPUTS[task]), built(INPUTS[task]))
    assert "README.md" in hub.repositories["user/model"].files()


def test_a_push_while_offline(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match=r"to user/model: HF_HUB_OFFLINE is set; unset it, and try again$"):
        pretrained.upload(tmp_path, "user/model")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "model")


@pytest.fixture
def scope(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What the command line says of a sentence with the model on the Hub."""

    def run() -> str:
        capsys.readouterr()
        assert main(["scope", SENTENCE, "--model", "user/model", "--json"]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("token", "request_", "action", "message"),
    [
        ("hf_owner", "PUT /storage/", cut, "Server disconnected without sending a response" + AGAIN),
        ("hf_owner", "POST .*/commit/", cut, "Server disconnected without sending a response" + AGAIN),
        ("hf_owner", "POST .*/preupload/", BUSY, "429 Too Many Requests: slow down" + AGAIN),
        ("hf_owner", "POST /api/repos/create", status(503), "503 Service Unavailable" + AGAIN),
        ("hf_reader", "", None, f"403 Forbidden: You cannot create for user{LOGIN}write to user/model$"),
        ("hf_wrong", "", None, f"401 Unauthorized: {TOKEN}{LOGIN}write to user/model$"),
    ],
)
def test_a_failed_push_is_told_and_leaves_nothing_half(
    token: str,
    request_: str,
    action: Action | None,
    message: str,
    hub: HubServer,
    folder: Path,
    scope: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    if action is not None:
        hub.fail(request_, action)
    assert main(["push", str(folder), "user/model", "--no_code"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert re.search(f"^clozeformers push: error: the model cannot be uploaded to user/model: {message}", told), told
    assert [repository.files() for repository in hub.repositories.values()] in ([], [{".gitattributes": b""}])
    assert set(hub.sleeps) == ({8} if action is BUSY else {1, 2, 4, 8} if "PUT" in request_ else set())
    hub.faults.clear()
    monkeypatch.setenv("HF_TOKEN", "hf_owner")
    assert main(["push", str(folder), "user/model", "--no_code"]) == 0
    assert capsys.readouterr().out.startswith(f"{hub.endpoint}/user/model/commit/")
    weights = (folder / "model.safetensors").read_bytes()
    assert hub.repositories["user/model"].files()["model.safetensors"] == weights
    assert '"no' in scope()


def is_whole(hub: HubServer) -> bool:
    """Whether the cache has no file that differs from the Hub's."""
    cached = Path(constants.HF_HUB_CACHE, "models--user--model")
    commits = hub.repositories["user/model"].commits
    for path in filter(Path.is_file, cached.rglob("snapshots/*/*")):
        if path.read_bytes() != commits[path.parent.name][path.name].content:
            return False
    return not list(cached.rglob("*.incomplete"))


NO_CONNECTION = r"peer closed connection without sending complete message body"
INCONSISTENT = r"Consistency check failed: file should be of size \d+ but has size"


@pytest.mark.parametrize(
    ("token", "request_", "action", "message"),
    [
        ("hf_owner", "GET /storage/", cut, NO_CONNECTION + ".*" + AGAIN),
        ("hf_owner", "GET /storage/", truncate, INCONSISTENT + ".*" + AGAIN),
        ("hf_owner", "GET /storage/", status(503), f"503 Service Unavailable{AGAIN}"),
        ("hf_owner", "HEAD .*/model.safetensors", BUSY, f"429 Too Many Requests.*{AGAIN}"),
        ("hf_owner", "GET .*/config.json", cut, NO_CONNECTION + ".*" + AGAIN),
        ("hf_owner", "GET .*/tokenizer.json", truncate, INCONSISTENT + ".*" + AGAIN),
        ("hf_owner", ".*/tokenizer.json", status(503), f"503 Service Unavailable{AGAIN}"),
        ("hf_owner", ".*/tokenizer_config.json", BUSY, f"429 Too Many Requests.*{AGAIN}"),
        ("hf_owner", "", status(503), f"503 Service Unavailable{AGAIN}"),
        ("hf_reader", "", None, f"404 Not Found: Repository not found{LOGIN}read user/model$"),
        ("hf_wrong", "", None, f"401 Unauthorized: {TOKEN}{LOGIN}read user/model$"),
    ],
)
def test_a_failed_pull_is_told_and_loads_nothing_half(
    token: str,
    request_: str,
    action: Action | None,
    message: str,
    hub: HubServer,
    folder: Path,
    scope: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["push", str(folder), "user/model", "--private", "--no_code"])
    monkeypatch.setenv("HF_TOKEN", token)
    if action is not None:
        hub.fail(request_, action)
    capsys.readouterr()
    assert main(["scope", SENTENCE, "--model", "user/model"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert re.search(f"^clozeformers scope: error: the model user/model cannot be downloaded: {message}", told), told
    assert "Traceback" not in told
    with pytest.raises((OSError, ValueError), match=r"user/model|couldn't connect"):
        pipeline("negation-scope", model="user/model", device="cpu")
    assert is_whole(hub)
    hub.faults.clear()
    monkeypatch.setenv("HF_TOKEN", "hf_owner")
    found = scope()
    assert main(["scope", SENTENCE, "--model", str(folder), "--json"]) == 0
    assert capsys.readouterr().out == found
    assert is_whole(hub)


@pytest.mark.parametrize(
    ("request_", "action"),
    [("PUT /storage/", cut), ("GET /storage/", cut), ("HEAD .*/tokenizer.json", BUSY), ("POST .*/preupload/", BUSY)],
)
def test_a_passing_fault_is_not_seen(
    request_: str, action: Action, hub: HubServer, folder: Path, scope: Callable[[], str]
) -> None:
    hub.fail(request_, action, times=1)
    assert main(["push", str(folder), "user/model", "--no_code"]) == 0
    assert '"no' in scope()
    assert hub.faults[0].times == 0
    assert hub.sleeps in ([1], [8], [])
    assert is_whole(hub)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_branch_that_moves_while_a_model_is_loaded(file: str, hub: HubServer) -> None:
    task = "negation-scope"
    built, inputs = build(task), INPUTS[task]
    before = built(inputs)
    push_to_hub(built, "user/model", with_code=False)
    repository = hub.repositories["user/model"]
    old = repository.commits[repository.branches["main"]]
    after = changed(built)(inputs)
    push_to_hub(built, "user/model", with_code=False, revision="next")
    moved = {**repository.commits[repository.branches["next"]], "tokenizer.json": File(b"{}", False)}
    hub.fail(f"HEAD .*/{file}", first(lambda: repository.commit("main", moved)), times=1)
    assert same(pipeline(task, model="user/model", device="cpu")(inputs), before)
    assert repository.files()["model.safetensors"] != old["model.safetensors"].content
    repository.commit("main", {**moved, "tokenizer.json": old["tokenizer.json"]})
    assert same(pipeline(task, model="user/model", device="cpu")(inputs), after)
