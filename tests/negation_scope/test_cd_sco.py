"""The CD-SCO column format, read and written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.files import CorpusError
from clozeformers.metrics import SemStarScope
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


def test_sentences(corpus):
    plain, two_words, two_cues = read_sentences(corpus)
    assert (plain.id, plain.words, plain.negations) == ("tale01/0", ["Rain", "fell", "."], ())
    assert plain.columns[0] == ("tale01", "0", "0", "Rain", "rain", "NN", "*")
    texts = ("_ neither _ nor _ _", "He _ moved _ spoke _", "_ _ moved _ spoke _")
    assert two_words.negations == (CdScoNegation(*(tuple(text.split()) for text in texts)),)
    assert two_cues.negations[1].cue == ("_", "_", "_", "_", "no", "less")


def test_rows(corpus):
    rows = list(read_cd_sco(corpus))
    assert [row["id"] for row in rows] == ["tale01/0#-", "tale01/1#0", "tale01/2#0", "tale01/2#1"]
    assert [row["cue_text"] for row in rows] == ["", "neither nor", "un", "no less"]
    assert (rows[0]["tokens"], rows[0]["cue"], rows[0]["scope"]) == (["Rain", "fell", "."], [0, 0, 0], [0, 0, 0])
    assert rows[2] == {
        "id": "tale01/2#0",
        "corpus": "cd-sco",
        "kind": "negation",
        "tokens": ["It", "was", "unlikely", "that", "no", "carelessness"],
        "cue": [0, 0, 1, 0, 0, 0],
        "cue_text": "un",
        "scope": [1, 1, 1, 1, 1, 0],
    }

    corpus.write_text(TEXT + "\n", encoding="utf-8")
    assert list(read_cd_sco(corpus)) == rows, "a blank line may end the file"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("fell\tfell\tNN\t*\t***", "fell\tfell\tNN\t***", 2, r"7 columns in .*; a line has 7 columns"),
        ("fell\tfell\tNN\t*\t***", "fell\tfell\tNN\t*\t_", 2, r"8 columns in .* cue, scope and event"),
        ("\tmoved\tmoved\n", "\tmoved\n", 7, "9 columns"),
        ("fell\tNN\t*\t***", "fell\tNN\t*\t***\t_\t_", 2, "10 columns in"),
        ("fell\tNN\t*\t***", "fell\tNN\t*\t_\t_\t_", 2, "columns for 1 negations; line 1, .* has 0"),
        ("moved\tNN\t*\t_\tmoved\tmoved", "moved\tNN\t*\t***", 7, "columns for 0 negations; line 5, .* has 1"),
        ("tale01\t1\t2", "tale01\t1\t3", 7, "token number '3'; .* here 2"),
        ("tale01\t1\t2", "tale01\t7\t2", 7, "sentence tale01/7 begins inside sentence tale01/1; a blank line"),
        ("tale01\t1\t", "tale01\t0\t", 5, "sentence tale01/0 occurs twice, first in line 1; number one of them"),
        ("\tneither\t_\t_", "\tNeither\t_\t_", 6, "cue 'Neither' is not part of the word 'neither'"),
        ("\tmoved\tmoved\n", "\tmove it\tmoved\n", 7, "column 9 is 'move it'"),
        ("\tmoved\tmoved\n", "\tmoves\tmoved\n", 7, "scope 'moves' is not part of the word 'moved'"),
        ("\tmoved\tmoved\n", "\tmoved\tmoves\n", 7, "event 'moves' is not part of the word 'moved'"),
        ("\tmoved\tmoved\n", "\t\tmoved\n", 7, "column 9 is ''"),
        ("\tmoved\tNN", "\t\tNN", 7, "column 5 is empty"),
        ("\tun\tlikely", "\t_\tlikely", 12, "negation 0 of the sentence that begins here has no cue; column 8"),
        ("\n\n", "\n\n\n", 5, "a blank line with no sentence before it"),
        ("\n", "\r\n", 1, r"ends in \\r\\n"),
        ("fell\tfell", "f\udce9ll\tfell", 2, r"b'\\xe9' are not UTF-8"),
        (TEXT, "", 1, "the file is empty"),
    ],
)
def test_malformed_files(tmp_path, old, new, line, message):
    assert old in TEXT
    path = tmp_path / "broken.txt"
    path.write_bytes(TEXT.replace(old, new, 1 if old != "\n" else -1).encode("utf-8", "surrogateescape"))
    with pytest.raises(CorpusError, match=message) as caught:
        list(read_sentences(path))
    assert (caught.value.path, caught.value.where) == (path, line)
    assert f"{path}, line {line}: " in str(caught.value)


def test_writing_gold_scopes(corpus, tmp_path):
    output = tmp_path / "system.txt"
    write_cd_sco(corpus, {row["id"]: row["scope"] for row in read_cd_sco(corpus)}, output)
    for gold, written in zip(read_sentences(corpus), read_sentences(output), strict=True):
        assert written.columns == gold.columns
        assert [(n.cue, n.scope) for n in written.negations] == [(n.cue, n.scope) for n in gold.negations]
        assert all(set(n.event) == {"_"} for n in written.negations)
    scores = SemStarScope(cache_dir=str(tmp_path)).compute(predictions=[str(output)], references=[str(corpus)])
    assert (scores["scopes_cue_match_tp"], scores["scopes_cue_match_fn"]) == (3, 0)
    assert output.read_bytes().endswith(b"\t_\n\n"), "without a blank line the official script drops the last word"


@pytest.mark.parametrize(
    ("word", "cue", "scope"),
    [("unkind", "un", "kind"), ("careless", "less", "care"), ("hopelessly", "less", "hope"), ("not", "not", "_")],
)
def test_rest_of_a_word_with_an_affix(tmp_path, word, cue, scope):
    gold, output = tmp_path / "gold.txt", tmp_path / "system.txt"
    gold.write_text(column_text(f"She:_,_,_ {word}:{cue},_,_ words:_,_,_"))
    write_cd_sco(gold, {"tale01/0#0": [0, 1, 1]}, output)
    (sentence,) = read_sentences(output)
    assert sentence.negations[0].scope == ("_", scope, "words")


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_round_trip(corpus, tmp_path, data):
    rows = list(read_cd_sco(corpus))
    # A word that is a cue as a whole cannot be in scope.
    free = {"tale01/0#-": "000", "tale01/1#0": "101011", "tale01/2#0": "111111", "tale01/2#1": "111101"}
    scopes = {
        row_id: [data.draw(st.integers(0, 1)) if word == "1" else 0 for word in words] for row_id, words in free.items()
    }
    write_cd_sco(corpus, scopes, tmp_path / "system.txt")
    written = list(read_cd_sco(tmp_path / "system.txt"))
    assert {row["id"]: row["scope"] for row in written} == scopes
    assert [{**row, "scope": 0} for row in written] == [{**row, "scope": 0} for row in rows]
