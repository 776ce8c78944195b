"""ReCAM's files and multiple-choice datasets of the Hub."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset

from clozeformers.abstract_cloze import load_recam
from clozeformers.abstract_cloze.recam import CLOZE_FEATURES, from_multiple_choice, without_articles_of
from clozeformers.files import CorpusError
from tests.cloze_corpora import real_file
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
    """The good row with other fields; `...` removes one."""
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}


def test_rows(tmp_path: Path) -> None:
    no_label = changed(label=..., id=7, option_2=...)
    listed = {"article": " A\u00a0", "question": "@placeholder!", "options": ["a", "b"], "label": None, "id": "x"}
    rows = load_recam(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r", b"", no_label, b" ", listed))
    assert rows.features == CLOZE_FEATURES
    texts = {name: GOOD[name] for name in ("article", "question")}
    assert rows[0] == {"id": "mine/1", **texts, "options": ["happy", "Happy", "very new"], "label": 2}
    assert rows[1] == rows[0] | {"id": "7", "options": ["happy", "Happy"], "label": -1}
    assert rows[2] == listed | {"label": -1}
    assert load_recam(write(tmp_path, changed(label=-1)))[0]["label"] == -1


def test_options_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    row = changed(option_0=..., option_1=..., option_2=...)
    row |= {f"option_{number}": f"word{number}" for number in reversed(range(11))}
    assert load_recam(write(tmp_path, row))[0]["options"] == [f"word{number}" for number in range(11)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"{", r"is not JSON \(Expecting property name enclosed in double quotes, column 2\)"),
        (b'{"article": "\xe9"}', r"the bytes b'\\xe9' are not UTF-8"),
        ([GOOD], "is not a JSON object; ReCAM has one question per line"),
        (changed(article=...), "'article' is missing; a question is .*, and there is question, option_0"),
        (changed(question=5), "question.* 5"),
        (changed(option_2=" happy"), "options 0 and 2 are both 'happy'; all must be different"),
        (changed(label=3), "label is 3; it must be the number of an option, 0 to 2"),
        (changed(label=-2), "label is -2"),
        (changed(label=True), "label is True"),
        (changed(id=1.5), "id is float 1.5; it must be a string"),
        (changed(id="mine/1"), "the id 'mine/1' is that of an earlier question; make ids unique"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, row: Any, message: str) -> None:
    path = write(tmp_path, GOOD, b"", row)
    with pytest.raises(CorpusError, match=message) as caught:
        load_recam(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_paths_that_are_not_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder; .*Task_1_dev\.jsonl"):
        load_recam(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl does not exist"):
        load_recam(tmp_path / "absent.jsonl")
    with pytest.raises(CorpusError, match="line 1: the file is empty; ReCAM has one question per line"):
        load_recam(write(tmp_path, b""))


def test_datasets_of_the_hub() -> None:
    rows = [GOOD, changed(option_2=None, label=None), changed(label=0)]
    converted = from_multiple_choice(Dataset.from_list(rows).with_format("numpy"), "hub/recam")
    assert converted.features == CLOZE_FEATURES
    assert converted["id"][:] == ["hub/recam/0", "hub/recam/1", "hub/recam/2"]
    assert [len(options) for options in converted["options"]] == [3, 2, 3]
    assert converted["label"][:] == [2, -1, 0]
    named = Dataset.from_list([GOOD]).cast_column("label", ClassLabel(names=["a", "b", "c"]))
    assert from_multiple_choice(named, "named")[0]["label"] == 2
    assert from_multiple_choice(converted, "ours")[:] == converted[:]


def test_datasets_that_do_not_fit() -> None:
    swag = Dataset.from_list([{"sent1": "a", "sent2": "b", "ending0": "c", "ending1": "d", "label": 0}])
    with pytest.raises(ValueError, match=r"swag, row 0: 'article' is missing; .* there is sent1, sent2, ending0"):
        from_multiple_choice(swag, "swag")
    with pytest.raises(ValueError, match="row 1: the id 'q' is that of an earlier question"):
        from_multiple_choice(Dataset.from_list([GOOD | {"id": "q"}] * 2), "mine")


def test_articles_of_another_corpus_are_removed(caplog: pytest.LogCaptureFixture) -> None:
    articles = ["It cost £5, he said.", "A cat sat.", "猫は2020年に座った", "The rest."]
    rows = cloze_rows(*({"article": article} for article in articles))
    others = ["it cost Â£5,\nhe said.", "A dog sat.", "犬は2020年に座った", "More of the rest."]
    with caplog.at_level(logging.INFO, "clozeformers"):
        kept = without_articles_of(rows, cloze_rows(*({"article": article} for article in others)))
    assert kept["article"][:] == articles[1:]
    assert "Removed 1 of 4 rows" in caplog.text
    assert len(without_articles_of(rows, rows)) == 0


@pytest.mark.corpora
def test_real_files() -> None:
    names = ("Task_1_Imperceptibility", "Task_1_test_with_labels", "Task_2_Nonspecificity", "Task_1_dev")
    *training, dev = (load_recam(real_file(f"recam/{name}.jsonl")) for name in names)
    assert [len(rows) for rows in (*training, dev)] == [1000, 2025, 1000, 837]
    for rows in (*training, dev):
        assert {len(options) for options in rows["options"]} == {5}
        assert set(rows["label"]) == {0, 1, 2, 3, 4}
    # Some articles are in several files, and some more are the same but for damaged characters.
    assert [len(set(dev["article"]) & set(rows["article"])) for rows in training] == [31, 19, 0]
    assert [len(rows) - len(without_articles_of(rows, dev)) for rows in training] == [32, 22, 0]
