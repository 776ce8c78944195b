"""Checkpoints that carry their code: what is written, and that it loads where the library is not."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer, BertModel, pipeline
from transformers.dynamic_module_utils import get_relative_import_files

import clozeformers.hub
from clozeformers.hub import push_to_hub, save_with_code
from clozeformers.hub_export import flat_source, needed_modules, write_sources
from clozeformers.modeling.orthogonal_attention import VARIANTS, ConvolutionAlpha, QueryBeta, Variant
from clozeformers.negation_scope.windows import CUE_TOKEN

from .hub_models import MODELS, SENTENCE, TEXTS, tiny_model, tiny_pipeline, tiny_tokenizer

# Run where `clozeformers` cannot be imported: loads each folder or repository named, prints what its pipeline answers.
# transformers before 5.23 compiles DeBERTa with it.
UPSTREAM = ("-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning")

FRESH = """
import json, sys
sys.modules["clozeformers"] = None
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer, pipeline

texts, places = json.load(sys.stdin)
answers = {}
for place, revision in places:
    trusted = {"trust_remote_code": True, "revision": revision}
    config = AutoConfig.from_pretrained(place, **trusted)
    model = AutoModelForTokenClassification.from_pretrained(place, **trusted)
    tokenizer = AutoTokenizer.from_pretrained(place, **trusted)
    negation = pipeline("negation-scope", model=place, device="cpu", **trusted)
    for thing in (config, model, negation):
        assert type(thing).__module__.startswith("transformers_modules."), type(thing)
    assert type(tokenizer) is type(negation.tokenizer)
    answers[place] = [type(model).__name__, [negation(text) for text in texts]]
print("ANSWERS" + json.dumps(answers))
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def read_in_fresh_interpreter(places: list[tuple[str, str]], tmp_path: Path) -> dict[str, Any]:
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_CACHE": str(tmp_path / "hub"),
        "HF_MODULES_CACHE": str(tmp_path / "modules"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-W", "error::FutureWarning", *UPSTREAM, "-c", FRESH],
        input=json.dumps([TEXTS, places]),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("ANSWERS")[2])


def assert_same(answers: list[Any], expected: list[Any]) -> None:
    """Equal but for the last bits of the scores, which depend on how memory is aligned."""

    def rounded(results: list[Any]) -> list[Any]:
        return [[result | {"score": pytest.approx(result["score"], abs=1e-6)} for result in text] for text in results]

    assert answers == rounded(expected)


def put_into_hub_cache(folder: Path, cache: Path, repo_id: str) -> None:
    """Lay a folder out as huggingface_hub does after a download."""
    repository = cache / ("models--" + repo_id.replace("/", "--"))
    shutil.copytree(folder, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "v1").write_text(COMMIT)


def test_loads_where_the_library_is_not_installed(tmp_path: Path) -> None:
    places, expected = [], {}
    for backbone in MODELS:
        negation = tiny_pipeline(backbone, cue_token=CUE_TOKEN)
        folder = tmp_path / backbone
        save_with_code(negation, folder)
        places.append((str(folder), "main"))
        expected[str(folder)] = (type(negation.model).__name__, [negation(text) for text in TEXTS])
    put_into_hub_cache(tmp_path / "xlnet", tmp_path / "hub", "someone/scope")
    places.append(("someone/scope", "v1"))
    expected["someone/scope"] = expected[str(tmp_path / "xlnet")]
    answers = read_in_fresh_interpreter(places, tmp_path)
    assert answers.keys() == expected.keys()
    for place, (name, results) in expected.items():
        assert answers[place][0] == name
        assert_same(answers[place][1], results)


def test_the_librarys_own_classes_are_used_where_it_is_imported(tmp_path: Path) -> None:
    negation = tiny_pipeline("bert")
    for source in save_with_code(negation, tmp_path):
        source.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    assert type(AutoConfig.from_pretrained(tmp_path)) is type(negation.model.config)
    assert type(AutoModelForTokenClassification.from_pretrained(tmp_path)) is type(negation.model)
    assert AutoTokenizer.from_pretrained(tmp_path).get_vocab() == negation.tokenizer.get_vocab()
    loaded = pipeline("negation-scope", model=str(tmp_path), device="cpu")
    assert type(loaded) is type(negation)
    assert_same([loaded(text) for text in TEXTS], [negation(text) for text in TEXTS])


def test_config_names_every_class_and_the_model_keeps_its_own(tmp_path: Path) -> None:
    model = tiny_model("xlnet")
    save_with_code(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["auto_map"].keys() == {"AutoConfig", "AutoModelForTokenClassification"}
    references = [*config["auto_map"].values(), config["custom_pipelines"]["negation-scope"]["impl"]]
    for reference in references:
        module, name = reference.split(".")
        assert f"class {name}(" in (tmp_path / f"{module}.py").read_text()
    assert not hasattr(model.config, "custom_pipelines")
    assert not hasattr(model.config, "auto_map")


def test_only_safe_files_are_written(tmp_path: Path) -> None:
    save_with_code(tiny_model("bert"), tmp_path, tokenizer=tiny_tokenizer("bert"))
    kinds = {path.suffix for path in tmp_path.iterdir()}
    assert kinds == {".py", ".json", ".safetensors"}
    assert (tmp_path / "tokenizer.json").exists()


def test_every_relative_import_is_found_by_transformers(tmp_path: Path) -> None:
    sources = write_sources(["clozeformers.pipelines.negation_scope"], tmp_path)
    assert get_relative_import_files(tmp_path / "clozeformers_pipelines_negation_scope.py")
    for source in sources:
        assert {Path(path) for path in get_relative_import_files(source)} <= set(sources)
        imports = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.ImportFrom)]
        assert all(node.level <= 1 for node in imports)


