"""Checkpoints that carry their code: which files are written, and that they load without the library."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from huggingface_hub import upload_file
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertModel,
    Pipeline,
    pipeline,
)
from transformers.dynamic_module_utils import get_relative_import_files

from clozeformers import AlbertWithWNDuma, BertForNegationScopeOA, BertWithWNDuma, XLNetWithWNDuma
from clozeformers.hub import push_to_hub, save_with_code
from clozeformers.hub_export import flat_source, needed_modules, write_sources
from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.modeling.orthogonal_attention import OrthogonalAttention
from clozeformers.negation_scope.windows import CUE_TOKEN
from clozeformers.tasks import TASKS, task_named

from .cloze_models import tiny_wn_duma
from .hub_models import (
    INPUTS,
    MODELS,
    READERS,
    tiny_model,
    tiny_pipeline,
    tiny_tokenizer,
    tiny_word_reader,
)
from .hub_server import HubServer
from .pipelines.results import same

pytestmark = pytest.mark.usefixtures("wordnet_home")
PIPELINES: dict[str, Callable[[], Pipeline]] = {
    **{backbone: partial(tiny_pipeline, backbone, cue_token=CUE_TOKEN) for backbone in MODELS},
    **{kind: partial(tiny_word_reader, kind) for kind in READERS},
    **{model.__name__: partial(tiny_wn_duma, model) for model in (AlbertWithWNDuma, BertWithWNDuma, XLNetWithWNDuma)},
}
# transformers before 5.23 compiles DeBERTa with it.
UPSTREAM = ("-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning")
# Run where `clozeformers` cannot be imported: loads each folder or repository, prints the results of its pipeline.
FRESH = """
import json, sys
sys.modules["clozeformers"] = None
import transformers

answers = []
for place, revision, task, auto_model, inputs in json.load(sys.stdin):
    trusted = {"trust_remote_code": True, "revision": revision}
    config, model, bare, tokenizer = (
        getattr(transformers, auto).from_pretrained(place, **trusted)
        for auto in ("AutoConfig", auto_model, "AutoModel", "AutoTokenizer")
    )
    assert type(bare) is type(model)
    loaded = transformers.pipeline(task, model=place, device="cpu", **trusted)
    for thing in (config, model, loaded):
        assert type(thing).__module__.startswith("transformers_modules."), type(thing)
    assert type(tokenizer) is type(loaded.tokenizer)
    answers.append([type(model).__name__, type(tokenizer).__name__, loaded(inputs)])
