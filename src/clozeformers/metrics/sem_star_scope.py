"""The measures of the official *SEM 2012 evaluation of negation, version 2.2, equal to the last printed digit.

What the evaluation counts (Morante and Blanco 2012, and the behaviour of ``eval.cd-sco.pl``, version 2.2):

* Gold and system negations of a sentence are paired in their order: a gold negation gets the first system negation
  that is still free and shares a cue word with it.
* Punctuation never counts as scope: words whose gold part of speech has no letter, digit or ``_``, and brackets.
* A scope string is compared up to its first full stop, where only ASCII letters, digits and ``_`` stand before it
  (``Mr.`` equals ``Mr``, and ``p.m.`` equals ``p``).
* A negation that was found but not exactly is a false negative and no false positive. The B measures divide by all that
  the system gave instead.
* F1 comes from precision and recall as they are printed, rounded to two decimals.
* A file without a blank line at its end loses its last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import evaluate
from datasets import Features, Value

from ..files import CorpusError
from ..negation_scope.corpora.cd_sco import NOTHING, ColumnLine, check_same_columns, parse_line
from .negation_scope import CITATION

_BEFORE_FULL_STOP = re.compile(r"(\w+)\.", re.ASCII)
_LETTER = re.compile(r"\w", re.ASCII)
_BRACKETS = ("-LRB-", "-RRB-")

_DESCRIPTION = """\
The measures of the official *SEM 2012 evaluation of negation cues, scopes and events (version 2.2), from column files.
"""
_INPUTS = """
Args:
    predictions: paths of a system's column files.
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


