"""SemStarScope against the official script's numbers.

``EXPECTED`` was obtained by running eval.cd-sco.pl, version 2.2, on the files that ``CASES`` describe. It holds what
the script printed: for cues, scopes with and without cue match, scope tokens, negated and full negation "gold system tp
fp fn precision recall F1 / precision B, F1 B", then the sentence counts and percentages. With CLOZEFORMERS_SEM_SCRIPT
naming the script (and perl at hand) tests here run it again, on these and on random files.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clozeformers.files import CorpusError
from clozeformers.metrics import SemStarScope
from clozeformers.metrics.sem_star_scope import score_files

SCRIPT = os.environ.get("CLOZEFORMERS_SEM_SCRIPT")
needs_script = pytest.mark.skipif(SCRIPT is None, reason="CLOZEFORMERS_SEM_SCRIPT does not name eval.cd-sco.pl")


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


@pytest.fixture
def score(tmp_path):
    def run(gold: str, system: str):
        (tmp_path / "gold.txt").write_text(gold, encoding="utf-8")
        (tmp_path / "system.txt").write_text(system, encoding="utf-8")
        return score_files(tmp_path / "gold.txt", tmp_path / "system.txt")

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
    ),
    "no negation anywhere": (columns("Cats/NNS sleep/VBP"), columns("Cats/NNS sleep/VBP")),
    "missed": (columns(PLAIN), columns("Nobody/NN has/VBZ slept/VBN ./.")),
    "invented": (columns("Nobody/NN has/VBZ slept/VBN ./."), columns(PLAIN)),
    "invented beside a right one": (
        columns(PLAIN),
        columns(
            "Nobody/NN:Nobody,_,_,_,_,_ has/VBZ:_,has,_,has,_,_ slept/VBN:_,slept,slept,_,slept,slept ./.:_,_,_,_,_,_"
        ),
    ),
    "the wrong part of a word as the cue, the scope right": (
        columns(UNTIDY),
        columns("An/DT:_,an,_ untidy/JJ:unt,tidy,tidy room/NN:_,room,_ ./.:_,_,_"),
    ),
    "the wrong part of a word in scope": (
        columns(UNTIDY),
        columns("An/DT:_,an,_ untidy/JJ:un,untidy,tidy room/NN:_,room,_ ./.:_,_,_"),
    ),
    "found but not exact, beside a right one": (
        columns(PLAIN + "\n" + PLAIN),
        columns(PLAIN + "\nNobody/NN:Nobody,_,_ has/VBZ:has,has,_ slept/VBN:_,_,slept ./.:_,_,_"),
    ),
    "a scope word missing, another too many": (
        columns(PLAIN),
        columns("Nobody/NN:Nobody,Nobody,_ has/VBZ:_,_,_ slept/VBN:_,slept,slept ./.:_,_,_"),
    ),
    "punctuation and brackets are no scope": (
        columns(
            "No/DT:No,_,_ one/NN:_,one,_ (/-LRB-:_,(,_ ;/;:_,_,_ came/VBD:_,came,_ )/-RRB-:_,_,_ $/$:_,_,_ x/_:_,_,_"
        ),
        columns(
            "No/DT:No,_,_ one/NN:_,one,_ (/-LRB-:_,_,_ ;/;:_,;,_ came/VBD:_,came,_ )/-RRB-:_,),_ $/$:_,$,_ x/_:_,_,_"
        ),
    ),
    "a tag of one underscore is not punctuation": (
        columns("No/DT:No,_,_ x/_:_,x,_"),
        columns("No/DT:No,_,_ x/_:_,_,_"),
    ),
    "a scope of punctuation alone is none": (columns("No/DT:No,_,_ !/.:_,!,_"), columns("No/DT:No,_,_ !/.:_,_,_")),
    "the gold file says what is punctuation": (
        columns("No/DT:No,_,_ one/NN:_,one,_ -/NN:_,-,_"),
        columns("No/DT:No,_,_ one/.:_,one,_ -/:_,_,_"),
    ),
    "abbreviations end at the first full stop": (
        columns("Not/RB:Not,_,_ Mr./NNP:_,Mr.,_ p.m./NN:_,p.m.,_ 3.5/CD:_,3.5,_"),
        columns("Not/RB:Not,_,_ Mr./NNP:_,Mr,_ p.m./NN:_,p,_ 3.5/CD:_,3.x,_"),
    ),
    "abbreviations count in scopes only": (
        columns("no./RB:no.,_,_ Mr./NNP:_,_,Mr."),
        columns("no./RB:no,_,_ Mr./NNP:_,_,Mr"),
    ),
    "a letter beyond ASCII starts no abbreviation": (
        columns("Not/RB:Not,_,_ É./NNP:_,É.,_"),
        columns("Not/RB:Not,_,_ É./NNP:_,É,_"),
    ),
    "a tag of letters beyond ASCII is punctuation": (
        columns("Not/RB:Not,_,_ all/É:_,all,_"),
        columns("Not/RB:Not,_,_ all/É:_,_,_"),
    ),
    "a scope where gold has none": (
        columns("No/UH:No,_,_ !/.:_,_,_ we/PRP:_,_,_"),
        columns("No/UH:No,_,_ !/.:_,_,_ we/PRP:_,we,we"),
    ),
    "the first free system negation is taken, not the best": (
        columns(TWO_IN_ONE),
        columns(
            " ".join(
                f"{fixed}:{','.join(cells.split(',')[3:] + cells.split(',')[:3])}"
                for fixed, cells in (item.split(":") for item in TWO_IN_ONE.split())
            )
        ),
    ),
    "one system negation for two gold ones": (
        columns(TWO_IN_ONE),
        columns("No/DT:No,_,_ cat/NN:_,cat,_ or/CC:or,_,_ dog/NN:_,dog,_ ran/VBD:_,ran,ran"),
    ),
    "a wrong event of the last system negation is not counted": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,has slept/VBN:_,slept,slept"),
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,_ slept/VBN:_,slept,slept"),
    ),
    "a wrong event of an earlier system negation is": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,has slept/VBN:_,slept,slept"),
        columns("Nobody/NN:Nobody,_,_,_,_,_ has/VBZ:_,has,_,has,_,_ slept/VBN:_,slept,slept,_,_,_"),
    ),
    "events are paired whatever the cues": (
        columns("Nobody/NN:Nobody,_,_ has/VBZ:_,has,_ slept/VBN:_,slept,slept"),
        columns("Nobody/NN:_,_,_ has/VBZ:has,_,_ slept/VBN:_,slept,slept"),
    ),
    "gold columns without a cue": (
        columns("Cats/NNS:_,Cats,_ sleep/VBP:_,sleep,sleep"),
        columns("Cats/NNS:_,Cats,_ sleep/VBP:sleep,_,sleep"),
    ),
    "without a blank line at the end the last word is lost": (
        columns("Cats/NNS sleep/VBP\n" + PLAIN.replace(" ./.:_,_,_", ""), end="\n"),
        columns("Cats/NNS sleep/VBP\n" + PLAIN.replace(" ./.:_,_,_", "").replace("slept,slept", "_,_"), end="\n"),
    ),
    "a blank line at the end of the system file alone": (columns(PLAIN, end="\n"), columns(PLAIN)),
    "two blank lines: a negated sentence of nothing": (
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n\n\n"),
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n\n\n"),
    ),
    "a blank line at the end of the gold file alone": (
        columns(PLAIN + "\nCats/NNS sleep/VBP"),
        columns(PLAIN + "\nCats/NNS sleep/VBP", end="\n"),
    ),
    "F1 of the rounded percentages": (
        columns("\n".join([PLAIN] * 6)),
        columns("\n".join([PLAIN] + ["Nobody/NN has/VBZ slept/VBN ./."] * 5)),
    ),
}

EXPECTED = {
    "equal, with the negations in another order": """
        2 2 2 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 /
        100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "no negation anywhere": """
        0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 /
        0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 /
        0.00 0.00; 1 0 0 100.00 100.00""",
    "missed": """
        1 0 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 0 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 0 0 0 1 0.00 0.00 0.00 /
        0.00 0.00; 2 0 0 0 2 0.00 0.00 0.00; 1 0 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 0 0 0 1 0.00 0.00 0.00 /
        0.00 0.00; 1 1 1 0.00 0.00""",
    "invented": """
        0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00 /
        0.00 0.00; 0 2 0 2 0 0.00 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00 /
        0.00 0.00; 1 0 0 0.00 100.00""",
    "invented beside a right one": """
        1 2 1 1 0 50.00 100.00 66.67 / 50.00 66.67; 1 2 1 1 0 50.00 100.00 66.67 / 50.00 66.67; 1 2 1 1 0 50.00
        100.00 66.67 / 50.00 66.67; 2 3 2 1 0 66.67 100.00 80.00; 1 2 1 1 0 50.00 100.00 66.67 / 50.00 66.67; 1
        2 1 1 0 50.00 100.00 66.67 / 50.00 66.67; 1 1 1 0.00 0.00""",
    "the wrong part of a word as the cue, the scope right": """
        1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 0 100.00 100.00
        100.00 / 100.00 100.00; 3 3 3 0 0 100.00 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00;
        1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "the wrong part of a word in scope": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 3 3 2 1 1 66.67 66.67 66.67; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1
        0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "found but not exact, beside a right one": """
        2 2 1 0 1 100.00 50.00 66.67 / 50.00 50.00; 2 2 1 0 1 100.00 50.00 66.67 / 50.00 50.00; 2 2 1 0 1 100.00
        50.00 66.67 / 50.00 50.00; 4 3 3 0 1 100.00 75.00 85.71; 2 2 2 0 0 100.00 100.00 100.00 / 100.00 100.00;
        2 2 1 0 1 100.00 50.00 66.67 / 50.00 50.00; 2 2 1 50.00 50.00""",
    "a scope word missing, another too many": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 2 2 1 1 1 50.00 50.00 50.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1
        0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "punctuation and brackets are no scope": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00
        0.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "a tag of one underscore is not punctuation": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 0 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 0 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 1 0 0 0 1 0.00 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "a scope of punctuation alone is none": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00
        0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0 0 100.00
        100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "the gold file says what is punctuation": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 2 1 1 0 1 100.00 50.00 66.67; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1
        0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "abbreviations end at the first full stop": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 3 3 3 0 0 100.00 100.00 100.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00
        0.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "abbreviations count in scopes only": """
        1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 /
        0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00; 1 1 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00 0.00 0.00 /
        0.00 0.00; 1 1 1 0.00 0.00""",
    "a letter beyond ASCII starts no abbreviation": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 1 1 0 1 1 0.00 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "a tag of letters beyond ASCII is punctuation": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00
        0.00 0.00 / 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0 0 100.00
        100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "a scope where gold has none": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 0 1 0 1 0 0.00
        0.00 0.00 / 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00; 0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 0 1 0.00
        0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "the first free system negation is taken, not the best": """
        2 2 0 0 2 0.00 0.00 0.00 / 0.00 0.00; 2 2 0 0 2 0.00 0.00 0.00 / 0.00 0.00; 2 2 0 0 2 0.00 0.00 0.00 /
        0.00 0.00; 5 5 4 1 1 80.00 80.00 80.00; 2 2 2 0 0 100.00 100.00 100.00 / 100.00 100.00; 2 2 0 0 2 0.00
        0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "one system negation for two gold ones": """
        2 1 0 0 2 0.00 0.00 0.00 / 0.00 0.00; 2 1 0 0 2 0.00 0.00 0.00 / 0.00 0.00; 2 1 0 0 1 100.00 50.00 66.67
        / 100.00 66.67; 5 3 3 0 2 100.00 60.00 75.00; 2 1 1 0 1 100.00 50.00 66.67 / 100.00 66.67; 2 1 0 0 2
        0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "a wrong event of the last system negation is not counted": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 0 0 0 0.00 0.00 0.00 / 0.00
        0.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "a wrong event of an earlier system negation is": """
        1 2 1 1 0 50.00 100.00 66.67 / 50.00 66.67; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0
        100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 0 0 1 0.00 0.00 0.00 / 0.00
        0.00; 1 2 0 1 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "events are paired whatever the cues": """
        1 1 0 1 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 1 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 1 1 0.00 0.00 0.00 /
        0.00 0.00; 2 1 0 1 2 0.00 0.00 0.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 1 1 0.00 0.00
        0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "gold columns without a cue": """
        0 1 0 1 0 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 1 1 0.00 0.00 0.00 / 0.00 0.00; 1 1 0 1 1 0.00 0.00 0.00 /
        0.00 0.00; 2 1 0 1 2 0.00 0.00 0.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 0 1 0 1 1 0.00 0.00
        0.00 / 0.00 0.00; 1 1 1 0.00 0.00""",
    "without a blank line at the end the last word is lost": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00; 0 0 0 0 0 0.00 0.00 0.00 / 0.00
        0.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 2 1 0 100.00 100.00""",
    "a blank line at the end of the system file alone": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 /
        100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 0 100.00 100.00""",
    "two blank lines: a negated sentence of nothing": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 /
        100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 3 2 0 100.00 100.00""",
    "a blank line at the end of the gold file alone": """
        1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 1 1 1 0
        0 100.00 100.00 100.00 / 100.00 100.00; 2 2 2 0 0 100.00 100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 /
        100.00 100.00; 1 1 1 0 0 100.00 100.00 100.00 / 100.00 100.00; 3 2 0 100.00 100.00""",
    "F1 of the rounded percentages": """
        6 1 1 0 5 100.00 16.67 28.58 / 100.00 28.58; 6 1 1 0 5 100.00 16.67 28.58 / 100.00 28.58; 6 1 1 0 5
        100.00 16.67 28.58 / 100.00 28.58; 12 2 2 0 10 100.00 16.67 28.58; 6 1 1 0 5 100.00 16.67 28.58 / 100.00
        28.58; 6 1 1 0 5 100.00 16.67 28.58 / 100.00 28.58; 6 6 5 16.67 16.67""",
}