def test_imports_inside_functions_are_followed_and_rewritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.py").write_text("def f():\n    from ..two.b import (\n        g,\n    )\n    return g\n")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "b.py").write_text("from . import c\ng = 1\n")
    (tmp_path / "two" / "__init__.py").write_text("")
    monkeypatch.setattr("clozeformers.hub_export._ROOT", tmp_path)
    assert "    from .clozeformers_two_b import (\n" in flat_source("clozeformers.one.a")
    with pytest.raises(ValueError, match=r"clozeformers\.two cannot be copied.*import from the module"):
        needed_modules(["clozeformers.one.a"])


def test_saving_twice_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_with_code(tiny_pipeline("bert"), tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_the_model_card_comes_along(tmp_path: Path) -> None:
    tiny_pipeline("bert").model.save_pretrained(tmp_path / "trained")
    (tmp_path / "trained" / "README.md").write_text("# A card\n")
    model = AutoModelForTokenClassification.from_pretrained(tmp_path / "trained")
    save_with_code(model, tmp_path / "exported")
    save_with_code(model, tmp_path / "trained")
    for folder in ("exported", "trained"):
        assert (tmp_path / folder / "README.md").read_text() == "# A card\n"


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    encoder = BertModel(tiny_model("bert").base_model.config)
    with pytest.raises(TypeError, match=r"BertModel is no model of clozeformers; load one with AutoModelForNegation"):
        save_with_code(encoder, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="name a folder"):
        save_with_code(tiny_model("bert"), tmp_path / "file")


def test_code_of_others_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnAlpha(ConvolutionAlpha):
        pass

    monkeypatch.setitem(VARIANTS, "own", Variant(OwnAlpha, QueryBeta))
    model = tiny_model("bert", attention_variant="own")
    with pytest.raises(ValueError, match=r"also needs .*OwnAlpha; use save_pretrained"):
        save_with_code(model, tmp_path / "variant")

    class OwnModel(MODELS["bert"]):  # type: ignore[misc, valid-type]
        pass

    with pytest.raises(ValueError, match=r"also needs .*OwnModel"):
        save_with_code(OwnModel(tiny_model("bert").config), tmp_path / "model")
    assert not (tmp_path / "variant").exists()
    assert not (tmp_path / "model").exists()


@pytest.fixture
def hub_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, dict[str, Any]]]:
    """What is asked of the Hub, which is not there."""
    calls: list[tuple[str, Any, dict[str, Any]]] = []

    def record(name: str) -> Callable[..., Any]:
        def call(repo_id: str, **arguments: Any) -> Any:
            if "folder_path" in arguments:
                arguments["files"] = {path.name for path in Path(arguments.pop("folder_path")).iterdir()}
            calls.append((name, repo_id, arguments))
            return SimpleNamespace(repo_id=f"me/{repo_id}", oid=COMMIT)

        return call

    for name in ("create_repo", "create_branch", "upload_folder"):
        monkeypatch.setattr(clozeformers.hub, name, record(name))
    return calls


def test_push_hands_the_callers_arguments_on(hub_calls: list[tuple[str, Any, dict[str, Any]]]) -> None:
    commit = push_to_hub(tiny_pipeline("bert"), "scope", token="t", private=True, revision="next", create_pr=True)
    assert commit.oid == COMMIT
    made, branched, uploaded = hub_calls
    assert made == ("create_repo", "scope", {"token": "t", "private": True, "exist_ok": True})
    assert branched == ("create_branch", "me/scope", {"branch": "next", "token": "t", "exist_ok": True})
    assert uploaded[:2] == ("upload_folder", "me/scope")
    assert {"token": "t", "revision": "next", "create_pr": True}.items() <= uploaded[2].items()
    assert {"config.json", "model.safetensors", "tokenizer.json"} < uploaded[2]["files"]
    assert "clozeformers_pipelines_negation_scope.py" in uploaded[2]["files"]


def test_push_without_code(hub_calls: list[tuple[str, Any, dict[str, Any]]]) -> None:
    push_to_hub(tiny_model("bert"), "scope", with_code=False)
    assert [name for name, _, _ in hub_calls] == ["create_repo", "upload_folder"]
    assert hub_calls[-1][2]["files"] == {"config.json", "model.safetensors"}


def test_nothing_is_made_on_the_hub_for_a_model_that_cannot_be_saved(
    hub_calls: list[tuple[str, Any, dict[str, Any]]],
) -> None:
    with pytest.raises(TypeError):
        push_to_hub(BertModel(tiny_model("bert").base_model.config), "scope")
    assert hub_calls == []


def test_example_has_a_cue() -> None:
    """The comparisons above would be empty otherwise."""
    assert [result["cue"]["text"] for result in tiny_pipeline("bert")(SENTENCE)] == ["not"]
