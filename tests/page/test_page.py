"""The page without a browser: what is shown, links, and the command."""

from __future__ import annotations

import json
import re
import runpy
import sys
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from clozeformers import cli
from clozeformers.abstract_cloze.drawing import article_attentions
from clozeformers.cli import main
from clozeformers.negation_scope.drawing import cue_attentions
from clozeformers.page import app, tabs
from clozeformers.page.tabs import TABS, Shown, Tab

from ..cloze_models import ARTICLE, OPTIONS, QUESTION
from ..hub_models import save_tiny, tiny_pipeline
from ..scripts import ROOT
from .pipelines import INPUTS, tiny_cloze, tiny_pipelines

NEGATION, ASK, CLOZE = TABS


@pytest.fixture(scope="module")
def pipelines() -> dict[str, Any]:
    return tiny_pipelines()


def link_of(shown: Shown) -> str:
    [href] = re.findall(r'href="([^"]*)"', shown.link)
    return str(href).replace("&amp;", "&")


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_each_tab_shows_the_result_and_a_link_that_restores_it(tab: Tab, pipelines: dict[str, Any]) -> None:
    for values in (INPUTS[tab.name], *(list(own.values()) for own in tab.examples.values())):
        shown = tab.show(pipelines[tab.name], *values)
        assert shown.drawing.startswith('<div class="cf">')
        assert "cf-error" not in shown.drawing
        assert isinstance(json.loads(shown.result), list)
        parameters = {name: own[0] for name, own in parse_qs(urlsplit(link_of(shown)).query).items()}
        assert tab.state(pipelines[tab.name], parameters) == list(values)
        assert all(other.state(None, parameters) is None for other in TABS if other is not tab)


def test_the_result_is_that_of_the_pipeline(pipelines: dict[str, Any]) -> None:
    text, convention = INPUTS["negation"]
    cues = pipelines["negation"](text, return_words=True)
    shown = NEGATION.show(pipelines["negation"], text, convention)
    assert json.loads(shown.result) == cues
    assert shown.status == f"{len(cues)} negation cues: neither … nor, not"
    assert json.loads(NEGATION.show(pipelines["negation"], text, "sfu").result) == pipelines["negation"](
        text, convention="sfu", return_words=True
    )
    assert NEGATION.show(pipelines["negation"], "All is well.", convention).status == "No negation cues"
    question, passage, _ = INPUTS["question"]
    for count in (1, 3):
        found = json.loads(ASK.show(pipelines["question"], question, passage, str(count)).result)
        expected = pipelines["question"](question, passage, top_k=count + 1)
        assert [each for each in found if each["answer"]] == expected[:count]
        assert sum(each["answer"] == "" for each in found) == 1
        assert [each["score"] for each in found] == sorted((each["score"] for each in found), reverse=True)
    ranked = pipelines["cloze"](article=ARTICLE, question=QUESTION, options=OPTIONS)
    shown = CLOZE.show(pipelines["cloze"], QUESTION, "\n \n".join(OPTIONS) + "\n", ARTICLE)
    assert json.loads(shown.result) == ranked
    assert shown.status == f"Best option: {ranked[0]['option']}"


@pytest.mark.parametrize(
    ("tab", "values", "problem"),
    [
        (NEGATION, (" ", "automatic"), "must hold at least one word"),
        (NEGATION, ("\ud800 not", "automatic"), "half of a surrogate pair"),
        (ASK, ("", "A passage.", "1"), "the question is ''"),
        (ASK, ("Who?", "\n", "1"), "the context is"),
        (CLOZE, ("No gap.", "a\nb", "An article."), "has @placeholder 0 times"),
        (CLOZE, ("A @placeholder.", "<b>one</b>", "An article."), "there must be two options or more"),
    ],
)
def test_an_error_is_told_in_words(tab: Tab, values: tuple[str, ...], problem: str, pipelines: dict[str, Any]) -> None:
    shown = tab.show(pipelines[tab.name], *values)
    assert shown.status.startswith("Error: ")
    assert problem in shown.status
    assert "cf-error" in shown.drawing
    assert "<b>" not in shown.drawing
    assert not shown.result
    assert link_of(shown).startswith(f"?tab={tab.name}&")


@pytest.mark.parametrize(("threshold", "best"), [(-1e4, "No answer"), (1e4, "Answer: ")])
def test_any_threshold_places_no_answer(
    threshold: float, best: str, pipelines: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines["question"].model.config, "no_answer_threshold", threshold)
    assert ASK.show(pipelines["question"], *INPUTS["question"]).status.startswith(best)