TABLE = [
    "---------------------------+------+--------+------+------+------+---------------+------------+---------",
    "                            | gold | system | tp   | fp   | fn   | precision (%) | recall (%) | F1  (%) ",
    "----------------------------+------+--------+------+------+------+---------------+------------+---------",
    "Cues:                            1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "Scopes(cue match):               1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "Scopes(no cue match):            1 |      1 |    0 |    0 |    0 |        100.00 |     100.00 |  100.00",
    "Scope tokens(no cue match):      3 |      3 |    3 |    0 |    0 |        100.00 |     100.00 |  100.00",
    "Negated(no cue match):           1 |      1 |    1 |    0 |    0 |        100.00 |     100.00 |  100.00",
    "Full negation:                   1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "---------------------------+------+--------+------+------+------+---------------+------------+---------",
    "Cues B:                          1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "Scopes B (cue match):            1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "Scopes B (no cue match):         1 |      1 |    0 |    0 |    0 |        100.00 |     100.00 |  100.00",
    "Negated B (no cue match):        1 |      1 |    1 |    0 |    0 |        100.00 |     100.00 |  100.00",
    "Full negation B:                 1 |      1 |    0 |    0 |    1 |          0.00 |       0.00 |    0.00",
    "---------------------------+------+--------+------+------+------+---------------+------------+---------",
    " # sentences: 1",
    " # negation sentences: 1",
    " # negation sentences with errors: 1",
    " % correct sentences: 0.00",
    " % correct negation sentences: 0.00",
    "--------------------------------------------------------------------------------------------------------",
    "",
]


