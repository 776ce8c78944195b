"""The measures of the official *SEM 2012 evaluation of negation, version 2.2, equal to the last printed digit.

The rules of the evaluation (Morante and Blanco 2012, and the behaviour of ``eval.cd-sco.pl``, version 2.2):

* Gold and system negations of a sentence are paired in their order: a gold negation gets the first system negation
  that is still free and shares a cue word with it.
* Punctuation never counts as scope: words whose gold part of speech has no letter, digit or ``_``, and brackets.
* A scope string is compared up to its first full stop, where only ASCII letters, digits and ``_`` precede it
  (``Mr.`` equals ``Mr``, and ``p.m.`` equals ``p``).
* A negation that was found but not exactly is a false negative and no false positive. The B measures divide by all that
  the system gave instead.
* F1 comes from precision and recall as they are printed, rounded to two decimals.
* A file without a blank line at its end loses its last word.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import evaluate
from datasets import Features, Value

FIXED_COLUMNS = 7
NO_NEGATION = "***"
NOTHING = "_"
LINE_FORMAT = f"{FIXED_COLUMNS} columns separated by tabs, then {NO_NEGATION} or cue, scope and event of each negation"

_BEFORE_FULL_STOP = re.compile(r"(\w+)\.", re.ASCII)
_LETTER = re.compile(r"\w", re.ASCII)
_BRACKETS = ("-LRB-", "-RRB-")

_DESCRIPTION = "The official *SEM 2012 measures of negation cues, scopes and events (version 2.2), from column files."
_INPUTS = """
Args:
    predictions: paths of a system's column files, plain or compressed with gzip.
    references: paths of the gold column files, one for each.

Returns:
    A dict: <measure>_<number> for the measures cues, scopes_cue_match, scopes_no_cue_match, scope_tokens, negated and
    full_negation and the numbers gold, system, tp, fp, fn, precision, recall, f1, precision_b and f1_b (percentages,
    two decimals); sentences, negation_sentences, negation_sentences_with_errors, correct_sentences and
    correct_negation_sentences (the last two in percent).

Examples:
    >>> from clozeformers.metrics import SemStarScope
    >>> SemStarScope().compute(predictions=["system.txt"], references=["gold.txt"])["scopes_cue_match_f1"]
"""
_CITATION = """\
@inproceedings{morante-blanco-2012-sem,
    title = "*{SEM} 2012 Shared Task: Resolving the Scope and Focus of Negation",
    author = "Morante, Roser and Blanco, Eduardo",
    booktitle = "*{SEM} 2012: The First Joint Conference on Lexical and Computational Semantics",
    year = "2012",
    pages = "265--274",
}
"""


# --------------------------------------------------------------------------------------------------------- column files


class NegationCells(NamedTuple):
    """The three columns of a negation in one line, ``"_"`` for nothing."""

    cue: str
    scope: str
    event: str


class ColumnLine(NamedTuple):
    """One word: its line number (from 1), its seven fixed columns, and its cells for each negation of the sentence."""

    number: int
    fixed: tuple[str, ...]
    negations: tuple[NegationCells, ...]


def parse_line(number: int, text: str) -> ColumnLine:
    """Split a line of a CD-SCO column file; `number` counts from 1.

    Raises:
        ValueError: a wrong number of columns, ``***`` beside negation columns, a negation column that is empty or
            holds a space, or a carriage return at the end.
    """
    if text.endswith("\r"):
        raise ValueError(r"the line ends in \r\n; convert the file to line ends \n")
    columns = text.split("\t")
    fixed, cells = tuple(columns[:FIXED_COLUMNS]), columns[FIXED_COLUMNS:]
    if cells == [NO_NEGATION]:
        return ColumnLine(number, fixed, ())
    if not cells or len(cells) % 3 or cells[0] == NO_NEGATION:
        raise ValueError(f"{len(columns)} columns in {text[:80]!r}; a line has {LINE_FORMAT}")
    for column, cell in enumerate(cells, start=FIXED_COLUMNS + 1):
        if not cell or " " in cell:
            raise ValueError(f"column {column} is {cell!r}; it must be {NOTHING} or a string without spaces")
    return ColumnLine(number, fixed, tuple(NegationCells(*cells[k : k + 3]) for k in range(0, len(cells), 3)))


def check_same_width(first: ColumnLine, line: ColumnLine) -> None:
    """Raise a ValueError unless a line has as many negations as the first line of its sentence."""
    here, there = len(line.negations), len(first.negations)
    if here != there:
        problem = f"columns for {here} negations; line {first.number}, where the sentence begins, has {there}"
        raise ValueError(f"{problem} ({NO_NEGATION} stands for 0)")


def _error(path: Path, number: int, problem: str) -> ValueError:
    return ValueError(f"{path}, line {number}: {problem}")


def _read_lines(path: Path) -> list[ColumnLine | None]:
    """Parse the lines of a file, None for a blank one."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise _error(path, 1, f"the compressed file is truncated or damaged ({error})") from None
    # Strings are only compared, so bytes that are not UTF-8 are harmless.
    texts = content.decode("utf-8-sig", "surrogateescape").removesuffix("\n").split("\n")
    lines: list[ColumnLine | None] = []
    first: ColumnLine | None = None
    for number, text in enumerate(texts, start=1):
        try:
            line = parse_line(number, text.rstrip("\t")) if text else None
            if line and first:
                check_same_width(first, line)
        except ValueError as error:
            raise _error(path, number, str(error)) from None
        first = (first or line) if line else None
        lines.append(line)
    if not any(lines):
        raise _error(path, 1, f"the file has no sentence; it must hold one word a line: {LINE_FORMAT}")
    return lines


