"""Write the texts of corpora, one a line: what small encoders, small vectors and students without annotation read.

    python -m clozeformers.corpus_texts --squad train-v1.1.json --recam Task_1_train.jsonl --negation bioscope sfu \
        --output texts.txt

Contexts of SQuAD files, articles of ReCAM files and sentences of negation corpora, each once, in a
random order that is always the same.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

from .abstract_cloze import load_recam
from .errors import run_script
from .files import write_text
from .negation_scope import load_corpus
from .question_answering import load_squad


def main(arguments: list[str]) -> None:
    """Write the texts, and print how many there are."""
    parser = argparse.ArgumentParser(prog="corpus_texts", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--squad", nargs="+", default=[], metavar="FILE", help="files of questions, for their contexts")
    parser.add_argument("--recam", nargs="+", default=[], metavar="FILE", help="files of ReCAM, for their articles")
    parser.add_argument("--negation", nargs="+", default=[], metavar="FILE", help="negation corpora")
    parser.add_argument("--output", required=True, help="the file to write")
    given = parser.parse_args(arguments)
    lines = list(dict.fromkeys(" ".join(text.split()) for text in _texts(given)))
    if not lines:
        raise ValueError("there are no texts; give --squad, --recam or --negation")
    random.Random(0).shuffle(lines)
    write_text("".join(f"{line}\n" for line in lines), given.output)
    print(f"{given.output}: {len(lines):,} lines")


def _texts(given: argparse.Namespace) -> Iterator[str]:
    for path in given.squad:
        yield from load_squad(path)["context"]
    for path in given.recam:
        yield from load_recam(path)["article"]
    for path in given.negation:
        yield from map(" ".join, load_corpus(path, without_cues=True)["tokens"])


if __name__ == "__main__":
    sys.exit(run_script(main))