def printed(table: str) -> list[list[str]]:
    """The numbers of a printed table in the layout of ``EXPECTED``."""
    rows = [re.findall(r"[\d.]+", line.partition(":")[2]) for line in table.split("\n") if ":" in line]
    measures, b_measures = rows[:6], {0: rows[6], 1: rows[7], 2: rows[8], 4: rows[9], 5: rows[10]}
    for k, b_row in b_measures.items():
        assert [*b_row[:5], b_row[6]] == [*measures[k][:5], measures[k][6]]
        measures[k] = [*measures[k], "/", b_row[5], b_row[7]]
    return [*measures, [number for row in rows[11:] for number in row]]


def expected(name: str) -> list[list[str]]:
    return [row.split() for row in EXPECTED[name].split(";")]


@pytest.mark.parametrize("name", CASES)
def test_equals_the_official_numbers(score, name):
    assert printed(str(score(*CASES[name]))) == expected(name)


def test_prints_the_official_table(score):
    report = score(*CASES["the wrong part of a word as the cue, the scope right"])
    assert str(report).split("\n") == TABLE


def test_metric_gives_the_numbers_of_the_table(tmp_path):
    name = "the wrong part of a word as the cue, the scope right"
    for side, text in zip(("gold.txt", "system.txt"), CASES[name], strict=True):
        (tmp_path / side).write_text(text)
    metric = SemStarScope(keep_in_memory=True, cache_dir=str(tmp_path))
    scores = metric.compute(predictions=[str(tmp_path / "system.txt")], references=[str(tmp_path / "gold.txt")])
    # The tp of scopes without cue match is the printed one.
    assert (scores["scopes_no_cue_match_tp"], scores["scopes_no_cue_match_precision"]) == (0, 100.0)
    measures = ("cues", "scopes_cue_match", "scopes_no_cue_match", "scope_tokens", "negated", "full_negation")
    for measure, row in zip(measures, expected(name), strict=False):
        names = ["gold", "system", "tp", "fp", "fn", "precision", "recall", "f1", "/", "precision_b", "f1_b"]
        for number, text in zip(names, row, strict=False):
            assert number == "/" or scores.pop(f"{measure}_{number}") == float(text)
    assert scores == {
        "sentences": 1,
        "negation_sentences": 1,
        "negation_sentences_with_errors": 1,
        "correct_sentences": 0.0,
        "correct_negation_sentences": 0.0,
    }


