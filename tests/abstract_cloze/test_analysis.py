"""Records, tables and files of the error analysis of abstract cloze; steps in WordNet."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from clozeformers.abstract_cloze.analysis import STEPS, WordNetSteps, analyze, analyze_files, is_data_file
from clozeformers.abstract_cloze.recam import load_recam
from clozeformers.abstract_cloze.wordnet import DefinitionLookup, WordNet
from clozeformers.analysis.report import Analysis
from clozeformers.cli import main
from clozeformers.files import CorpusError

from ..cloze_corpora import real_file
from ..wordnet_files import SATELLITE, write_wordnet

NOUNS = ("thing", "animal", "dog", "puppy", "cat", "price")
HOT = {"hot": {"adjective": ["warm"]}, "warm": {SATELLITE: ["rather hot"]}, "scalding": {SATELLITE: ["too hot"]}}
ENTRIES = {noun: {"noun": [f"a {noun}"]} for noun in NOUNS} | HOT
HYPERNYMS = {"animal": "thing", "dog": "animal", "puppy": "dog", "cat": "animal"}


def row(number: int, article: str, *options: str, label: int = 0) -> dict[str, Any]:
    question = "She saw the @placeholder there ."
    return {"id": f"q{number}", "article": article, "question": question, "options": list(options), "label": label}


ROWS = [
    row(0, "The dog slept . " + "word " * 150, "dog", "cat", "price"),
    row(1, "The Cat slept , and a dog barked .", "dog", "cat", "puppy"),
    row(2, "One price for a category .", "cat", "price"),
    row(3, "Nothing .", "price", "dog", "unheardof", label=2),
    row(4, "No label .", "cat", "dog", label=-1),
]
PREDICTIONS = {"q0": 0, "q1": 2, "q2": 1}
PROBABILITIES = {"q0": [0.8, 0.15, 0.05], "q1": [0.3, 0.2, 0.5]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a small dictionary is found, if `CLOZEFORMERS_HOME` names it."""
    folder = tmp_path_factory.mktemp("home")
    write_wordnet(folder / "corpora" / "wordnet", ENTRIES, {}, HYPERNYMS)
    return folder