@dataclass
class Measure:
    """Counts of one measure, and its percentages rounded to two decimals; 0.0 where the denominator is 0.

    Attributes:
        gold, system: how many either side has.
        tp, fp, fn: true positives, false positives, false negatives.
    """

    gold: int = 0
    system: int = 0
    tp: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def precision(self) -> float:
        """``tp / (tp + fp)``, in percent."""
        return _percent(self.tp, self.tp + self.fp)

    @property
    def precision_b(self) -> float:
        """``tp / system``, in percent."""
        return _percent(self.tp, self.system)

    @property
    def recall(self) -> float:
        """``tp / (tp + fn)``, in percent."""
        return _percent(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """Harmonic mean of the rounded precision and recall."""
        return _harmonic_mean(self.precision, self.recall)

    @property
    def f1_b(self) -> float:
        """Harmonic mean of the rounded precision B and recall."""
        return _harmonic_mean(self.precision_b, self.recall)


def _two_decimals(value: float) -> float:
    # Formatting is what the official table does.
    return float(f"{value:.2f}")


def _percent(part: int, whole: int) -> float:
    return _two_decimals(part / whole * 100) if whole else 0.0


def _harmonic_mean(precision: float, recall: float) -> float:
    total = precision + recall
    return _two_decimals(2 * precision * recall / total) if total else 0.0


@dataclass
class SemStarReport:
    """All measures of the official evaluation; ``str()`` of it is the official table.

    Attributes:
        cues: a cue is right when all its words and strings are.
        scopes_cue_match: scopes, right only with the right cue.
        scopes_no_cue_match: scopes, right when the cues share a word.
        scope_tokens: words in scope, of cues that share a word.
        negated: events, whatever the cue.
        full_negation: cue, scope and event all right. Its ``gold`` and ``system`` are those of the cues.
        sentences: number of sentences.
        negation_sentences: those with a gold negation.
        negation_sentences_with_errors: those of them that the system has not exactly.
        sentences_with_errors: all sentences that the system has not exactly.
    """

    cues: Measure = field(default_factory=Measure)
    scopes_cue_match: Measure = field(default_factory=Measure)
    scopes_no_cue_match: Measure = field(default_factory=Measure)
    scope_tokens: Measure = field(default_factory=Measure)
    negated: Measure = field(default_factory=Measure)
    full_negation: Measure = field(default_factory=Measure)
    sentences: int = 0
    negation_sentences: int = 0
    negation_sentences_with_errors: int = 0
    sentences_with_errors: int = 0

    @property
    def correct_sentences(self) -> float:
        """Percentage of sentences that the system has exactly."""
        return _two_decimals(100 - _percent(self.sentences_with_errors, self.sentences))

    @property
    def correct_negation_sentences(self) -> float:
        """Percentage of sentences with a gold negation that the system has exactly."""
        return _two_decimals(100 - _percent(self.negation_sentences_with_errors, self.negation_sentences))

    def as_dict(self) -> dict[str, float]:
        """All numbers of the table, flat.

        Returns:
            ``<measure>_<number>`` for each measure and gold, system, tp, fp, fn, precision, recall, f1, and (but for
            scope_tokens) precision_b and f1_b; then the sentence counts and percentages. ``scopes_no_cue_match_tp``
            is what the table shows: the tp of ``scopes_cue_match``.
        """
        numbers: dict[str, float] = {}
        for name, measure in vars(self).items():
            if not isinstance(measure, Measure):
                continue
            shown = ("gold", "system", "tp", "fp", "fn", "precision", "recall", "f1", "precision_b", "f1_b")
            for number in shown if name != "scope_tokens" else shown[:-2]:
                numbers[f"{name}_{number}"] = getattr(measure, number)
        numbers["scopes_no_cue_match_tp"] = self.scopes_cue_match.tp
        return numbers | {
            "sentences": self.sentences,
            "negation_sentences": self.negation_sentences,
            "negation_sentences_with_errors": self.negation_sentences_with_errors,
            "correct_sentences": self.correct_sentences,
            "correct_negation_sentences": self.correct_negation_sentences,
        }

    def __str__(self) -> str:
        """Print the official table."""
        scope_tp = self.scopes_cue_match.tp
        return "\n".join(
            [
                _RULE,
                _HEADER,
                "-" + _RULE,
                _row("Cues", self.cues),
                _row("Scopes(cue match)", self.scopes_cue_match),
                _row("Scopes(no cue match)", self.scopes_no_cue_match, shown_tp=scope_tp),
                _row("Scope tokens(no cue match)", self.scope_tokens),
                _row("Negated(no cue match)", self.negated),
                _row("Full negation", self.full_negation),
                _RULE,
                _row("Cues B", self.cues, b=True),
                _row("Scopes B (cue match)", self.scopes_cue_match, b=True),
                _row("Scopes B (no cue match)", self.scopes_no_cue_match, b=True, shown_tp=scope_tp),
                _row("Negated B (no cue match)", self.negated, b=True),
                _row("Full negation B", self.full_negation, b=True),
                _RULE,
                f" # sentences: {self.sentences}",
                f" # negation sentences: {self.negation_sentences}",
                f" # negation sentences with errors: {self.negation_sentences_with_errors}",
                f" % correct sentences: {self.correct_sentences:.2f}",
                f" % correct negation sentences: {self.correct_negation_sentences:.2f}",
                "-" * 104,
                "",
            ]
        )


_RULE = "+".join("-" * width for width in (27, 6, 8, 6, 6, 6, 15, 12, 9))
_HEADER = " " * 28 + "| gold | system | tp   | fp   | fn   | precision (%) | recall (%) | F1  (%) "


def _row(label: str, measure: Measure, b: bool = False, shown_tp: int | None = None) -> str:
    """One line of the table; ``b`` shows the B measures."""
    tp = measure.tp if shown_tp is None else shown_tp
    precision, f1 = (measure.precision_b, measure.f1_b) if b else (measure.precision, measure.f1)
    counts = f"{measure.gold:{32 - len(label)}d} | {measure.system:6d} | {tp:4d} | {measure.fp:4d} | {measure.fn:4d}"
    return f"{label}: {counts} | {precision:13.2f} | {measure.recall:10.2f} | {f1:7.2f}"


class _Negation(NamedTuple):
    """A negation as the evaluation compares it: for cue, scope and event each word's place and string."""

    cue: tuple[tuple[int, str], ...]
    scope: tuple[tuple[int, str], ...]
    event: tuple[tuple[int, str], ...]


def score_files(gold_path: str | Path, system_path: str | Path) -> SemStarReport:
    """Score a system's column file against the gold one as the official script does.

    The files must have the same words in the same lines; blank lines at the end may differ. Lines must be well
    formed: the official script lets some malformed ones pass and misreads them, which is an error here.

    Args:
        gold_path: the gold file in CD-SCO columns (see :mod:`clozeformers.negation_scope.corpora.cd_sco`).
        system_path: the system's file, with the same first four columns.

    Returns:
        The report; ``print`` it for the official table.

    Raises:
        CorpusError: a malformed file, or one that does not fit the other, with file and line.
    """
    report = SemStarReport()
    _add_files(report, Path(gold_path), Path(system_path))
    return report


def _add_files(report: SemStarReport, gold_path: Path, system_path: Path) -> None:
    gold, system = _read_lines(gold_path), _read_lines(system_path)
    _check_same_words(gold_path, gold, system_path, system)
    negations_before = 0
    for number, block in _sentences(gold, system):
        if not block:
            _add_nothing(report, system_path, number, negations_before)
            continue
        gold_lines, system_lines = zip(*block, strict=True)
        expected, found = _negations(gold_lines, gold_lines), _negations(system_lines, gold_lines)
        _check_cues(system_path, number, found)
        _add_sentence(report, expected, found)
        negations_before = len(found)


def _read_lines(path: Path) -> list[ColumnLine | None]:
    """Parse the lines of a file, None for a blank one."""
    # Strings are only compared, so bytes that are not UTF-8 do no harm.
    texts = path.read_bytes().decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    lines: list[ColumnLine | None] = []
    first: ColumnLine | None = None
    for number, text in enumerate(texts, start=1):
        if not text:
            first = None
            lines.append(None)
            continue
        line = parse_line(path, number, text.rstrip("\t"))
        first = first or line
        check_same_columns(path, first, line)
        lines.append(line)
    if not any(lines):
        raise CorpusError(path, 1, "the file has no sentence; it should hold CD-SCO columns, one word a line")
    return lines


def _check_same_words(
    gold_path: Path, gold: Sequence[ColumnLine | None], system_path: Path, system: Sequence[ColumnLine | None]
) -> None:
    """Check that both files have the same chapter, sentence, token number and word in each line."""
    for index in range(max(len(gold), len(system))):
        expected = gold[index] if index < len(gold) else None
        line = system[index] if index < len(system) else None
        there = expected.fixed[:4] if expected else None
        here = line.fixed[:4] if line else None
        if here != there:
            found = " ".join(here) if here else "a blank line" if index < len(system) else "no line"
            wanted = " ".join(there) if there else "a blank line" if index < len(gold) else "no line"
            problem = f"has {found!r} where {gold_path} has {wanted!r}; both need the same words in the same lines"
            raise CorpusError(system_path, index + 1, problem)


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


def _add_nothing(report: SemStarReport, system_path: Path, number: int, negations_before: int) -> None:
    """Count a sentence without words: the official script takes it for negated, and stops at it after a negation."""
    if negations_before:
        problem = "a second end of sentence in a row; end each sentence, also the last, with exactly one blank line"
        raise CorpusError(system_path, number, problem)
    report.sentences += 1
    report.negation_sentences += 1


def _check_cues(system_path: Path, number: int, negations: Sequence[_Negation]) -> None:
    for k, negation in enumerate(negations):
        if not negation.cue:
            problem = (
                f"negation {k} of the sentence before this line has no cue; give it one in column {8 + 3 * k}, or take "
                "its columns out (a file without a blank line at its end loses its last word)"
            )
            raise CorpusError(system_path, number, problem)


def _negations(lines: Sequence[ColumnLine], gold: Sequence[ColumnLine]) -> list[_Negation]:
    """Collect the negations of a sentence; which words are punctuation is read from the gold lines."""
    counted = [bool(_LETTER.search(line.fixed[5])) and line.fixed[5] not in _BRACKETS for line in gold]
    negations = []
    for k in range(len(lines[0].negations)):
        cells = [line.negations[k] for line in lines]
        negations.append(
            _Negation(
                cue=tuple((i, cell.cue) for i, cell in enumerate(cells) if cell.cue != NOTHING),
                scope=tuple(
                    (i, _scope_word(cell.scope)) for i, cell in enumerate(cells) if cell.scope != NOTHING and counted[i]
                ),
                event=tuple((i, cell.event) for i, cell in enumerate(cells) if cell.event != NOTHING),
            )
        )
    return negations


def _scope_word(text: str) -> str:
    match = _BEFORE_FULL_STOP.match(text)
    return match[1] if match else text


def _add_sentence(report: SemStarReport, gold: Sequence[_Negation], system: Sequence[_Negation]) -> None:
    """Count one sentence."""
    _add_totals(report, gold, system)
    partners = _pair([negation.cue for negation in gold], [negation.cue for negation in system])
    for negation, partner in zip(gold, partners, strict=True):
        if partner is None:
            _add_missed(report, negation)
        else:
            _add_found(report, negation, system[partner])
    for k, negation in enumerate(system):
        if k not in partners:
            _add_invented(report, negation)
    _add_events(report.negated, [negation.event for negation in gold], [negation.event for negation in system])

    exact = len(gold) == len(system) and all(
        partner is not None and negation == system[partner] for negation, partner in zip(gold, partners, strict=True)
    )
    report.sentences += 1
    report.negation_sentences += bool(gold)
    report.sentences_with_errors += not exact
    report.negation_sentences_with_errors += bool(gold) and not exact


def _add_totals(report: SemStarReport, gold: Sequence[_Negation], system: Sequence[_Negation]) -> None:
    """Count what each side has."""
    for side, negations in (("gold", gold), ("system", system)):
        cues = sum(bool(negation.cue) for negation in negations)
        scopes = sum(bool(negation.scope) for negation in negations)
        for measure, count in (
            (report.cues, cues),
            (report.full_negation, cues),
            (report.scopes_cue_match, scopes),
            (report.scopes_no_cue_match, scopes),
            (report.scope_tokens, sum(len(negation.scope) for negation in negations)),
            (report.negated, sum(bool(negation.event) for negation in negations)),
        ):
            setattr(measure, side, getattr(measure, side) + count)


_Part = Sequence[tuple[int, str]]


def _pair(gold: Sequence[_Part], system: Sequence[_Part]) -> list[int | None]:
    """For each gold part the place of the first free system part that shares a word with it, None if there is none."""
    free = list(range(len(system)))
    partners: list[int | None] = []
    for part in gold:
        words = {word for word, _ in part}
        partner = next((k for k in free if any(word in words for word, _ in system[k])), None)
        if partner is not None:
            free.remove(partner)
        partners.append(partner)
    return partners


def _add_missed(report: SemStarReport, gold: _Negation) -> None:
    """Count a gold negation that the system does not have."""
    report.cues.fn += bool(gold.cue)
    report.scopes_cue_match.fn += bool(gold.scope)
    report.scopes_no_cue_match.fn += bool(gold.scope)
    report.scope_tokens.fn += len(gold.scope)
    report.full_negation.fn += 1


def _add_invented(report: SemStarReport, system: _Negation) -> None:
    """Count a system negation that the gold file does not have."""
    report.cues.fp += 1
    report.scopes_cue_match.fp += bool(system.scope)
    report.scopes_no_cue_match.fp += bool(system.scope)
    report.scope_tokens.fp += len(system.scope)
    report.full_negation.fp += 1


def _add_found(report: SemStarReport, gold: _Negation, system: _Negation) -> None:
    """Count a gold negation and the system negation that shares a cue word with it."""
    hits = len(set(gold.scope) & set(system.scope))
    report.scope_tokens.tp += hits
    report.scope_tokens.fn += len(gold.scope) - hits
    report.scope_tokens.fp += len(system.scope) - hits
    report.full_negation.tp += gold == system
    report.full_negation.fn += gold != system
    _add_scope(report.scopes_no_cue_match, gold.scope, system.scope)
    if gold.cue == system.cue:
        report.cues.tp += 1
        _add_scope(report.scopes_cue_match, gold.scope, system.scope)
    else:
        report.cues.fn += 1
        report.scopes_cue_match.fn += bool(gold.scope)


def _add_scope(measure: Measure, gold: _Part, system: _Part) -> None:
    if not gold:
        measure.fp += bool(system)
    elif gold == system:
        measure.tp += 1
    else:
        measure.fn += 1


def _add_events(measure: Measure, gold: Sequence[_Part], system: Sequence[_Part]) -> None:
    """Count events, paired among themselves and not by their cues.

    A gold event whose partner differs counts as missed, but not where the partner is in the last system negation: there
    the official script counts nothing.
    """
    partners = _pair(gold, system)
    for part, partner in zip(gold, partners, strict=True):
        if partner is not None and part == system[partner]:
            measure.tp += 1
        elif part and (partner is None or partner != len(system) - 1):
            measure.fn += 1
    measure.fp += sum(bool(part) for k, part in enumerate(system) if k not in partners)


class SemStarScope(evaluate.Metric):
    """The official *SEM 2012 measures of negation, from files in CD-SCO columns.

    ``compute(predictions=[system_path, ...], references=[gold_path, ...])`` takes pairs of files and adds up their
    counts before any division. It returns what :meth:`SemStarReport.as_dict` gives: percentages as the official script
    prints them, and counts. :func:`score_files` gives the official table for one pair.

    Raises:
        FileNotFoundError: from ``compute``, a path that is not a file.
        CorpusError: from ``compute``, a malformed file, or files with different words; it names file and line.
    """

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=CITATION,
            inputs_description=_INPUTS,
            features=Features({"predictions": Value("string"), "references": Value("string")}),
        )

    def _compute(self, *, predictions: Sequence[str], references: Sequence[str], **_: Any) -> dict[str, float]:
        report = SemStarReport()
        for system_path, gold_path in zip(predictions, references, strict=True):
            for path in (system_path, gold_path):
                if not Path(path).is_file():
                    raise FileNotFoundError(
                        f"no file {path!r}; compute(predictions=, references=) needs lists of paths"
                    )
            _add_files(report, Path(gold_path), Path(system_path))
        return report.as_dict()