def _read_pair(gold_path: Path, system_path: Path) -> tuple[list[ColumnLine | None], list[ColumnLine | None]]:
    """Read two files, which must have the same chapter, sentence, token number and word in each line."""
    gold, system = _read_lines(gold_path), _read_lines(system_path)
    for number, lines in enumerate(zip_longest(gold, system), start=1):
        wanted, found = (" ".join(line.fixed[:4]) if line else "no word" for line in lines)
        if found != wanted:
            problem = f"has {found!r} where {gold_path} has {wanted!r}; both need the same words in the same lines"
            raise _error(system_path, number, problem)
    return gold, system


def _sentences(
    gold: Sequence[ColumnLine | None], system: Sequence[ColumnLine | None]
) -> Iterator[tuple[int, list[tuple[ColumnLine, ColumnLine]]]]:
    """Yield each sentence's lines in both files, after the number of the line that ends it.

    As in the official script, the line at which either file ends is an end of sentence, whatever it holds, and an end
    of sentence that follows another gives a sentence without words.
    """
    last = min(len(gold), len(system)) - 1
    block: list[tuple[ColumnLine, ColumnLine]] = []
    for index, line in enumerate(gold):
        partner = system[index] if index < last else None
        if line and partner:
            block.append((line, partner))
        else:
            yield index + 1, block
            block = []


# --------------------------------------------------------------------------------------------------------------- counts

_MEASURES = (
    "cues",  # right when all words and strings are
    "scopes_cue_match",  # right only with the right cue
    "scopes_no_cue_match",  # right when the cues share a word
    "scope_tokens",  # words in scope, of cues that share a word
    "negated",  # events, whatever the cue
    "full_negation",  # cue, scope and event all right
)
_COUNTS = ("gold", "system", "tp", "fp", "fn")
_Part = tuple[tuple[int, str], ...]


class _Negation(NamedTuple):
    """A negation as the evaluation compares it: for cue, scope and event each word's index and string."""

    cue: _Part
    scope: _Part
    event: _Part


