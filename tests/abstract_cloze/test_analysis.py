"""Records, tables, report and files of abstract cloze; steps in WordNet; curves of several seeds."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import TrainerState

from clozeformers.abstract_cloze.analysis import ARTICLE_LENGTHS, STEP_RANGES, length_range, step_range
from clozeformers.abstract_cloze.part_of_speech import get_tagger
from clozeformers.abstract_cloze.recam import load_recam
from clozeformers.abstract_cloze.wordnet import OptionReader, WordNet, find_wordnet
from clozeformers.abstract_cloze.wordnet_steps import WordNetSteps
from clozeformers.analysis import analyse_cloze, analyse_files, training_curves
from clozeformers.analysis.curves import Point, run_names
from clozeformers.analysis.report import article_segments, render_report
from clozeformers.analysis.tables import Table
from clozeformers.cli import main
from clozeformers.files import CorpusError

from ..wordnet_files import SATELLITE, write_wordnet

PNG = b"\x89PNG\r\n\x1a\n"
ENTRIES = {
    "thing": {"noun": ["anything"]},
    "animal": {"noun": ["a living thing"]},
    "dog": {"noun": ["it barks"]},
    "puppy": {"noun": ["a young dog"]},
    "cat": {"noun": ["it meows"]},
    "price": {"noun": ["what it costs"]},
    "hot": {"adjective": ["of high temperature"]},
    "warm": {SATELLITE: ["rather hot"]},
    "scalding": {SATELLITE: ["too hot to touch"]},
    "run": {"noun": ["a race"], "verb": ["move fast"]},
}
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
def option_reader(home: Path, monkeypatch: pytest.MonkeyPatch) -> OptionReader:
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(home))
    return OptionReader(find_wordnet(), get_tagger())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The questions and the predictions as files."""
    data, predictions = tmp_path / "dev.jsonl", tmp_path / "predictions_dev.json"
    data.write_text(recam_lines())
    predictions.write_text(json.dumps(PREDICTIONS))
    return data, predictions


def recam_lines() -> str:
    """The rows in ReCAM's own columns."""
    lines = []
    for values in ROWS:
        options = {f"option_{number}": option for number, option in enumerate(values["options"])}
        lines.append(json.dumps({key: value for key, value in values.items() if key != "options"} | options) + "\n")
    return "".join(lines)


def table(analysis: Any, name: str) -> Table:
    (found,) = (table for table in analysis.tables if table.name == name)
    return found


# -------------------------------------------------------------------------------------------------------------- records


def test_labelled_questions_are_scored() -> None:
    analysis = analyse_cloze(ROWS, PREDICTIONS, PROBABILITIES)
    assert [record.outcome for record in analysis.records] == ["right", "wrong", "wrong", "wrong"]
    assert (analysis.accuracy, analysis.missing, analysis.unlabelled) == (25.0, 1, 1)
    assert analysis.records[0].probabilities == (0.8, 0.15, 0.05)
    assert [record.in_article for record in analysis.records[:3]] == [
        (True, False, False),
        (True, True, False),
        (False, True),  # "category" is another word
    ]
    markdown = analysis.to_markdown()
    assert (
        "4 questions: accuracy 25.00 (percent). Without reading: any option: 37.50; longest option: 25.00." in markdown
    )
    assert "1 of them have no prediction and count as wrong." in markdown
    assert "1 more questions have no label" in markdown


def test_several_longest_options_count_in_part() -> None:
    analysis = analyse_cloze([row(0, "a", "dog", "cat"), row(1, "a", "dogs", "cats", "cow", "hens", label=3)], {})
    assert analysis.baselines == {"any option": pytest.approx(37.5), "longest option": pytest.approx(250 / 6)}


def test_tables_without_wordnet() -> None:
    analysis = analyse_cloze(ROWS, PREDICTIONS)
    assert [table.name for table in analysis.tables] == ["options in the article", "article length in words"]
    assert table(analysis, "options in the article").rows == (
        ("the right one only", 1, 25.0, 100.0),
        ("right and wrong ones", 1, 25.0, 0.0),
        ("wrong ones only", 1, 25.0, 0.0),
        ("none", 1, 25.0, 0.0),
    )
    assert table(analysis, "article length in words").column("questions") == [3, 1]