assert "datasets" not in sys.modules
print("ANSWERS" + json.dumps(answers))
"""


def test_loads_where_the_library_is_not_installed(hub: HubServer, tmp_path: Path) -> None:
    requests, expected = [], []
    for name, build in PIPELINES.items():
        built = build()
        inputs = INPUTS[built.task]
        save_with_code(built, tmp_path / name)
        auto_model = task_named(built.task).auto_model.__name__
        requests.append((str(tmp_path / name), "main", built.task, auto_model, inputs))
        expected.append([type(built.model).__name__, type(built.tokenizer).__name__, built(inputs)])
    for name in ("xlnet", "bidaf", "BertWithWNDuma"):
        number = list(PIPELINES).index(name)
        rest = requests[number][2:]
        first = push_to_hub(PIPELINES[name](), f"user/{name}", private=True, revision="v1")
        upload_file(path_or_fileobj=b"{}", path_in_repo="config.json", repo_id=f"user/{name}", revision="v1")
        push_to_hub(PIPELINES[name](), f"user/{name}", revision="v2")
        requests += [(f"user/{name}", first.oid, *rest), (f"user/{name}", "v2", *rest)]
        expected += [expected[number]] * 2
    places = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_MODULES_CACHE": str(tmp_path / "modules")}
    places |= {"HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-W", "error::FutureWarning", *UPSTREAM, "-c", FRESH],
        input=json.dumps(requests),
        env=os.environ | {"OMP_NUM_THREADS": "1"} | places,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {request[2] for request in requests} == {task.pipeline_name for task in TASKS}
    assert same(json.loads(done.stdout.rpartition("ANSWERS")[2]), expected)


@pytest.mark.parametrize("name", ["bert", *READERS, "BertWithWNDuma"])
def test_the_librarys_own_classes_are_used_where_it_is_imported(name: str, tmp_path: Path) -> None:
    built = PIPELINES[name]()
    for source in save_with_code(built, tmp_path):
        source.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    assert type(AutoConfig.from_pretrained(tmp_path)) is type(built.model.config)
    assert type(task_named(built.task).auto_model.from_pretrained(tmp_path)) is type(built.model)
    assert AutoTokenizer.from_pretrained(tmp_path).get_vocab() == built.tokenizer.get_vocab()
    loaded = pipeline(built.task, model=str(tmp_path), device="cpu")
    assert type(loaded) is type(built)
    assert type(loaded.tokenizer) is type(built.tokenizer)
    assert same(loaded(INPUTS[built.task]), built(INPUTS[built.task]))


def test_config_names_every_class_and_the_model_keeps_its_own(tmp_path: Path) -> None:
    model = tiny_model("xlnet")
    save_with_code(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["auto_map"].keys() == {"AutoConfig", "AutoModel", "AutoModelForTokenClassification"}
    references = [*config["auto_map"].values(), config["custom_pipelines"]["negation-scope"]["impl"]]
    for reference in references:
        module, name = reference.split(".")
        assert f"class {name}(" in (tmp_path / f"{module}.py").read_text()
    assert not hasattr(model.config, "custom_pipelines")
    assert not hasattr(model.config, "auto_map")


def test_only_safe_files_are_written(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_with_code(tiny_model("bert"), tmp_path / name, tokenizer=tiny_tokenizer("bert"))
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".py", ".json", ".safetensors"}
    assert (tmp_path / "a" / "tokenizer.json").exists()
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), "saving is deterministic"


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


def test_the_card_of_the_encoder_stays_behind(tmp_path: Path) -> None:
    BertModel(tiny_model("bert").base_model.config).save_pretrained(tmp_path / "encoder")
    (tmp_path / "encoder" / "README.md").write_text("# The encoder\n")
    model = BertForNegationScopeOA.from_pretrained(tmp_path / "encoder")
    save_with_code(model, tmp_path / "new")
    assert not (tmp_path / "new" / "README.md").exists()


def test_the_model_card_comes_along(tmp_path: Path) -> None:
    tiny_pipeline("bert").model.save_pretrained(tmp_path / "trained")
    (tmp_path / "trained" / "README.md").write_text("# A card\n")
    model = AutoModelForTokenClassification.from_pretrained(tmp_path / "trained")
    save_with_code(model, tmp_path / "exported")
    save_with_code(model, tmp_path / "trained")
    for folder in ("exported", "trained"):
        assert (tmp_path / folder / "README.md").read_text() == "# A card\n"


def test_errors_say_what_to_do(tmp_path: Path, hub: HubServer) -> None:
    encoder = BertModel(tiny_model("bert").base_model.config)
    with pytest.raises(TypeError, match=r"BertModel is no model of clozeformers; load one with AutoModelForNegation"):
        push_to_hub(encoder, "scope")
    assert hub.requests == []
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="name a folder"):
        save_with_code(tiny_model("bert"), tmp_path / "file")


def test_code_of_others_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnAttention(OrthogonalAttention):
        pass

    monkeypatch.setitem(ATTENTIONS, "own", OwnAttention)
    model = tiny_model("bert", attention_variant="own")
    with pytest.raises(ValueError, match=r"also needs .*OwnAttention; use save_pretrained"):
        save_with_code(model, tmp_path / "variant")

    class OwnModel(MODELS["bert"]):  # type: ignore[misc, valid-type]
        pass

    with pytest.raises(ValueError, match=r"also needs .*OwnModel"):
        save_with_code(OwnModel(tiny_model("bert").config), tmp_path / "model")
    assert not (tmp_path / "variant").exists()
    assert not (tmp_path / "model").exists()