def test_a_bug_is_raised() -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("not the library's")

    with pytest.raises(ValueError, match="not the library's"):
        NEGATION.show(broken, "not", "automatic")


def test_links(pipelines: dict[str, Any]) -> None:
    negation = pipelines["negation"]
    assert NEGATION.state(negation, {"tab": "negation", "convention": "<b>"}) == ["", "automatic"]
    assert ASK.state(pipelines["question"], {"tab": "question", "answers": "1e9", "passage": "x"}) == ["", "x", "3"]
    assert "too long for a link" in NEGATION.show(negation, "😀" * 800, "automatic").link


def test_long_texts(pipelines: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = NEGATION.show(pipelines["negation"], "not " * 1001, "automatic")
    assert shown.status == "Error: the text has 4,004 characters; the page reads at most 4,000"
    monkeypatch.setattr(tabs, "MOST_CUES", 2)
    shown = NEGATION.show(pipelines["negation"], "not me, " * 4, "automatic")
    assert shown.status.startswith("4 negation cues")
    assert shown.drawing.count("<summary>Words of cue") == 2
    assert "The words are shown for the first 2 cues." in shown.drawing


def test_models_without_weights() -> None:
    assert "no attention to the cue" in str(cue_attentions(tiny_pipeline("bert", num_attention_blocks=0), "not", []))
    texts = (ARTICLE, QUESTION, OPTIONS)
    assert "no co-attention" in str(article_attentions(tiny_cloze(num_co_attention_layers=0), *texts))
    assert "without the article" in str(article_attentions(tiny_cloze(use_article=False), *texts))
    shown = CLOZE.show(tiny_cloze(num_co_attention_layers=0), *INPUTS["cloze"])
    assert "no co-attention whose weights could be shown" in shown.drawing


def test_the_page_is_built_and_restored(pipelines: dict[str, Any]) -> None:
    page = app.build(pipelines)
    config = page.get_config_file()
    shown = {each["props"].get("elem_id") for each in config["components"]}
    assert {"negation-text", "question-passage", "cloze-options", "cloze-result"} <= shown
    restore = app._restorer(pipelines)
    values = INPUTS["question"]
    query = {"tab": "question", **dict(zip(ASK.boxes, values, strict=True))}
    updates = restore(SimpleNamespace(query_params=query))
    [load] = [each for each in config["dependencies"] if each["targets"][0][1] == "load"]
    assert len(updates) == len(load["outputs"]) == 1 + sum(len(tab.boxes) + 4 for tab in TABS)
    start = 1 + len(NEGATION.boxes) + 4
    assert updates[start : start + 3] == values
    assert "cf-passage" in updates[start + 4]
    assert app._restorer({})(SimpleNamespace(query_params={"tab": "nothing"})) == [app.gr.skip()]


def test_a_tab_without_a_model_says_how_to_name_one() -> None:
    config = json.dumps(app.build({}).get_config_file()["components"])
    for tab in TABS:
        assert f"clozeformers page --{tab.name} MODEL" in config


def test_nothing_is_loaded_from_elsewhere() -> None:
    options = app.launch_options()
    assert "googleapis" not in options["theme"]._get_theme_css()
    assert not options["theme"]._stylesheets
    assert not app.build({}).analytics_enabled
    assert "url(" not in options["css_paths"].read_text()


def test_the_command(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(app, "serve", lambda *given: served.append(given))
    assert main(["page", "--negation", str(save_tiny(tmp_path)), "--port", "7861"]) == 0
    [(loaded, port)] = served
    assert port == 7861
    assert loaded["negation"].model.config.hidden_size == 32
    assert "cloze" not in loaded


def test_a_model_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--cloze", "./nowhere"]) == 2
    assert capsys.readouterr().err.startswith("clozeformers page: error: there is no folder ./nowhere")


def test_without_gradio(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    monkeypatch.delitem(sys.modules, "clozeformers.page.app")
    assert main(["page"]) == 2
    assert 'Gradio is not installed; run: pip install "clozeformers[page]"' in capsys.readouterr().err


def test_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(cli, "main", lambda words: started.append(words) or 0)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "space" / "app.py"))
    assert (started, ended.value.code) == ([["page"]], 0)
    head = (ROOT / "space" / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    fields = dict(re.findall(r"^(\w+): (.*)$", head, re.MULTILINE))
    assert (fields["sdk"], fields["app_file"]) == ("gradio", "app.py")
    assert f"\ngradio=={fields['sdk_version']}\n" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "clozeformers[page]" in (ROOT / "space" / "requirements.txt").read_text(encoding="utf-8").splitlines()