def test_tables_with_wordnet(option_reader: OptionReader) -> None:
    analysis = analyse_cloze(ROWS, PREDICTIONS, option_reader=option_reader)
    notes = [record.notes for record in analysis.records]
    assert [note.steps for note in notes if note] == [(0, 2, None), (0, 2, 1), (0, None), (None, None, None)]
    assert table(analysis, "part of speech").rows == (
        ("noun", 3, 75.0, pytest.approx(100 / 3)),
        ("not in WordNet", 1, 25.0, 0.0),
    )
    closest = table(analysis, "WordNet steps to the closest wrong option")
    assert closest.rows == (("1", 1, 25.0, 0.0), ("2", 1, 25.0, 100.0), ("not connected", 2, 50.0, 0.0))
    spread = table(analysis, "distribution of WordNet steps from the right option")
    assert spread.column("steps") == list(STEP_RANGES)
    assert spread.column("wrong options") == [0, 1, 2, 0, 0, 0, 4]
    assert spread.column("chosen wrong options") == [0, 1, 0, 0, 0, 0, 1]


def test_json(option_reader: OptionReader) -> None:
    values = json.loads(analyse_cloze(ROWS, PREDICTIONS, PROBABILITIES, option_reader).to_json())
    assert (values["questions"], values["accuracy"], len(values["tables"])) == (4, 25.0, 5)
    first, last = values["records"][0], values["records"][3]
    assert (first["prediction"], first["is_right"], first["steps"]) == (0, True, [0, 2, None])
    assert (last["prediction"], last["probabilities"], last["part_of_speech"]) == (None, None, "not in WordNet")


@given(st.integers(0, 2000))
def test_ranges(number: int) -> None:
    bounds = [int(value) for value in re.findall(r"\d+", length_range(number))]
    assert length_range(number) in ARTICLE_LENGTHS
    assert number <= bounds[-1] if len(bounds) > 1 or number <= 100 else number > bounds[0]
    assert step_range(number) in STEP_RANGES[:-1]


def test_step_ranges() -> None:
    shown = [step_range(steps) for steps in (0, 1, 2, 3, 4, 5, 8, 9, None)]
    assert shown == ["0 (synonyms)", "1", "2", "3–4", "3–4", "5–8", "5–8", "9 or more", "not connected"]


@pytest.mark.parametrize(
    ("rows", "predictions", "probabilities", "message"),
    [
        ([], {}, {}, "no labelled questions"),
        (ROWS[4:], {}, {}, "no labelled questions"),
        ([{"id": "q0", "article": ""}], {}, {}, r"rows\[0\] has no 'question'; a row has id, article"),
        ([ROWS[0], ROWS[0]], {}, {}, r"'q0' stands twice, again in rows\[1\]"),
        (ROWS, {"q9": 0}, {}, r"predictions for 1 question \('q9'\) that the rows do not have"),
        (ROWS, {"q0": 3}, {}, "prediction for 'q0' is 3; it must be an option's number, 0 to 2"),
        (ROWS, {"q0": -1}, {}, "0 to 2"),
        (ROWS, {"q0": "dog"}, {}, "prediction for 'q0' is 'dog'"),
        (ROWS, {"q0": True}, {}, "prediction for 'q0' is True"),
        (ROWS, {}, {"q2": [0.1, 0.2, 0.7]}, "the probabilities of 'q2' are .* they must be"),
    ],
)
def test_what_cannot_be_analysed(rows: Any, predictions: Any, probabilities: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        analyse_cloze(rows, predictions, probabilities)


# ---------------------------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dog", "dog", 0),
        ("Dogs", "dog", 0),
        ("puppy", "dog", 1),
        ("puppy", "thing", 3),
        ("puppy", "cat", 3),
        ("dog", "price", None),
        ("warm", "hot", 1),
        ("warm", "scalding", 2),
        ("warm", "dog", None),
        ("run", "dog", None),
        ("unheardof", "dog", None),
        ("unheardof", "unheardof", None),
        ("", "dog", None),
    ],
)
def test_steps(first: str, second: str, expected: int | None, home: Path) -> None:
    steps = WordNetSteps(WordNet(home / "corpora" / "wordnet"))
    assert steps.between(first, second) == steps.between(second, first) == expected