def test_metric_adds_the_counts_of_several_files(tmp_path):
    paths = {}
    for number, name in enumerate(("missed", "equal, with the negations in another order")):
        for side, text in zip(("gold", "system"), CASES[name], strict=True):
            path = tmp_path / f"{side}{number}.txt"
            path.write_text(text)
            paths.setdefault(side, []).append(str(path))
    metric = SemStarScope(keep_in_memory=True, cache_dir=str(tmp_path))
    scores = metric.compute(predictions=paths["system"], references=paths["gold"])
    assert (scores["cues_gold"], scores["cues_tp"], scores["cues_fn"], scores["cues_recall"]) == (3, 2, 1, 66.67)


def test_metric_says_how_it_is_called(tmp_path):
    metric = SemStarScope(keep_in_memory=True, cache_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"absent\.txt.*lists of paths"):
        metric.compute(predictions=[str(tmp_path / "absent.txt")], references=[str(tmp_path / "absent.txt")])


GOOD = columns("We/PRP slept/VBD\n" + PLAIN)


@pytest.mark.parametrize(
    ("system", "line", "message"),
    [
        (GOOD.replace("has\thas", "had\thas"), 5, r"'tale01 1 1 had' where .*gold\.txt has 'tale01 1 1 has'"),
        (columns("We/PRP slept/VBD"), 4, "has 'no line' where"),
        (GOOD + "tale01\t2\t0\tNo\tno\tDT\t*\t***\n", 9, "has 'tale01 2 0 No' where .* has 'no line'"),
        (GOOD.replace("slept\tVBD\t*\t***\n\n", "slept\tVBD\t*\t***\n"), 3, "line 1, where the sentence begins"),
        (GOOD.replace("PRP\t*\t***", "PRP\t*\t***\t***"), 1, "9 columns"),
        (GOOD.replace("VBD\t*\t***", "VBD\t*\t_\t_\t_"), 2, "mixed"),
        (GOOD.replace("\tslept\tslept\n", "\ts lept\tslept\n"), 6, "column 9 is 's lept'"),
        (GOOD.replace("Nobody\t_\t_", "_\t_\t_"), 8, "no cue; give it one in column 8"),
        (GOOD.replace("\n", "\r\n"), 1, r"ends in \\r\\n"),
        ("", 1, "no sentence"),
    ],
)
def test_malformed_system_files(score, system, line, message):
    with pytest.raises(CorpusError, match=message) as caught:
        score(GOOD, system)
    assert caught.value.where == line
    assert caught.value.path.name == "system.txt"