def _count_files(gold_path: Path, system_path: Path) -> Counter[str]:
    """Count a pair of files: ``<measure>_<count>`` for `_MEASURES` and `_COUNTS`, and numbers of sentences."""
    counts: Counter[str] = Counter()
    follows_negation = False
    for number, block in _sentences(*_read_pair(gold_path, system_path)):
        if not block:
            # The official script counts it as negated, and stops at it after a negation.
            if follows_negation:
                problem = "a second end of sentence in a row; end each sentence with exactly one blank line"
                raise _error(system_path, number, problem)
            counts.update(sentences=1, negation_sentences=1)
            continue
        gold_lines, system_lines = zip(*block, strict=True)
        expected, found = _negations(gold_lines, gold_lines), _negations(system_lines, gold_lines)
        for k, negation in enumerate(found):
            if not negation.cue:
                problem = (
                    f"negation {k} of the sentence before this line has no cue; give it one in column {8 + 3 * k}, "
                    "or remove its columns (a file without a blank line at its end loses its last word)"
                )
                raise _error(system_path, number, problem)
        _count_sentence(counts, expected, found)
        follows_negation = bool(found)
    return counts


def _count_sentence(counts: Counter[str], gold: Sequence[_Negation], system: Sequence[_Negation]) -> None:
    partners = _pair([negation.cue for negation in gold], [negation.cue for negation in system])
    matched = [None if partner is None else system[partner] for partner in partners]
    for negation, partner in zip(gold, matched, strict=True):
        _count_negation(counts, "gold", negation)
        if partner is None:
            _count_negation(counts, "fn", negation)
            counts["full_negation_fn"] += not negation.cue  # gold columns without a cue count as missed
        else:
            _count_match(counts, negation, partner)
    for k, negation in enumerate(system):
        _count_negation(counts, "system", negation)
        if k not in partners:
            _count_negation(counts, "fp", negation)
    _count_events(counts, [negation.event for negation in gold], [negation.event for negation in system])
    has_error = len(gold) != len(system) or matched != list(gold)
    counts.update(sentences=1, negation_sentences=bool(gold), sentences_with_errors=has_error)
    counts["negation_sentences_with_errors"] += bool(gold) and has_error


def _count_negation(counts: Counter[str], count: str, negation: _Negation) -> None:
    """Add a negation to one of the counts of all measures but `negated`."""
    counts[f"scope_tokens_{count}"] += len(negation.scope)
    for measure in ("cues", "full_negation"):
        counts[f"{measure}_{count}"] += bool(negation.cue)
    for measure in ("scopes_cue_match", "scopes_no_cue_match"):
        counts[f"{measure}_{count}"] += bool(negation.scope)


def _count_match(counts: Counter[str], gold: _Negation, system: _Negation) -> None:
    """Count a gold negation and its partner."""
    hits = len(set(gold.scope) & set(system.scope))
    counts.update(
        scope_tokens_tp=hits, scope_tokens_fn=len(gold.scope) - hits, scope_tokens_fp=len(system.scope) - hits
    )
    same_cue = gold.cue == system.cue
    counts["cues_tp" if same_cue else "cues_fn"] += 1
    counts["full_negation_tp" if gold == system else "full_negation_fn"] += 1
    for measure, is_compared in (("scopes_cue_match", same_cue), ("scopes_no_cue_match", True)):
        if gold.scope:
            is_right = is_compared and gold.scope == system.scope
            counts[f"{measure}_tp" if is_right else f"{measure}_fn"] += 1
        elif is_compared:
            counts[f"{measure}_fp"] += bool(system.scope)


def _count_events(counts: Counter[str], gold: Sequence[_Part], system: Sequence[_Part]) -> None:
    """Count events, paired among themselves and not by their cues.

    A gold event whose partner differs counts as missed, but not where the partner is in the last system negation: there
    the official script counts nothing.
    """
    partners = _pair(gold, system)
    counts.update(negated_gold=sum(map(bool, gold)), negated_system=sum(map(bool, system)))
    for part, partner in zip(gold, partners, strict=True):
        if partner is not None and part == system[partner]:
            counts["negated_tp"] += 1
        elif part and (partner is None or partner != len(system) - 1):
            counts["negated_fn"] += 1
    counts["negated_fp"] += sum(bool(part) for k, part in enumerate(system) if k not in partners)


