"""ReCAM's files and the Hub's multiple choice: rows, and what is refused."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset

from clozeformers.abstract_cloze import load_recam
from clozeformers.abstract_cloze.recam import (
    CLOZE_FEATURES,
    check_multiple_choice_columns,
    from_multiple_choice,
    without_articles_of,
)
from clozeformers.files import CorpusError
from tests.cloze_models import cloze_rows

GOOD: dict[str, Any] = {
    "article": "The cat sat.",
    "question": "A cat is top - @placeholder 's .",
    "option_0": "happy",
    "option_1": "Happy",
    "option_2": "very new",
    "label": 2,
}


def write(folder: Path, *lines: Any) -> Path:
    """Write lines, objects as JSON and bytes as they are."""
    path = folder / "mine.jsonl"
    parts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(parts) + b"\n")
    return path


def changed(**changes: Any) -> dict[str, Any]:
    """The good row with other fields; `...` takes one out."""
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}


# ------------------------------------------------------------------------------------------------------------- files


def test_rows(tmp_path: Path) -> None:
    no_label = changed(label=..., id=7, option_2=...)
    listed = {"article": " A\u00a0", "question": "@placeholder!", "options": ["a", "b"], "label": None, "id": "x"}
    rows = load_recam(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r", b"", no_label, b" ", listed))
    assert rows.features == CLOZE_FEATURES
    assert rows[0] == {
        "id": "mine/1",
        "article": "The cat sat.",
        "question": "A cat is top - @placeholder 's .",
        "options": ["happy", "Happy", "very new"],
        "label": 2,
    }
    assert rows[1] == rows[0] | {"id": "7", "options": ["happy", "Happy"], "label": -1}
    assert rows[2] == {
        "id": "x",
        "article": " A\u00a0",
        "question": "@placeholder!",
        "options": ["a", "b"],
        "label": -1,
    }
    assert load_recam(write(tmp_path, changed(label=-1)))[0]["label"] == -1


def test_the_order_of_options_is_that_of_their_numbers(tmp_path: Path) -> None:
    options = {f"option_{number}": f"word{number}" for number in range(11)}
    names = sorted(options, reverse=True)
    row = changed(option_0=..., option_1=..., option_2=...) | {name: options[name] for name in names}
    assert load_recam(write(tmp_path, row))[0]["options"] == [f"word{number}" for number in range(11)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"{", r"this is not JSON \(Expecting property name enclosed in double quotes, column 2\)"),
        (b"[" * 200_000, "the JSON nests too deep"),
        (b'{"article": "\xe9"}', r"the bytes b'\\xe9' are not UTF-8"),
        ([GOOD], r"\[\{.* stands where an object must"),
        (changed(article=...), "'article' is missing; a question is .*, and there is question, option_0"),
        (changed(question=...), "'question' is missing"),
        (changed(question=5), "the question is a string, not int 5"),
        (changed(article=" \u2003"), "the article is .*; it must hold at least one word"),
        (changed(article=None), "the article is a string, not NoneType"),
        (changed(article="\ud83d"), "character 0 of the article.* half of a surrogate pair"),
        (changed(question="A cat"), "the question 'A cat' has @placeholder 0 times; write it once"),
        (changed(question="@placeholder @placeholder"), "has @placeholder 2 times"),
        (changed(option_1=...), "there is option_2 but no option_1; number the options from 0"),
        (changed(option_0=...), "there is option_1 but no option_0"),
        (changed(option_1=..., option_2=...), r"two options or more, not \['happy'\]"),
        (changed(option_0=..., option_1=..., option_2=...), "'options' is missing; a question is"),
        (changed(option_1=""), "option 1 is ''; it must hold"),
        (changed(option_1=3), "option 1 is a string, not int 3"),
        (changed(option_2=" happy"), "options 0 and 2 are both 'happy'; all must be different"),
        (changed(options=["happy", "new"]), "there are both 'options' and 'option_0'; give the options once"),
        (
            changed(options="happy", option_0=..., option_1=..., option_2=...),
            "the options are a list of strings, not str 'happy'",
        ),
        (changed(label=3), "label is 3; it must be the number of an option, 0 to 2"),
        (changed(label=-2), "label is -2"),
        (changed(label="1"), "label is '1'"),
        (changed(label=True), "label is True"),
        (changed(label=1.0), "label is 1.0"),
        (changed(id=1.5), "the id is a string, not float 1.5"),
        (changed(id="mine/1"), "the id 'mine/1' stands in line 1 too; ids must be unique"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, row: Any, message: str) -> None:
    path = write(tmp_path, GOOD, b"", row)
    with pytest.raises(CorpusError, match=message) as caught:
        load_recam(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_paths_that_are_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"give the path of a file, such as .*Task_1_dev\.jsonl"):
        load_recam(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl does not exist"):
        load_recam(tmp_path / "absent.jsonl")
    with pytest.raises(CorpusError, match="there is no question in the file"):
        load_recam(write(tmp_path, b""))


# -------------------------------------------------------------------------------------------------------- other corpora


def test_datasets_of_the_hub() -> None:
    rows = [GOOD, changed(option_2=None, label=None), changed(label=0)]
    taken = from_multiple_choice(Dataset.from_list(rows), "hub/recam")
    assert taken.features == CLOZE_FEATURES
    assert taken["id"][:] == ["hub/recam/0", "hub/recam/1", "hub/recam/2"]
    assert [len(options) for options in taken["options"]] == [3, 2, 3]
    assert taken["label"][:] == [2, -1, 0]
    # Letters and columns as RACE has them.
    race = [{"id": "r", "article": "A.", "question": "@placeholder .", "options": ["x", "y"], "answer": "B"}]
    assert from_multiple_choice(Dataset.from_list(race).with_format("numpy"), "race")[0]["label"] == 1
    named = Dataset.from_list([GOOD]).cast_column("label", ClassLabel(names=["a", "b", "c"]))
    assert from_multiple_choice(named, "named")[0]["label"] == 2
    again = from_multiple_choice(taken, "ours")
    assert again[:] == taken[:]


def test_datasets_that_cannot_be_taken_over() -> None:
    swag = Dataset.from_list([{"sent1": "a", "sent2": "b", "ending0": "c", "ending1": "d", "label": 0}])
    with pytest.raises(
        ValueError, match=r"swag has no column article, question, options; it has sent1, .*SWAG's ending0"
    ):
        from_multiple_choice(swag, "swag")
    check_multiple_choice_columns(Dataset.from_list([GOOD]), "mine")
    race = {"article": "A.", "question": "What?", "options": ["x", "y"], "answer": "A"}
    gap = race | {"question": "@placeholder"}
    with pytest.raises(ValueError, match="race, row 1: the question 'What\\?' has @placeholder 0 times"):
        from_multiple_choice(Dataset.from_list([gap, race]), "race")
    for answer in ("C", "a", "AB", ""):
        with pytest.raises(ValueError, match=f"row 0: answer is '{answer}'; it must be a letter from A to B"):
            from_multiple_choice(Dataset.from_list([gap | {"answer": answer}]), "race")
    with pytest.raises(ValueError, match="row 1: the id 'q' is that of row 0 too"):
        from_multiple_choice(Dataset.from_list([gap | {"id": "q"}] * 2), "race")
    with pytest.raises(ValueError, match="race has no rows"):
        from_multiple_choice(Dataset.from_list([gap]).select([]), "race")


def test_articles_of_another_corpus_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    articles = ["It cost £5, he said.", "A cat sat.", "猫は2020年に座った", "The rest."]
    rows = cloze_rows(*({"article": article} for article in articles))
    others = ["it cost Â£5,\nhe said.", "A dog sat.", "犬は2020年に座った", "More of the rest."]
    with caplog.at_level(logging.INFO, "clozeformers"):
        kept = without_articles_of(rows, cloze_rows(*({"article": article} for article in others)))
    assert kept["article"][:] == articles[1:]
    assert "1 of 4 rows are left out" in caplog.text
    assert len(without_articles_of(rows, rows)) == 0


# ----------------------------------------------------------------------------------------------------------- real files

TRAIN = ("Task_1_Imperceptibility", "Task_1_test_with_labels", "Task_2_Nonspecificity")
COUNTS = {
    "Task_1_Imperceptibility": 1000,
    "Task_1_test_with_labels": 2025,
    "Task_1_dev": 837,
    "Task_2_Nonspecificity": 1000,
}


def real_files() -> dict[str, Dataset]:
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds recam/")
    return {name: load_recam(Path(folder, "recam", f"{name}.jsonl")) for name in COUNTS}


@pytest.mark.corpora
def test_real_files_have_their_counts() -> None:
    corpora = real_files()
    assert {name: len(rows) for name, rows in corpora.items()} == COUNTS
    for rows in corpora.values():
        assert {len(options) for options in rows["options"]} == {5}
        assert set(rows["label"]) == {0, 1, 2, 3, 4}


@pytest.mark.corpora
def test_real_files_share_articles() -> None:
    """To the last character, 44 articles of the test file and 31 of dev stand in the first file too, and 19 of dev in
    the test file. Some more are the same but for damaged characters.
    """
    corpora = real_files()
    dev = corpora["Task_1_dev"]
    exact = {name: set(corpora[name]["article"]) for name in COUNTS}
    first, test, second = TRAIN
    assert len(exact[test] & exact[first]) == 44
    assert [len(exact["Task_1_dev"] & exact[name]) for name in TRAIN] == [31, 19, 0]
    left_out = {name: len(corpora[name]) - len(without_articles_of(corpora[name], dev)) for name in TRAIN}
    assert left_out == {first: 32, test: 22, second: 0}
    assert len(corpora[test]) - len(without_articles_of(corpora[test], corpora[first])) == 57
