"""The CD-SCO column format, read and written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.files import CorpusError
from clozeformers.metrics.sem_star_scope import score_files
from clozeformers.negation_scope.corpora.cd_sco import CdScoNegation, read_cd_sco, read_sentences, write_cd_sco


def column_text(*sentences: str) -> str:
    """Sentences of words "word:cell,cell,cell", or "word" for ``***``, as a column file."""
    blocks = []
    for number, sentence in enumerate(sentences):
        lines = []
        for token, item in enumerate(sentence.split()):
            word, _, cells = item.partition(":")
            lines.append(
                "\t".join(
                    ["tale01", str(number), str(token), word, word.lower(), "NN", "*", *(cells or "***").split(",")]
                )
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


TEXT = column_text(
    "Rain fell .",
    "He:_,He,_ neither:neither,_,_ moved:_,moved,moved nor:nor,_,_ spoke:_,spoke,spoke .:_,_,_",
    "It:_,It,_,_,_,_ was:_,was,_,_,_,_ unlikely:un,likely,likely,_,_,_ that:_,that,_,_,that,_ "
    "no:_,no,_,no,_,_ carelessness:_,_,_,less,care,_",
)


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_sentences_keep_all_that_the_file_says(corpus):
    plain, two_words, two_cues = read_sentences(corpus)
    assert (plain.chapter, plain.number, plain.words, plain.negations) == ("tale01", "0", ["Rain", "fell", "."], ())
    assert plain.columns[0] == ("tale01", "0", "0", "Rain", "rain", "NN", "*")
    assert two_words.negations == (
        CdScoNegation(
            cue=("_", "neither", "_", "nor", "_", "_"),
            scope=("He", "_", "moved", "_", "spoke", "_"),
            event=("_", "_", "moved", "_", "spoke", "_"),
        ),
    )
    assert two_cues.negations[1].cue == ("_", "_", "_", "_", "no", "less")


def test_rows(corpus):
    rows = list(read_cd_sco(corpus))
    assert [row["id"] for row in rows] == ["tale01/1#0", "tale01/2#0", "tale01/2#1"]
    assert [row["cue_text"] for row in rows] == ["neither nor", "un", "no less"]
    assert rows[1] == {
        "id": "tale01/2#0",
        "corpus": "cd-sco",
        "kind": "negation",
        "tokens": ["It", "was", "unlikely", "that", "no", "carelessness"],
        "cue": [0, 0, 1, 0, 0, 0],
        "cue_text": "un",
        "scope": [1, 1, 1, 1, 1, 0],
    }


def test_rows_without_cues(corpus):
    rows = list(read_cd_sco(corpus, without_cues=True))
    assert [row["id"] for row in rows] == ["tale01/0#-", "tale01/1#0", "tale01/2#0", "tale01/2#1"]
    assert rows[0]["tokens"] == ["Rain", "fell", "."]
    assert (rows[0]["cue"], rows[0]["scope"], rows[0]["cue_text"]) == ([0, 0, 0], [0, 0, 0], "")


def test_a_blank_line_may_end_the_file(corpus):
    rows = list(read_cd_sco(corpus))
    corpus.write_text(TEXT + "\n", encoding="utf-8")
    assert list(read_cd_sco(corpus)) == rows


def test_reading_streams(corpus):
    corpus.write_text(TEXT + "\nbroken\n", encoding="utf-8")
    rows = read_cd_sco(corpus)
    assert next(rows)["id"] == "tale01/1#0"


@pytest.mark.parametrize(
    ("kind", "message"), [("speculation", "CD-SCO has no speculation.*kind='negation'"), ("other", "kind is 'other'")]
)
def test_kinds_it_does_not_have_are_refused_at_once(corpus, kind, message):
    with pytest.raises(ValueError, match=message):
        read_cd_sco(corpus, kind=kind)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("fell\tfell\tNN\t*\t***", "fell\tfell\tNN\t***", 2, r"7 columns in .*; a line has"),
        ("fell\tfell\tNN\t*\t***", "fell\tfell\tNN\t*\t_", 2, r"8 columns in .* cue, scope and event"),
        ("\tmoved\tmoved\n", "\tmoved\n", 7, "9 columns"),
        ("fell\tNN\t*\t***", "fell\tNN\t*\t***\t_\t_", 2, r"\*\*\* stands beside other negation columns"),
        ("fell\tNN\t*\t***", "fell\tNN\t*\t_\t_\t_", 2, r"mixed in one sentence; line 1, .* has \*\*\*"),
        ("moved\tNN\t*\t_\tmoved\tmoved", "moved\tNN\t*\t***", 7, "mixed .* line 5, .* has columns for 1 negation"),
        ("\tmoved\tmoved\n", "\tmoved\tmoved\t_\t_\t_\n", 7, "columns for 2 negations; line 5"),
        ("tale01\t1\t2", "tale01\t1\t3", 7, "token number '3'; .* here 2"),
        ("tale01\t1\t0", "tale01\t1\t1", 5, "token number '1'; .* here 0"),
        ("tale01\t1\t2", "tale01\t7\t2", 7, "sentence tale01/7 begins inside sentence tale01/1; a blank line"),
        ("\tneither\t_\t_", "\tNeither\t_\t_", 6, "cue 'Neither' is not part of the word 'neither'"),
        ("\tmoved\tmoved\n", "\tmove it\tmoved\n", 7, "column 9 is 'move it'"),
        ("\tmoved\tmoved\n", "\tmoves\tmoved\n", 7, "scope 'moves' is not part of the word 'moved'"),
        ("\tmoved\tmoved\n", "\tmoved\tmoves\n", 7, "event 'moves' is not part of the word 'moved'"),
        ("\tmoved\tmoved\n", "\t\tmoved\n", 7, "column 9 is ''"),
        ("\tmoved\tNN", "\t\tNN", 7, "column 5 is empty"),
        ("\tun\tlikely", "\t_\tlikely", 12, "negation 0 of the sentence that begins here has no cue; .* column 8"),
        ("\n\n", "\n\n\n", 5, "a blank line with no sentence before it"),
        ("\n", "\r\n", 1, r"ends in \\r\\n"),
        ("fell\tfell", "f\udce9ll\tfell", 2, r"b'\\xe9' are not UTF-8"),
        (TEXT, "", 1, "the file is empty"),
    ],
)
def test_what_cannot_be_read(tmp_path, old, new, line, message):
    assert old in TEXT
    path = tmp_path / "broken.txt"
    path.write_bytes(TEXT.replace(old, new, 1 if old != "\n" else -1).encode("utf-8", "surrogateescape"))
    with pytest.raises(CorpusError, match=message) as caught:
        list(read_sentences(path))
    assert (caught.value.path, caught.value.where) == (path, line)
    assert f"{path}, line {line}: " in str(caught.value)


def test_writing_gold_scopes_gives_the_gold_file_without_events(corpus, tmp_path):
    output = tmp_path / "system.txt"
    write_cd_sco(corpus, {row["id"]: row["scope"] for row in read_cd_sco(corpus)}, output)
    for gold, written in zip(read_sentences(corpus), read_sentences(output), strict=True):
        assert written.columns == gold.columns
        assert [(n.cue, n.scope) for n in written.negations] == [(n.cue, n.scope) for n in gold.negations]
        assert all(set(n.event) == {"_"} for n in written.negations)
    report = score_files(corpus, output)
    assert (report.scopes_cue_match.tp, report.scopes_cue_match.fn) == (3, 0)


@pytest.mark.parametrize(
    ("word", "cue", "scope"),
    [("unkind", "un", "kind"), ("careless", "less", "care"), ("hopelessly", "less", "hope"), ("not", "not", "_")],
)
def test_the_rest_of_a_word_with_an_affix(tmp_path, word, cue, scope):
    gold, output = tmp_path / "gold.txt", tmp_path / "system.txt"
    gold.write_text(column_text(f"She:_,_,_ {word}:{cue},_,_ words:_,_,_"))
    write_cd_sco(gold, {"tale01/0#0": [0, 1, 1]}, output)
    (sentence,) = read_sentences(output)
    assert sentence.negations[0].scope == ("_", scope, "words")


def test_the_written_file_ends_in_a_blank_line(corpus, tmp_path):
    output = tmp_path / "system.txt"
    write_cd_sco(corpus, {row["id"]: row["scope"] for row in read_cd_sco(corpus)}, output)
    assert output.read_bytes().endswith(b"\t_\n\n")


@pytest.mark.parametrize(
    ("row_id", "scope", "message"),
    [
        ("tale01/2#1", None, r"scopes has no 'tale01/2#1'; it must hold every id of read_cd_sco\(.*corpus\.txt"),
        ("tale01/2#0", [0, 1], "'tale01/2#0' has 2 values; its sentence has 6 words"),
        ("tale01/1#0", [0, 1, 2, 0, 0, 0], "'tale01/1#0' holds 2; it must hold 0 or 1"),
    ],
)
def test_scopes_that_cannot_be_written(corpus, tmp_path, row_id, scope, message):
    scopes = {row["id"]: row["scope"] for row in read_cd_sco(corpus)}
    if scope is None:
        del scopes[row_id]
    else:
        scopes[row_id] = scope
    with pytest.raises(ValueError, match=message):
        write_cd_sco(corpus, scopes, tmp_path / "system.txt")
    assert not (tmp_path / "system.txt").exists()


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_written_is_read_back(corpus, tmp_path, data):
    rows = list(read_cd_sco(corpus))
    # A word that is a cue as a whole cannot be in scope.
    whole = {
        row["id"]: [c and word == row["cue_text"] for c, word in zip(row["cue"], row["tokens"], strict=True)]
        for row in rows
    }
    whole["tale01/1#0"] = [False, True, False, True, False, False]
    whole["tale01/2#1"] = [False, False, False, False, True, False]
    scopes = {
        row_id: [0 if is_cue else data.draw(st.integers(0, 1)) for is_cue in words] for row_id, words in whole.items()
    }
    write_cd_sco(corpus, scopes, tmp_path / "system.txt")
    written = list(read_cd_sco(tmp_path / "system.txt"))
    assert {row["id"]: row["scope"] for row in written} == scopes
    assert [{**row, "scope": 0} for row in written] == [{**row, "scope": 0} for row in rows]


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("part", "sentences", "negated", "cues", "scopes"),
    [("training", 3644, 848, 984, 887), ("dev", 787, 144, 173, 168)],
)
def test_the_corpus_has_its_published_counts(part, sentences, negated, cues, scopes):
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds cd-sco/")
    (path,) = Path(folder, "cd-sco").glob(f"*-{part}-*.txt")
    parsed = list(read_sentences(path))
    assert (len(parsed), sum(bool(sentence.negations) for sentence in parsed)) == (sentences, negated)
    rows = list(read_cd_sco(path))
    assert (len(rows), sum(any(row["scope"]) for row in rows)) == (cues, scopes)
    assert len({row["id"] for row in rows}) == cues
    report = score_files(path, path)
    assert (report.cues.tp, report.scopes_cue_match.tp, report.correct_sentences) == (cues, scopes, 100.0)
    assert len(list(read_cd_sco(path, without_cues=True))) == cues + sentences - negated
