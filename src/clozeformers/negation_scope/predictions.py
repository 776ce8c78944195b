"""Files of predictions: JSON lines, and the columns of CD-SCO with the scores of the *SEM 2012 script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset

from ..files import write_json
from ..metrics import SemStarScope
from ..metrics.sem_star_scope import NOTHING
from .corpora.cd_sco import read_cd_sco, write_cd_sco, write_found_cd_sco
from .corpora.jsonl import write_negation_jsonl
from .corpora.loading import detect_format
from .corpora.schema import NegationRow, sentence_id
from .cue_scores import Negation
from .encoding import LabelledSentence


def write_predictions(rows: Dataset, scopes: Sequence[Sequence[int]], gold: Sequence[Path], path: Path) -> None:
    """Write predicted scopes as JSON lines and, for whole CD-SCO files, in their columns with the *SEM 2012 scores.

    Args:
        rows: of the corpus.
        scopes: 0 or 1 a word, for each row.
        gold: the files that the rows were read from, if they were.
        path: of the JSON lines, ``predictions_<test set>.jsonl``. Columns of several files are numbered.
    """
    write_negation_jsonl(({**row, "scope": scope} for row, scope in zip(rows, scopes, strict=True)), path)
    by_id = dict(zip(rows["id"], scopes, strict=True))
    if gold and by_id.keys() == _ids(gold, lambda row: any(row["cue"])):
        _score(gold, path, "predictions", lambda file, written: write_cd_sco(file, by_id, written))


def write_found(
    sentences: Sequence[LabelledSentence], found: Sequence[Sequence[Negation]], gold: Sequence[Path], path: Path
) -> None:
    """As `write_predictions`, for found cues and their scopes; `path` is ``found_<test set>.jsonl``."""
    rows: list[NegationRow] = []
    by_sentence: dict[str, list[tuple[list[str], list[int]]]] = {}
    for sentence, negations in zip(sentences, found, strict=True):
        for number, (cue, scope) in enumerate(negations):
            parts, places = dict(cue), range(len(sentence.tokens))
            row = NegationRow(
                id=f"{sentence.id}#{number}",
                corpus=sentence.corpus,
                kind=sentence.kind,
                tokens=sentence.tokens,
                cue=[int(place in parts) for place in places],
                cue_text=" ".join(parts[place] for place in sorted(parts)),
                scope=[int(place in scope) for place in places],
            )
            rows.append(row)
            cells = [parts.get(place, NOTHING) for place in places]
            by_sentence.setdefault(sentence.id, []).append((cells, row["scope"]))
    write_negation_jsonl(rows, path)
    if gold and {sentence.id for sentence in sentences} == set(map(sentence_id, _ids(gold))):
        _score(gold, path, "found", lambda file, written: write_found_cd_sco(file, by_sentence, written))


def _ids(gold: Sequence[Path], wanted: Callable[[Any], bool] = bool) -> set[str]:
    """The ids of rows of CD-SCO files; none if a file has another format."""
    if any(detect_format(file) != "cd-sco" for file in gold):
        return set()
    return {row["id"] for file in gold for row in read_cd_sco(file) if wanted(row)}


def _score(gold: Sequence[Path], path: Path, prefix: str, write: Callable[[Path, Path], None]) -> None:
    """Write columns beside `path`, and the scores of the *SEM 2012 script with ``sem_star`` in place of `prefix`."""
    numbers = [f"-{number}" if len(gold) > 1 else "" for number in range(1, len(gold) + 1)]
    columns = [path.with_name(f"{path.stem}{number}.txt") for number in numbers]
    for file, written in zip(gold, columns, strict=True):
        write(file, written)
    scores = SemStarScope().compute(predictions=list(map(str, columns)), references=list(map(str, gold)))
    name = path.name.replace(prefix, "sem_star" if prefix == "predictions" else f"sem_star_{prefix}", 1)
    write_json(scores, path.with_name(name).with_suffix(".json"))