def test_steps_between_nouns_are_those_of_path_similarity(home: Path) -> None:
    wordnet = WordNet(home / "corpora" / "wordnet")
    steps = WordNetSteps(wordnet)
    nouns = [word for word, parts in ENTRIES.items() if list(parts) == ["noun"] and word != "price"]
    for first in nouns:
        for second in nouns:
            one, other = wordnet.reader.synset(f"{first}.n.01"), wordnet.reader.synset(f"{second}.n.01")
            assert 1 / (1 + steps.between(first, second)) == pytest.approx(one.path_similarity(other))


def test_steps_over_a_damaged_entry(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "wordnet"
    shutil.copytree(home / "corpora" / "wordnet", folder)
    path = folder / "data.noun"
    path.write_text(path.read_text().replace("dog 0 001 @ ", "dog 0 001 @ x"))
    with pytest.raises(CorpusError, match="the entry of 'dog' cannot be read: it is damaged"):
        WordNetSteps(WordNet(folder)).between("dog", "cat")


# --------------------------------------------------------------------------------------------------------------- report


def test_the_report_shows_every_question_worst_first(option_reader: OptionReader) -> None:
    text = render_report(analyse_cloze(ROWS, PREDICTIONS, PROBABILITIES, option_reader))
    assert re.findall(r'data-outcome="(\w+)"', text) == ["wrong"] * 3 + ["right"]
    assert re.findall(r'data-part="([\w ]+)"', text).count("noun") == 3
    for shown in (
        '<mark class="gold predicted">dog</mark>',
        '<mark class="gold">dog</mark>',
        '<mark class="predicted">price</mark>',
        "80.0 %",
        "2 WordNet steps away",
        "no prediction",
        "1 more questions have no label",
        "Part of speech <select",
    ):
        assert shown in text, shown
    without = render_report(analyse_cloze(ROWS, PREDICTIONS, remarks=["WordNet was <not> there."]))
    assert "Part of speech <select" not in without
    assert "WordNet was &lt;not&gt; there." in without


def test_hostile_texts_stay_texts() -> None:
    evil = "<script>alert(1)</script> {{ 7 * 7 }} </li>"
    rows = [row(0, evil, evil, f"x{evil}") | {"id": evil, "question": f"{evil} @placeholder"}]
    text = render_report(analyse_cloze(rows, {evil: 0}))
    assert text.count("<script>") == 1
    assert "{{" in text
    assert "49" not in text
    assert text.count("</li>") == 3  # the question, and its two options


@given(st.text("dog cat.", max_size=40), st.integers(0, 1), st.integers(0, 1))
def test_segments_are_the_article_cut_in_pieces(article: str, label: int, prediction: int) -> None:
    (record,) = analyse_cloze([row(0, article, "dog", "cat", label=label)], {"q0": prediction}).records
    pieces = list(article_segments(record))
    assert "".join(piece.text for piece in pieces) == article
    for word, is_marked in (("dog", 0), ("cat", 1)):
        marked = [piece for piece in pieces if piece.text == word and (piece.is_gold or piece.is_predicted)]
        assert len(marked) == (len(re.findall(rf"\b{word}\b", article)) if is_marked in (label, prediction) else 0)


# ---------------------------------------------------------------------------------------------------------------- files


def test_all_files_are_written(
    files: tuple[Path, Path], tmp_path: Path, option_reader: OptionReader, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "probabilities_dev.json").write_text(json.dumps(PROBABILITIES))
    assert main(["analyse", *map(str, files), str(tmp_path / "out")]) == 0
    assert "4 questions: accuracy 25.00" in capsys.readouterr().out
    values = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert values["records"][0]["probabilities"] == [0.8, 0.15, 0.05]
    assert "WordNet steps away" in (tmp_path / "out" / "report.html").read_text()
    charts = {path.stem: path.read_bytes() for path in (tmp_path / "out").glob("*.png")}
    assert len(charts) == 5
    assert all(chart.startswith(PNG) for chart in charts.values())


def test_without_wordnet_its_tables_are_left_out_with_a_sentence(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("clozeformers.abstract_cloze.wordnet_install.dictionary_places", list)
    analysis = analyse_files(*files, tmp_path / "out")
    assert len(analysis.tables) == 2
    text = (tmp_path / "out" / "analysis.md").read_text()
    assert "are left out, for WordNet could not be read: " in text
    assert "wordnet install" in text


def test_without_nltk_its_tables_are_left_out(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("clozeformers.abstract_cloze.wordnet.get_tagger", get_tagger)
    monkeypatch.setitem(sys.modules, "textblob.taggers", None)
    get_tagger.cache_clear()
    assert len(analyse_files(*files, tmp_path / "out").tables) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("predictions_dev.json", "{", "predictions_dev.json is no JSON file"),
        ("predictions_dev.json", "[]", "must hold an object, question id -> option number"),
        ("probabilities_dev.json", "[]", "must hold an object, question id -> probabilities"),
        ("dev.jsonl", recam_lines() + "{\n", "dev.jsonl.*6"),
    ],
)
def test_damaged_files(name: str, text: str, message: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        analyse_files(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------------------------------------------- curves


def write_run(folder: Path, scores: dict[int, float]) -> Path:
    """A run whose accuracy was measured at these steps."""
    log = [
        {"eval_accuracy": score, "loss": 1 - score, "epoch": step / 100, "step": step} for step, score in scores.items()
    ]
    folder.mkdir(parents=True)
    TrainerState(log_history=log).save_to_json(str(folder / "trainer_state.json"))
    return folder


def test_the_curve_of_several_seeds_is_their_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "duma" / "seed-0", {200: 0.5, 400: 0.75, 600: 0.25})
    write_run(tmp_path / "duma" / "seed-1", {200: 0.75, 400: 1.0})
    single = write_run(tmp_path / "encoder", {200: 0.5})
    curves = training_curves({"duma": tmp_path / "duma", "encoder": single}, "eval_accuracy")
    assert curves.curves["duma"] == (Point(200, 2.0, 0.625), Point(400, 4.0, 0.875))
    assert curves.losses["duma"][0].value == 0.375
    assert curves.best("duma") == Point(400, 4.0, 0.875)
    pytest.importorskip("matplotlib")
    runs = [str(tmp_path / "duma"), str(single)]
    assert main(["curves", "eval_accuracy", *runs, "--output", str(tmp_path / "out")]) == 0
    assert "| duma | 0.8750 | 400 |" in capsys.readouterr().out
    assert (tmp_path / "out" / "training_curves.png").read_bytes().startswith(PNG)


def test_seeds_without_a_step_in_common(tmp_path: Path) -> None:
    write_run(tmp_path / "seed-0", {200: 0.5})
    write_run(tmp_path / "seed-1", {300: 0.5})
    with pytest.raises(ValueError, match="no step in common at which 'eval_accuracy'"):
        training_curves({"run": tmp_path}, "eval_accuracy")


def test_runs_are_told_apart_by_the_folders_above() -> None:
    places = [Path("runs/duma/seed-0"), Path("runs/encoder/seed-0"), Path("runs/encoder/seed-1")]
    assert run_names(places) == ["duma/seed-0", "encoder/seed-0", "seed-1"]
    assert run_names([Path("runs/a")]) == ["a"]


# -------------------------------------------------------------------------------------------------------------- corpora


@pytest.mark.corpora
def test_gold_options_as_predictions() -> None:
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds recam/")
    try:
        reader = OptionReader(find_wordnet(), get_tagger())
    except (FileNotFoundError, ImportError) as error:
        pytest.skip(str(error))
    rows = load_recam(Path(folder, "recam", "Task_1_dev.jsonl"))
    analysis = analyse_cloze(rows, dict(zip(rows["id"], rows["label"], strict=True)), option_reader=reader)
    assert (len(analysis.records), analysis.accuracy) == (837, 100)
    assert sum(table(analysis, "part of speech").column("questions")[:4]) > 0.95 * 837
    spread = table(analysis, "distribution of WordNet steps from the right option")
    assert sum(spread.column("wrong options")) == 4 * 837
    assert sum(spread.column("chosen wrong options")) == 0


# ----------------------------------------------------------------------------------------------------------- real data


@pytest.mark.corpora
def test_what_the_readme_says_of_recams_development_questions() -> None:
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds recam/")
    analysis = analyse_cloze(load_recam(Path(folder) / "recam" / "Task_1_dev.jsonl"), {})
    assert analysis.baselines == {"any option": pytest.approx(20), "longest option": pytest.approx(27, abs=0.005)}
    where = {row[0]: row[1] for row in table(analysis, "options in the article").rows}
    assert where == {"wrong ones only": 192, "none": 645}
