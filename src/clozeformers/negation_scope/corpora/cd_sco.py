"""The *SEM 2012 CD-SCO corpus: tab-separated columns, one word a line, a blank line between sentences.

The columns are chapter, sentence, token number, word, lemma, part of speech and parse; then either one column
``***`` (a sentence without negation) or three columns for each negation: its cue, its scope and its event. ``_``
stands where a word has no part in one of them. Source: Morante and Blanco (2012), "*SEM 2012 Shared Task:
Resolving the Scope and Focus of Negation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...files import CorpusError
from .schema import KINDS, Kind, NegationRow

FIXED_COLUMNS = 7
NO_NEGATION = "***"
NOTHING = "_"
_RIGHT_COLUMNS = (
    f"separated by tabs, {FIXED_COLUMNS} columns and then {NO_NEGATION}, or cue, scope and event of each negation"
)


class NegationCells(NamedTuple):
    """What one line says of one negation: strings, ``"_"`` for nothing."""

    cue: str
    scope: str
    event: str


@dataclass(frozen=True)
class ColumnLine:
    """One word: its line number (from 1), its seven fixed columns, and its cells for each negation of the sentence."""

    number: int
    fixed: tuple[str, ...]
    negations: tuple[NegationCells, ...]

    @property
    def word(self) -> str:
        """The word itself."""
        return self.fixed[3]


@dataclass(frozen=True)
class CdScoNegation:
    """One negation of a sentence: its three columns, each with one string a word, ``"_"`` for nothing."""

    cue: tuple[str, ...]
    scope: tuple[str, ...]
    event: tuple[str, ...]


@dataclass(frozen=True)
class CdScoSentence:
    """One sentence.

    Attributes:
        chapter: the first column, such as ``"wisteria01"``.
        number: the second column, the sentence's number in its chapter, as it stands in the file.
        columns: for each word the seven fixed columns.
        negations: the negations in the order of their columns; empty where the file says ``***``.
    """

    chapter: str
    number: str
    columns: tuple[tuple[str, ...], ...]
    negations: tuple[CdScoNegation, ...]

    @property
    def words(self) -> list[str]:
        """The words in order."""
        return [columns[3] for columns in self.columns]


def parse_line(path: str | Path, number: int, text: str) -> ColumnLine:
    """Split one line that is not blank, and check its columns.

    Args:
        path: the file, for the error.
        number: the line's number, from 1.
        text: the line without its end.

    Raises:
        CorpusError: a wrong number of columns, ``***`` beside negation columns, or a negation column that is empty
            or holds a space, or a carriage return at the end.
    """
    if text.endswith("\r"):
        raise CorpusError(path, number, r"the line ends in \r\n; convert the file to line ends \n")
    columns = text.split("\t")
    fixed, cells = tuple(columns[:FIXED_COLUMNS]), columns[FIXED_COLUMNS:]
    if cells == [NO_NEGATION]:
        return ColumnLine(number, fixed, ())
    if not cells or len(cells) % 3:
        raise CorpusError(path, number, f"{len(columns)} columns in {text[:80]!r}; a line has, {_RIGHT_COLUMNS}")
    if cells[0] == NO_NEGATION:
        raise CorpusError(
            path, number, f"{NO_NEGATION} stands beside other negation columns; a line has {_RIGHT_COLUMNS}"
        )
    for column, cell in enumerate(cells, start=FIXED_COLUMNS + 1):
        if not cell or " " in cell:
            raise CorpusError(
                path, number, f"column {column} is {cell!r}; it must be {NOTHING} or a string without spaces"
            )
    return ColumnLine(number, fixed, tuple(NegationCells(*cells[k : k + 3]) for k in range(0, len(cells), 3)))


def check_same_columns(path: str | Path, first: ColumnLine, line: ColumnLine) -> None:
    """Check that a line has as many negations as the first line of its sentence.

    Raises:
        CorpusError: it has not.
    """
    here, there = len(line.negations), len(first.negations)
    if here == there:
        return
    if not here or not there:
        problem = f"{NO_NEGATION} and negation columns are mixed in one sentence"
    else:
        problem = f"columns for {here} negations"
    wanted = f"columns for {there} negations" if there else NO_NEGATION
    raise CorpusError(path, line.number, f"{problem}; line {first.number}, where the sentence begins, has {wanted}")


def read_sentences(path: str | Path) -> Iterator[CdScoSentence]:
    r"""Parse a column file, one sentence at a time.

    Args:
        path: a file of the official download, or one in its format: UTF-8, line ends ``\n``.

    Yields:
        The sentences in order.

    Raises:
        CorpusError: while iterating, with file and line, where the file is empty or not UTF-8; where a line has a
            wrong number of columns, an empty one, or a cue, scope or event that is not part of its word; where a
            sentence mixes ``***`` with negation columns, has lines of different widths, is not numbered 0, 1, 2 ...,
            or has a negation without any cue; and where blank lines follow each other.
    """
    block: list[ColumnLine] = []
    number = 0
    with Path(path).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            text = _decode(path, number, raw)
            if text:
                line = parse_line(path, number, text)
                _check_line(path, line, block)
                block.append(line)
            elif block:
                yield _sentence(path, block)
                block = []
            else:
                raise CorpusError(
                    path, number, "a blank line with no sentence before it; one blank line ends a sentence"
                )
    if block:
        yield _sentence(path, block)
    elif not number:
        raise CorpusError(path, 1, f"the file is empty; it should hold one word a line: {_RIGHT_COLUMNS}")


def _decode(path: str | Path, number: int, raw: bytes) -> str:
    """Decode a line, and take its end off."""
    try:
        # Some editors put a byte order mark before the first line.
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        bad = raw[error.start : error.end]
        raise CorpusError(path, number, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None


def _check_line(path: str | Path, line: ColumnLine, before: Sequence[ColumnLine]) -> None:
    """Check what the columns of a line say, by themselves and after the sentence's lines before it."""
    for column, value in enumerate(line.fixed, start=1):
        if not value:
            raise CorpusError(path, line.number, f"column {column} is empty; a line has, {_RIGHT_COLUMNS}")
    if before:
        check_same_columns(path, before[0], line)
        here, there = line.fixed[:2], before[0].fixed[:2]
        if here != there:
            problem = (
                f"sentence {'/'.join(here)} begins inside sentence {'/'.join(there)}; a blank line must end a sentence"
            )
            raise CorpusError(path, line.number, problem)
    if line.fixed[2] != str(len(before)):
        problem = f"token number {line.fixed[2]!r}; token numbers count up from 0 in a sentence, here {len(before)}"
        raise CorpusError(path, line.number, problem)
    for cells in line.negations:
        for name, cell in zip(NegationCells._fields, cells, strict=True):
            if cell != NOTHING and cell not in line.word:
                problem = (
                    f"{name} {cell!r} is not part of the word {line.word!r}; write a part of the word, or {NOTHING}"
                )
                raise CorpusError(path, line.number, problem)