def test_a_malformed_gold_file_is_named(score):
    with pytest.raises(CorpusError, match="9 columns") as caught:
        score(GOOD.replace("PRP\t*\t***", "PRP\t*\t***\t***"), GOOD)
    assert caught.value.path.name == "gold.txt"


@pytest.mark.parametrize(("gold_end", "system_end"), [("\n\n\n", "\n\n\n"), ("\n\n", "\n")])
def test_two_ends_of_sentence_after_a_negation_are_refused(score, gold_end, system_end):
    with pytest.raises(CorpusError, match="second end of sentence"):
        score(columns(PLAIN, end=gold_end), columns(PLAIN, end=system_end))


def test_other_columns_and_bytes_that_are_not_utf8_do_not_matter(tmp_path):
    text = GOOD.encode().replace(b"slept", b"sl\xe9pt")
    (tmp_path / "gold.txt").write_bytes(text)
    (tmp_path / "system.txt").write_bytes(text.replace(b"\tVBN\t*\t", b"\tVBN\t(S*\t"))
    assert score_files(tmp_path / "gold.txt", tmp_path / "system.txt").full_negation.tp == 1


def test_tabs_at_the_end_of_a_line_do_not_matter(score):
    assert score(GOOD, GOOD.replace("***\n", "***\t\t\n")).full_negation.tp == 1


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


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_counts_add_up(score, pair):
    try:
        report = score(*pair)
    except CorpusError:
        assume(False)
    for measure in (report.cues, report.scope_tokens):
        assert measure.tp + measure.fn == measure.gold
    assert report.scope_tokens.tp + report.scope_tokens.fp == report.scope_tokens.system
    for measure in (report.cues, report.full_negation):
        assert measure.tp + measure.fn + measure.fp >= measure.system
        assert measure.tp <= min(measure.gold, measure.system)
    # Gold columns without a cue count as missed, not as gold.
    assert report.full_negation.tp + report.full_negation.fn >= report.full_negation.gold
    assert report.full_negation.tp <= report.cues.tp
    assert report.scopes_cue_match.tp <= report.scopes_no_cue_match.tp
    assert report.scopes_no_cue_match.tp + report.scopes_no_cue_match.fn == report.scopes_no_cue_match.gold


def run_script(gold: str, system: str, folder: Path) -> str | None:
    """What the official script prints; None where it refuses the files."""
    (folder / "gold.txt").write_text(gold, encoding="utf-8")
    (folder / "system.txt").write_text(system, encoding="utf-8")
    command = ["perl", str(SCRIPT), "-g", str(folder / "gold.txt"), "-s", str(folder / "system.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@needs_script
@pytest.mark.parametrize("name", CASES)
def test_the_script_prints_the_frozen_numbers(tmp_path, name):
    assert printed(run_script(*CASES[name], tmp_path) or "") == expected(name)


@needs_script
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_equals_the_script_on_random_files(score, tmp_path, pair):
    try:
        ours = str(score(*pair))
    except CorpusError:
        ours = None
    assert ours == run_script(*pair, tmp_path)