@pytest.fixture
def lookup(home: Path, monkeypatch: pytest.MonkeyPatch) -> DefinitionLookup:
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(home))
    return DefinitionLookup()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The questions and the predictions as files."""
    data, predictions = tmp_path / "dev.jsonl", tmp_path / "predictions_dev.json"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    predictions.write_text(json.dumps(PREDICTIONS))
    return data, predictions


def table(analysis: Analysis, name: str) -> Any:
    (frame,) = (table.frame for table in analysis.tables if table.name == name)
    return frame


def column(analysis: Analysis, name: str) -> list[Any]:
    return [record.values[name] for record in analysis.records]


def test_labeled_questions_are_scored() -> None:
    analysis = analyze(ROWS, PREDICTIONS, PROBABILITIES)
    assert column(analysis, "outcome") == ["right", "wrong", "wrong", "wrong"]
    assert [analysis.scores[name] for name in ("accuracy", "missing", "unlabeled")] == [25.0, 1, 1]
    assert column(analysis, "probabilities") == [[0.8, 0.15, 0.05], [0.3, 0.2, 0.5], None, None]
    # Options are found in any case and as whole words: "category" is another word than "cat".
    assert [record.gold for record in analysis.records] == [[(4, 7)], [(22, 25)], [], []]
    assert [record.predicted for record in analysis.records] == [[(4, 7)], [], [(4, 9)], []]
    assert analysis.summary == (
        "4 questions: accuracy 25.00 (percent). Baselines: any option: 37.50; longest option: 25.00. 1 of them have no "
        "prediction and count as wrong. 1 more questions have no label and are left out."
    )


def test_several_longest_options_share_a_point() -> None:
    analysis = analyze([row(0, "a", "dog", "cat"), row(1, "a", "dogs", "cats", "cow", "hens", label=3)], {})
    assert analysis.scores["baselines"] == pytest.approx({"any option": 37.5, "longest option": 250 / 6})


def test_tables_without_wordnet() -> None:
    analysis = analyze(ROWS, PREDICTIONS, remark="WordNet was <not> there.")
    assert [table.name for table in analysis.tables] == ["options in the article", "article length in words"]
    assert list(table(analysis, "options in the article").itertuples(name=None)) == [
        ("the right one only", 1, 25, 100),
        ("right and wrong ones", 1, 25, 0),
        ("wrong ones only", 1, 25, 0),
        ("none", 1, 25, 0),
        ("all", 4, 100, 25),
    ]
    assert table(analysis, "article length in words")["questions"].to_dict() == {"up to 100": 3, "101–200": 1, "all": 4}
    text = analysis.to_html()
    assert "Part of speech <select" not in text
    assert "WordNet was &lt;not&gt; there." in text


def test_tables_with_wordnet(lookup: DefinitionLookup) -> None:
    analysis = analyze(ROWS, PREDICTIONS, lookup=lookup)
    assert column(analysis, "steps") == [[0, 2, None], [0, 2, 1], [0, None], [None, None, None]]
    assert column(analysis, "part_of_speech") == ["noun", "noun", "noun", "not in WordNet"]
    parts = table(analysis, "part of speech")
    assert list(parts["accuracy"]) == [pytest.approx(100 / 3), 0, 25]
    closest = table(analysis, "WordNet steps to the closest wrong option")
    assert closest["questions"].to_dict() == {"1": 1, "2": 1, "not connected": 2, "all": 4}
    spread = table(analysis, "distribution of WordNet steps from the right option")
    assert list(spread.index) == list(STEPS.values())
    assert list(spread["wrong options"]) == [0, 1, 2, 0, 0, 0, 4]
    assert list(spread["chosen wrong options"]) == [0, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("rows", "predictions", "probabilities", "message"),
    [
        ([], {}, {}, "no question has a label"),
        (ROWS, {"q9": 0}, {}, r"predictions for 1 question \('q9'\), which the data does not have"),
        (ROWS, {"q0": 3}, {}, "prediction for 'q0' is 3; it must be the number of an option, 0 to 2"),
        (ROWS, {"q0": True}, {}, "prediction for 'q0' is True"),
        (ROWS, {"q2": 0}, {"q2": 0.5}, "the probabilities of 'q2' are 0.5; they must be 2 numbers"),
        (ROWS, {"q2": 0}, {"q2": [None, "a"]}, r"the probabilities of 'q2' are \[None, 'a'\]; they must be 2 numbers"),
    ],
)
def test_files_that_do_not_belong_together(rows: Any, predictions: Any, probabilities: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        analyze(rows, predictions, probabilities)


def test_steps(home: Path) -> None:
    steps = WordNetSteps(WordNet(home / "corpora" / "wordnet"))
    expected = {("Dogs", "dog"): 0, ("puppy", "dog"): 1, ("warm", "hot"): 1, ("warm", "scalding"): 2}
    expected |= {("puppy", "cat"): 3, ("dog", "price"): None, ("warm", "dog"): None, ("unheardof", "dog"): None}
    for (first, second), count in expected.items():
        assert steps.between(first, second) == steps.between(second, first) == count


def test_steps_between_nouns_are_those_of_path_similarity(home: Path) -> None:
    wordnet = WordNet(home / "corpora" / "wordnet")
    steps = WordNetSteps(wordnet)
    for first, second in product(NOUNS[:-1], NOUNS[:-1]):
        one, other = wordnet.reader.synset(f"{first}.n.01"), wordnet.reader.synset(f"{second}.n.01")
        assert 1 / (1 + steps.between(first, second)) == pytest.approx(one.path_similarity(other))


def test_the_command_writes_files(
    files: tuple[Path, Path],
    tmp_path: Path,
    lookup: DefinitionLookup,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "probabilities_dev.json").write_text(json.dumps(PROBABILITIES))
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    assert main(["analyze", *map(str, files), str(tmp_path / "out"), "--open"]) == 0
    assert opened == [str(tmp_path / "out" / "report.html")]
    assert "4 questions: accuracy 25.00" in capsys.readouterr().out
    values = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert values["records"][0]["probabilities"] == [0.8, 0.15, 0.05]
    assert len(list((tmp_path / "out").glob("*.png"))) == 5
    text = (tmp_path / "out" / "report.html").read_text()
    marks = [f'<mark class="{kind}' for kind in ('gold predicted">dog', 'gold">dog', 'predicted">price')]
    for shown in (*marks, "80.0 %", "2 WordNet steps away", "no prediction", "Part of speech <select"):
        assert shown in text, shown


def test_without_wordnet_its_tables_are_left_out(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clozeformers.abstract_cloze.analysis.write_analysis", lambda *_: None)
    monkeypatch.setattr("clozeformers.abstract_cloze.wordnet.dictionary_places", list)
    analysis = analyze_files(*files, tmp_path / "out")
    assert len(analysis.tables) == 2
    assert "There are no tables by part of speech and by closeness in WordNet: " in analysis.summary
    assert "install" in analysis.summary


def test_damaged_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "probabilities_dev.json").write_text("[]")
    with pytest.raises(CorpusError, match=r"probabilities_dev\.json, line 1: .*the report shows no probabilities"):
        analyze_files(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_files_are_recognized(tmp_path: Path) -> None:
    cases = {'\ufeff{"option_0": "a"}': True, '\n{"options": []}': True, '{"data": []}': False, "[": False, "": False}
    for text, expected in cases.items():
        (tmp_path / "data").write_text(text, encoding="utf-8")
        assert is_data_file(tmp_path / "data") is expected


@pytest.mark.corpora
def test_gold_options_as_predictions_and_the_numbers_in_the_readme() -> None:
    rows = load_recam(real_file("recam/Task_1_dev.jsonl"))
    try:
        lookup = DefinitionLookup()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    analysis = analyze(rows, dict(zip(rows["id"], rows["label"], strict=True)), lookup=lookup)
    assert (len(analysis.records), analysis.scores["accuracy"]) == (837, 100)
    assert column(analysis, "part_of_speech").count("not in WordNet") < 0.05 * 837
    spread = table(analysis, "distribution of WordNet steps from the right option")
    assert spread["wrong options"].sum() == 4 * 837
    assert spread["chosen wrong options"].sum() == 0
    assert analysis.scores["baselines"] == pytest.approx({"any option": 20, "longest option": 27}, abs=0.005)
    where = table(analysis, "options in the article")["questions"]
    assert where.to_dict() == {"wrong ones only": 192, "none": 645, "all": 837}