def _sentence(path: str | Path, block: Sequence[ColumnLine]) -> CdScoSentence:
    """Put the lines of one sentence together."""
    negations = []
    for k in range(len(block[0].negations)):
        cue, scope, event = zip(*(line.negations[k] for line in block), strict=True)
        if set(cue) == {NOTHING}:
            problem = (
                f"negation {k} of the sentence that begins here has no cue; a cue must stand in column {8 + 3 * k}"
            )
            raise CorpusError(path, block[0].number, problem)
        negations.append(CdScoNegation(cue, scope, event))
    chapter, number = block[0].fixed[:2]
    return CdScoSentence(chapter, number, tuple(line.fixed for line in block), tuple(negations))


def read_cd_sco(path: str | Path, kind: Kind = "negation", without_cues: bool = False) -> Iterator[NegationRow]:
    """Read a CD-SCO file as rows, one for each cue.

    Args:
        path: a column file.
        kind: ``"negation"``; the corpus has nothing else.
        without_cues: also give the sentences without a cue, with cue and scope all 0 and the id's end ``#-``.

    Returns:
        An iterator over the rows, in the order of the file. Ids are ``"<chapter>/<sentence>#<k>"``, k from 0. A
        word that holds an affix cue has cue 1, and scope 1 where the rest of it is in scope.

    Raises:
        ValueError: another kind.
        CorpusError: while iterating, what :func:`read_sentences` raises.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(map(repr, KINDS))}")
    if kind != "negation":
        raise ValueError(f"CD-SCO has no {kind}: it annotates negation only; read it with kind='negation'")
    return _rows(path, without_cues)


def _rows(path: str | Path, without_cues: bool) -> Iterator[NegationRow]:
    for sentence in read_sentences(path):
        for k, negation in enumerate(sentence.negations):
            yield _row(sentence, str(k), negation)
        if without_cues and not sentence.negations:
            nothing = (NOTHING,) * len(sentence.columns)
            yield _row(sentence, "-", CdScoNegation(nothing, nothing, nothing))


def _row(sentence: CdScoSentence, end: str, negation: CdScoNegation) -> NegationRow:
    return NegationRow(
        id=f"{sentence.chapter}/{sentence.number}#{end}",
        corpus="cd-sco",
        kind="negation",
        tokens=sentence.words,
        cue=[int(cell != NOTHING) for cell in negation.cue],
        cue_text=" ".join(cell for cell in negation.cue if cell != NOTHING),
        scope=[int(cell != NOTHING) for cell in negation.scope],
    )


def write_cd_sco(gold_path: str | Path, scopes: Mapping[str, Sequence[int]], output_path: str | Path) -> None:
    """Write predicted scopes for gold cues, in the column format that the official script scores.

    Words and cues are copied from the gold file; events are ``_``. A word in scope is written whole, but one that
    holds an affix cue is written as the corpus does: what follows a prefix (*im*possible: ``possible``), what stands
    before any other affix (care*less*ness: ``care``). A word that is the cue has no such rest and is never in scope.

    Args:
        gold_path: the gold column file.
        scopes: for each id that :func:`read_cd_sco` gives, 0 or 1 for each word. Other ids are ignored.
        output_path: the file to write. It ends in a blank line: without one the official script leaves out the last
            word.

    Raises:
        CorpusError: the gold file cannot be read.
        ValueError: an id is missing from ``scopes``, or its scope has a wrong length or a value other than 0 and 1.
            Nothing is written then.
    """
    lines: list[str] = []
    for sentence in read_sentences(gold_path):
        cells = [[] if sentence.negations else [NO_NEGATION] for _ in sentence.columns]
        for k, negation in enumerate(sentence.negations):
            row_id = f"{sentence.chapter}/{sentence.number}#{k}"
            scope = _predicted(scopes, row_id, len(sentence.columns), gold_path)
            for word, cue, inside, line in zip(sentence.words, negation.cue, scope, cells, strict=True):
                line += [cue, _scope_cell(word, cue) if inside else NOTHING, NOTHING]
        lines.extend("\t".join([*fixed, *line]) for fixed, line in zip(sentence.columns, cells, strict=True))
        lines.append("")
    Path(output_path).write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))


def _predicted(scopes: Mapping[str, Sequence[int]], row_id: str, length: int, gold_path: str | Path) -> Sequence[int]:
    """Look up the predicted scope of one cue, and check it."""
    if row_id not in scopes:
        raise ValueError(f"scopes has no {row_id!r}; it must hold every id of read_cd_sco({str(gold_path)!r})")
    scope = scopes[row_id]
    if len(scope) != length:
        raise ValueError(f"the scope of {row_id!r} has {len(scope)} values; its sentence has {length} words")
    for value in scope:
        if value not in (0, 1):
            raise ValueError(f"the scope of {row_id!r} holds {value!r}; it must hold 0 or 1 for each word")
    return scope


def _scope_cell(word: str, cue: str) -> str:
    """Choose what of a word in scope is written."""
    if cue == NOTHING:
        return word
    rest = word.removeprefix(cue) if word.startswith(cue) else word.rpartition(cue)[0]
    return rest or NOTHING