def _negations(lines: Sequence[ColumnLine], gold: Sequence[ColumnLine]) -> list[_Negation]:
    """Collect the negations of a sentence; the gold lines decide which words are punctuation."""
    counted = [bool(_LETTER.search(line.fixed[5])) and line.fixed[5] not in _BRACKETS for line in gold]
    negations = []
    for k in range(len(lines[0].negations)):
        cells = [line.negations[k] for line in lines]
        scope = [(i, cell.scope, _BEFORE_FULL_STOP.match(cell.scope)) for i, cell in enumerate(cells) if counted[i]]
        negations.append(
            _Negation(
                cue=tuple((i, cell.cue) for i, cell in enumerate(cells) if cell.cue != NOTHING),
                scope=tuple((i, stem[1] if stem else text) for i, text, stem in scope if text != NOTHING),
                event=tuple((i, cell.event) for i, cell in enumerate(cells) if cell.event != NOTHING),
            )
        )
    return negations


def _pair(gold: Sequence[_Part], system: Sequence[_Part]) -> list[int | None]:
    """For each gold part, find the index of the first free system part that shares a word with it, or None."""
    free = list(range(len(system)))
    partners: list[int | None] = []
    for part in gold:
        words = {word for word, _ in part}
        partner = next((k for k in free if any(word in words for word, _ in system[k])), None)
        if partner is not None:
            free.remove(partner)
        partners.append(partner)
    return partners


# -------------------------------------------------------------------------------------------------------------- numbers


def _table(counts: Counter[str]) -> dict[str, float]:
    """All numbers of the official table."""
    numbers: dict[str, float] = {}
    for measure in _MEASURES:
        gold, system, tp, fp, fn = (counts[f"{measure}_{count}"] for count in _COUNTS)
        precision, recall, precision_b = _percent(tp, tp + fp), _percent(tp, tp + fn), _percent(tp, system)
        values: dict[str, float] = {"gold": gold, "system": system, "tp": tp, "fp": fp, "fn": fn}
        values |= {"precision": precision, "recall": recall, "f1": _harmonic_mean(precision, recall)}
        if measure != "scope_tokens":  # the table has no B measures of tokens
            values |= {"precision_b": precision_b, "f1_b": _harmonic_mean(precision_b, recall)}
        numbers |= {f"{measure}_{name}": value for name, value in values.items()}
    # The official table prints the tp of the scopes with cue match here too.
    numbers["scopes_no_cue_match_tp"] = counts["scopes_cue_match_tp"]
    for name in ("sentences", "negation_sentences", "negation_sentences_with_errors"):
        numbers[name] = counts[name]
    for kind in ("sentences", "negation_sentences"):
        numbers[f"correct_{kind}"] = _two_decimals(100 - _percent(counts[f"{kind}_with_errors"], counts[kind]))
    return numbers


def _two_decimals(value: float) -> float:
    # As the official script formats its table; `round` differs in the last digit.
    return float(f"{value:.2f}")


def _percent(part: int, whole: int) -> float:
    return _two_decimals(part / whole * 100) if whole else 0.0


def _harmonic_mean(precision: float, recall: float) -> float:
    total = precision + recall
    return _two_decimals(2 * precision * recall / total) if total else 0.0


class SemStarScope(evaluate.Metric):
    """The official *SEM 2012 measures of negation, from files in CD-SCO columns.

    ``compute(predictions=[system_path, ...], references=[gold_path, ...])`` takes pairs of files, which must have the
    same words in the same lines, and sums their counts before any division. It returns the numbers of the official
    table: percentages as printed there, and counts.

    Raises:
        FileNotFoundError, IsADirectoryError: from ``compute``, a path is not a file.
        ValueError: from ``compute``, a malformed file, or files with different words; it names file and line.
    """

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=Features({"predictions": Value("string"), "references": Value("string")}),
        )

    def _compute(self, *, predictions: Sequence[str], references: Sequence[str], **_: Any) -> dict[str, float]:
        counts: Counter[str] = Counter()
        for system_path, gold_path in zip(predictions, references, strict=True):
            counts += _count_files(Path(gold_path), Path(system_path))
        return _table(counts)
