"""SemStarScope against the numbers of the official script.

The third entry of each of ``CASES`` is the output of eval.cd-sco.pl, version 2.2, for the two files: for cues, scopes
with and without cue match, scope tokens, negated and full negation the counts gold, system, tp, fp and fn; then the
sentence counts and percentages. ``PERCENTAGES`` has more of its output. With CLOZEFORMERS_SEM_SCRIPT naming the script
(and perl at hand) the tests run it again, on these and on random files.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clozeformers.metrics import SemStarScope

SCRIPT = os.environ.get("CLOZEFORMERS_SEM_SCRIPT")
needs_script = pytest.mark.skipif(SCRIPT is None, reason="CLOZEFORMERS_SEM_SCRIPT does not name eval.cd-sco.pl")
MEASURES = ("cues", "scopes_cue_match", "scopes_no_cue_match", "scope_tokens", "negated", "full_negation")
COUNTS = ("gold", "system", "tp", "fp", "fn")
SENTENCES = ("sentences", "negation_sentences", "negation_sentences_with_errors")
SENTENCES += ("correct_sentences", "correct_negation_sentences")


def columns(spec: str, end: str = "\n\n") -> str:
    """Column text of sentences, one a line, of words "word/POS:cell,cell,cell" ("word/POS" for ``***``)."""
    sentences = []
    for number, sentence in enumerate(spec.split("\n")):
        lines = []
        for token, item in enumerate(sentence.split()):
            fixed, _, cells = item.partition(":")
            word, pos = fixed.rsplit("/", 1)
            lines.append(
                "\t".join(["tale01", str(number), str(token), word, word, pos, "*", *(cells or "***").split(",")])
            )
        sentences.append("\n".join(lines))
    return "\n\n".join(sentences) + end


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    return SemStarScope(keep_in_memory=True, cache_dir=str(tmp_path_factory.mktemp("metric")))


@pytest.fixture
def score(tmp_path, metric):
    def run(gold: str, system: str):
        gold_path, system_path = tmp_path / "gold.txt", tmp_path / "system.txt"
        gold_path.write_text(gold, encoding="utf-8")
        system_path.write_text(system, encoding="utf-8")
        # `compute` would write and read the paths as an Arrow table.
        return metric._compute(predictions=[str(system_path)], references=[str(gold_path)])

    return run


PLAIN = "Nobody/NN:Nobody,_,_ has/VBZ:_,has,_ slept/VBN:_,slept,slept ./.:_,_,_"
UNTIDY = "An/DT:_,an,_ untidy/JJ:un,tidy,tidy room/NN:_,room,_ ./.:_,_,_"
TWO_IN_ONE = (
    "No/DT:No,_,_,No,_,_ cat/NN:_,cat,_,_,_,_ or/CC:_,_,_,or,_,_ dog/NN:_,dog,_,_,dog,_ ran/VBD:_,ran,ran,_,ran,ran"
)

CASES = {
    "equal, with the negations in another order": (
        columns("I/PRP:_,I,_,_,_,_ never/RB:never,_,_,_,_,_ say/VB:_,say,say,_,_,_ nothing/NN:_,_,_,nothing,_,_"),
        columns("I/PRP:_,_,_,_,I,_ never/RB:_,_,_,never,_,_ say/VB:_,_,_,_,say,say nothing/NN:nothing,_,_,_,_,_"),
        "22200 11100 11100 22200 11100 22200 1 1 0 100.00 100.00",
    ),
    "no negation anywhere": (
        columns("Cats/NNS sleep/VBP"),
        columns("Cats/NNS sleep/VBP"),
        "00000 00000 00000 00000 00000 00000 1 0 0 100.00 100.00",
    ),
    "missed": (
        columns(PLAIN),
        columns("Nobody/NN has/VBZ slept/VBN ./."),
        "10001 10001 10001 20002 10001 10001 1 1 1 0.00 0.00",
    ),
    "invented": (
        columns("Nobody/NN has/VBZ slept/VBN ./."),
        columns(PLAIN),
        "01010 01010 01010 02020 01010 01010 1 0 0 0.00 100.00",
    ),
    "invented beside a right one": (
        columns(PLAIN),
        columns(
            "Nobody/NN:Nobody,_,_,_,_,_ has/VBZ:_,has,_,has,_,_ slept/VBN:_,slept,slept,_,slept,slept ./.:_,_,_,_,_,_"
        ),
        "12110 12110 12110 23210 12110 12110 1 1 1 0.00 0.00",
    ),
    "the wrong part of a word as the cue, the scope right": (
        columns(UNTIDY),
        columns("An/DT:_,an,_ untidy/JJ:unt,tidy,tidy room/NN:_,room,_ ./.:_,_,_"),
        "11001 11001 11000 33300 11100 11001 1 1 1 0.00 0.00",
    ),
    "the wrong part of a word in scope": (
        columns(UNTIDY),
        columns("An/DT:_,an,_ untidy/JJ:un,untidy,tidy room/NN:_,room,_ ./.:_,_,_"),
        "11100 11001 11001 33211 11100 11001 1 1 1 0.00 0.00",
    ),
    "found but not exact, beside a right one": (
        columns(PLAIN + "\n" + PLAIN),
        columns(PLAIN + "\nNobody/NN:Nobody,_,_ has/VBZ:has,has,_ slept/VBN:_,_,slept ./.:_,_,_"),
        "22101 22101 22101 43301 22200 22101 2 2 1 50.00 50.00",
    ),
    "a scope word missing, another too many": (
        columns(PLAIN),
        columns("Nobody/NN:Nobody,Nobody,_ has/VBZ:_,_,_ slept/VBN:_,slept,slept ./.:_,_,_"),
        "11100 11001 11001 22111 11100 11001 1 1 1 0.00 0.00",
    ),
    "punctuation and brackets are no scope": (
        columns(
            "No/DT:No,_,_ one/NN:_,one,_ (/-LRB-:_,(,_ ;/;:_,_,_ came/VBD:_,came,_ )/-RRB-:_,_,_ $/$:_,_,_ x/_:_,_,_"
        ),
        columns(
            "No/DT:No,_,_ one/NN:_,one,_ (/-LRB-:_,_,_ ;/;:_,;,_ came/VBD:_,came,_ )/-RRB-:_,),_ $/$:_,$,_ x/_:_,_,_"
        ),
        "11100 11100 11100 22200 00000 11100 1 1 0 100.00 100.00",
    ),
    "a tag of one underscore is not punctuation": (
        columns("No/DT:No,_,_ x/_:_,x,_"),
        columns("No/DT:No,_,_ x/_:_,_,_"),
        "11100 10001 10001 10001 00000 11001 1 1 1 0.00 0.00",
    ),
    "a scope of punctuation alone is none": (
        columns("No/DT:No,_,_ !/.:_,!,_"),
        columns("No/DT:No,_,_ !/.:_,_,_"),
        "11100 00000 00000 00000 00000 11100 1 1 0 100.00 100.00",
    ),
    "the gold file says what is punctuation": (
        columns("No/DT:No,_,_ one/NN:_,one,_ -/NN:_,-,_"),
        columns("No/DT:No,_,_ one/.:_,one,_ -/:_,_,_"),
        "11100 11001 11001 21101 00000 11001 1 1 1 0.00 0.00",
    ),
    "abbreviations end at the first full stop": (
        columns("Not/RB:Not,_,_ Mr./NNP:_,Mr.,_ p.m./NN:_,p.m.,_ 3.5/CD:_,3.5,_"),
        columns("Not/RB:Not,_,_ Mr./NNP:_,Mr,_ p.m./NN:_,p,_ 3.5/CD:_,3.x,_"),
        "11100 11100 11100 33300 00000 11100 1 1 0 100.00 100.00",
    ),
    "abbreviations count in scopes only": (
        columns("no./RB:no.,_,_ Mr./NNP:_,_,Mr."),
        columns("no./RB:no,_,_ Mr./NNP:_,_,Mr"),
        "11001 00000 00000 00000 11000 11001 1 1 1 0.00 0.00",
    ),
    "a letter beyond ASCII starts no abbreviation": (
        columns("Not/RB:Not,_,_ É./NNP:_,É.,_"),
        columns("Not/RB:Not,_,_ É./NNP:_,É,_"),
        "11100 11001 11001 11011 00000 11001 1 1 1 0.00 0.00",
    ),
    "a tag of letters beyond ASCII is punctuation": (
        columns("Not/RB:Not,_,_ all/É:_,all,_"),
        columns("Not/RB:Not,_,_ all/É:_,_,_"),
        "11100 00000 00000 00000 00000 11100 1 1 0 100.00 100.00",
    ),
    "a scope where gold has none": (
        columns("No/UH:No,_,_ !/.:_,_,_ we/PRP:_,_,_"),
        columns("No/UH:No,_,_ !/.:_,_,_ we/PRP:_,we,we"),
        "11100 01010 01010 01010 01010 11001 1 1 1 0.00 0.00",
    ),
    "the first free system negation is taken, not the best": (
        columns(TWO_IN_ONE),
        columns(
            "No/DT:No,_,_,No,_,_ cat/NN:_,_,_,_,cat,_ or/CC:or,_,_,_,_,_ dog/NN:_,dog,_,_,dog,_ "
            "ran/VBD:_,ran,ran,_,ran,ran"
        ),
        "22002 22002 22002 55411 22200 22002 1 1 1 0.00 0.00",
    ),
    "one system negation for two gold ones": (
        columns(TWO_IN_ONE),
        columns("No/DT:No,_,_ cat/NN:_,cat,_ or/CC:or,_,_ dog/NN:_,dog,_ ran/VBD:_,ran,ran"),
        "21002 21002 21001 53302 21101 21002 1 1 1 0.00 0.00",
    ),
    "a wrong event of the last system negation is not counted": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,has slept/VBN:_,slept,slept"),
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,_ slept/VBN:_,slept,slept"),
        "11100 11100 11100 22200 11000 11001 1 1 1 0.00 0.00",
    ),
    "a wrong event of an earlier system negation is": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,has slept/VBN:_,slept,slept"),
        columns("Nobody/NN:Nobody,_,_,_,_,_ has/VBZ:_,has,_,has,_,_ slept/VBN:_,slept,slept,_,_,_"),
        "12110 11100 11100 22200 11001 12011 1 1 1 0.00 0.00",
    ),
    "events are paired whatever the cues": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,_ slept/VBN:_,slept,slept"),
        columns("Nobody/NN:_,_,_ has/VBZ:has,_,_ slept/VBN:_,slept,slept"),
        "11011 11011 11011 21012 11100 11011 1 1 1 0.00 0.00",
    ),
    "gold columns without a cue": (
        columns("Cats/NNS:_,Cats,_ sleep/VBP:_,sleep,sleep"),
        columns("Cats/NNS:_,Cats,_ sleep/VBP:sleep,_,sleep"),
        "01010 11011 11011 21012 11100 01011 1 1 1 0.00 0.00",
    ),
    "without a blank line at the end the last word is lost": (
        columns("Cats/NNS sleep/VBP\n" + PLAIN.replace(" ./.:_,_,_", ""), end="\n"),
        columns("Cats/NNS sleep/VBP\n" + PLAIN.replace(" ./.:_,_,_", "").replace("slept,slept", "_,_"), end="\n"),
        "11100 11100 11100 11100 00000 11100 2 1 0 100.00 100.00",
    ),
    "a blank line at the end of the system file alone": (
        columns(PLAIN, end="\n"),
        columns(PLAIN),
        "11100 11100 11100 22200 11100 11100 1 1 0 100.00 100.00",
    ),
    "two blank lines: a negated sentence of nothing": (
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n\n\n"),
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n\n\n"),
        "11100 11100 11100 22200 11100 11100 3 2 0 100.00 100.00",
    ),
    "a blank line at the end of the gold file alone": (
        columns(PLAIN + "\nCats/NNS sleep/VBP"),
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n"),
        "11100 11100 11100 22200 11100 11100 3 2 0 100.00 100.00",
    ),
    "F1 of the rounded percentages": (
        columns("\n".join([PLAIN] * 6)),
        columns("\n".join([PLAIN] + ["Nobody/NN has/VBZ slept/VBN ./."] * 5)),
        "6,1,1,0,5 6,1,1,0,5 6,1,1,0,5 12,2,2,0,10 6,1,1,0,5 6,1,1,0,5 6 6 5 16.67 16.67",
    ),
}

# For each measure precision, recall, F1, precision B and F1 B (scope tokens have no B measures).
_NONE, _ALL, _HALF = "0 0 0 0 0", "100 100 100 100 100", "50 100 66.67 50 66.67"
_SIXTH = "100 16.67 28.58 100 28.58"
PERCENTAGES = {
    "the wrong part of a word as the cue, the scope right": [_NONE, _NONE, _ALL, "100 100 100", _ALL, _NONE],
    "one system negation for two gold ones": [
        *(_NONE, _NONE, "100 50 66.67 100 66.67"),
        *("100 60 75", "100 50 66.67 100 66.67", _NONE),
    ],
    "invented beside a right one": [_HALF, _HALF, _HALF, "66.67 100 80", _HALF, _HALF],
    "F1 of the rounded percentages": [_SIXTH, _SIXTH, _SIXTH, "100 16.67 28.58", _SIXTH, _SIXTH],
}


def expected_numbers(name: str) -> dict[str, float]:
    numbers = {}
    *counts, last_five = CASES[name][2].split(" ", 6)
    for measure, text in zip(MEASURES, counts, strict=True):
        values = text.split(",") if "," in text else text
        numbers |= {f"{measure}_{count}": float(value) for count, value in zip(COUNTS, values, strict=True)}
    for measure, text in zip(MEASURES, PERCENTAGES.get(name, []), strict=False):
        names = ("precision", "recall", "f1", "precision_b", "f1_b")
        numbers |= {f"{measure}_{key}": float(value) for key, value in zip(names, text.split(), strict=False)}
    return numbers | dict(zip(SENTENCES, map(float, last_five.split()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_the_official_script(score, name):
    expected = expected_numbers(name)
    numbers = score(*CASES[name][:2])
    assert {key: numbers[key] for key in expected} == expected
    assert len(numbers) == 6 * 10 - 2 + 5


def test_compute_sums_the_counts_of_several_files(tmp_path, metric):
    paths: dict[str, list[str]] = {}
    for number, name in enumerate(("missed", "equal, with the negations in another order")):
        for side, text in zip(("gold", "system"), CASES[name][:2], strict=True):
            path = tmp_path / f"{side}{number}.txt"
            path.write_text(text)
            paths.setdefault(side, []).append(str(path))
    scores = metric.compute(predictions=paths["system"], references=paths["gold"])
    assert (scores["cues_gold"], scores["cues_tp"], scores["cues_fn"], scores["cues_recall"]) == (3, 2, 1, 66.67)


GOOD = columns("We/PRP slept/VBD\n" + PLAIN)


@pytest.mark.parametrize(
    ("system", "line", "message"),
    [
        (GOOD.replace("has\thas", "had\thas"), 5, r"'tale01 1 1 had' where .*gold\.txt has 'tale01 1 1 has'"),
        (columns("We/PRP slept/VBD"), 4, "has 'no word' where"),
        (GOOD + "tale01\t2\t0\tNo\tno\tDT\t*\t***\n", 9, "has 'tale01 2 0 No' where .* has 'no word'"),
        (GOOD.replace("slept\tVBD\t*\t***\n\n", "slept\tVBD\t*\t***\n"), 3, "line 1, where the sentence begins"),
        (GOOD.replace("VBD\t*\t***", "VBD\t*\t_\t_\t_"), 2, "columns for 1 negations; line 1, .* has 0"),
        (GOOD.replace("Nobody\t_\t_", "_\t_\t_"), 8, "no cue; give it one in column 8"),
        (GOOD.replace("\n", "\r\n"), 1, r"ends in \\r\\n"),
        ("", 1, "no sentence"),
    ],
)
def test_malformed_files(score, system, line, message):
    with pytest.raises(ValueError, match=rf"system\.txt, line {line}: .*{message}"):
        score(GOOD, system)
    if "gold" not in message and "no " not in message:
        with pytest.raises(ValueError, match=rf"gold\.txt, line {line}: .*{message}"):
            score(system, GOOD)


@pytest.mark.parametrize(("gold_end", "system_end"), [("\n\n\n", "\n\n\n"), ("\n\n", "\n")])
def test_two_ends_of_sentence_after_a_negation(score, gold_end, system_end):
    with pytest.raises(ValueError, match="second end of sentence"):
        score(columns(PLAIN, end=gold_end), columns(PLAIN, end=system_end))


def test_truncated_gzip(tmp_path, metric):
    path = tmp_path / "gold.txt.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-9])
    with pytest.raises(ValueError, match=r"gold\.txt\.gz, line 1: the compressed file is truncated or damaged"):
        metric.compute(predictions=[str(path)], references=[str(path)])


def test_differences_that_do_not_matter(tmp_path, metric):
    """A byte order mark, compression, bytes that are not UTF-8, the parse column, and tabs at the end of a line."""
    text = GOOD.encode().replace(b"slept", b"sl\xe9pt")
    gold, system = tmp_path / "gold.txt", tmp_path / "system.txt"
    gold.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text))
    system.write_bytes(text.replace(b"\tVBN\t*\t", b"\tVBN\t(S*\t").replace(b"***\n", b"***\t\t\n"))
    assert metric.compute(predictions=[str(system)], references=[str(gold)])["full_negation_tp"] == 1


# Random files: few words, so that cues, scopes and events meet.
WORDS = [("un.like", "JJ"), ("Mr.", "NNP"), (",", ","), ("(", "-LRB-"), ("é.", "É"), ("so", "RB")]
CELLS = st.sampled_from(["_", "_", "w", "w", "w.", "w.x", "v"])
NEGATION = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=6, max_size=6)


@st.composite
def files(draw) -> tuple[str, str]:
    """A gold and a system file; a system negation is often a gold one."""
    gold_text, system_text = [], []
    for number in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 6))
        gold = draw(st.lists(NEGATION, max_size=3))
        system = draw(st.lists(st.one_of(NEGATION, *map(st.just, gold)), max_size=3))
        for sentence, negations in ((gold_text, gold), (system_text, system)):
            with_cue = [negation for negation in negations if any(cells[0] != "_" for cells in negation[:length])]
            for token, (word, pos) in enumerate(WORDS[:length]):
                cells = [cell for negation in with_cue for cell in negation[token]] or ["***"]
                sentence.append("\t".join(["tale01", str(number), str(token), word, word, pos, "*", *cells]))
            sentence.append("")
    ends = draw(st.sampled_from([("\n", "\n"), ("\n", "\n"), ("", ""), ("", "\n"), ("\n", ""), ("\n\n", "\n\n")]))
    return "\n".join(gold_text) + ends[0], "\n".join(system_text) + ends[1]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_counts_add_up(score, pair):
    try:
        numbers = score(*pair)
    except ValueError:
        assume(False)
    gold, system, tp, fp, fn = ({measure: numbers[f"{measure}_{count}"] for measure in MEASURES} for count in COUNTS)
    for measure in ("cues", "scope_tokens"):
        assert tp[measure] + fn[measure] == gold[measure]
    assert tp["scope_tokens"] + fp["scope_tokens"] == system["scope_tokens"]
    assert tp["cues"] + fn["cues"] + fp["cues"] >= system["cues"]
    # Gold columns without a cue count as missed, not as gold.
    assert gold["full_negation"] <= tp["full_negation"] + fn["full_negation"]
    assert tp["full_negation"] <= tp["cues"] <= min(gold["cues"], system["cues"])


def run_script(gold: str, system: str, folder: Path) -> dict[str, float] | None:
    """The numbers that the official script prints; None where it refuses the files."""
    (folder / "gold.txt").write_text(gold, encoding="utf-8")
    (folder / "system.txt").write_text(system, encoding="utf-8")
    command = ["perl", str(SCRIPT), "-g", str(folder / "gold.txt"), "-s", str(folder / "system.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    rows = [re.findall(r"[\d.]+", line.partition(":")[2]) for line in done.stdout.split("\n") if ":" in line]
    numbers: dict[str, str] = {}
    for measure, row in zip(MEASURES, rows[:6], strict=True):
        names = (*COUNTS, "precision", "recall", "f1")
        numbers |= {f"{measure}_{name}": value for name, value in zip(names, row, strict=True)}
    for measure, row in zip([name for name in MEASURES if name != "scope_tokens"], rows[6:11], strict=True):
        numbers |= {f"{measure}_precision_b": row[5], f"{measure}_f1_b": row[7]}
    numbers |= dict(zip(SENTENCES, [number for row in rows[11:] for number in row], strict=True))
    return {name: float(value) for name, value in numbers.items()}


@needs_script
@pytest.mark.parametrize("name", CASES)
def test_the_script_prints_the_frozen_numbers(score, tmp_path, name):
    assert run_script(*CASES[name][:2], tmp_path) == score(*CASES[name][:2])


@needs_script
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_numbers_of_the_script_on_random_files(score, tmp_path, pair):
    try:
        ours = score(*pair)
    except ValueError:
        ours = None
    assert ours == run_script(*pair, tmp_path)
