"""The *SEM 2012 CD-SCO corpus: tab-separated columns, one word a line, a blank line between sentences.

The columns are chapter, sentence, token number, word, lemma, part of speech and parse; then either one column
``***`` (a sentence without negation) or three columns for each negation: its cue, its scope and its event. ``_``
marks a word that has no part in one of them. Source: Morante and Blanco (2012), "*SEM 2012 Shared Task:
Resolving the Scope and Focus of Negation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...files import CorpusError, read_text, write_text
from ...metrics.sem_star_scope import LINE_FORMAT, NO_NEGATION, NOTHING, ColumnLine, check_same_width, parse_line
from .schema import Annotation, NegationRow, sentence_rows


class CdScoNegation(NamedTuple):
    """The three columns of a negation, each with one string a word, ``"_"`` for nothing."""

    cue: tuple[str, ...]
    scope: tuple[str, ...]
    event: tuple[str, ...]


class CdScoSentence(NamedTuple):
    """A sentence: ``"<chapter>/<sentence>"``, the seven fixed columns of each word, and the negations in order."""

    id: str
    columns: tuple[tuple[str, ...], ...]
    negations: tuple[CdScoNegation, ...]

    @property
    def words(self) -> list[str]:
        """The words in order."""
        return [columns[3] for columns in self.columns]


def read_sentences(path: str | Path) -> Iterator[CdScoSentence]:
    r"""Parse a column file in UTF-8 with line ends ``\n``, plain or compressed with gzip.

    Raises:
        FileNotFoundError, IsADirectoryError: the path is not a file.
        CorpusError: the file breaks the format, or a cue, scope or event is not part of its word.
    """
    block: list[ColumnLine] = []
    begun: dict[str, int] = {}  # sentence -> its first line
    lines = read_text(path, f"CD-SCO has one word a line: {LINE_FORMAT}").removesuffix("\n").split("\n")
    for number, text in enumerate(lines, start=1):
        if text:
            try:
                line = parse_line(number, text)
                _check_line(line, block)
                if not block:
                    _check_sentence(line, begun)
            except ValueError as error:
                raise CorpusError(path, number, str(error)) from None
            block.append(line)
        elif block:
            yield _sentence(path, block)
            block = []
        else:
            raise CorpusError(path, number, "a blank line with no sentence before it; one blank line ends a sentence")
    if block:
        yield _sentence(path, block)


def _check_sentence(line: ColumnLine, begun: dict[str, int]) -> None:
    """Check that a sentence begins for the first time, and note its line."""
    name = "/".join(line.fixed[:2])
    if begun.setdefault(name, line.number) != line.number:
        raise ValueError(f"sentence {name} occurs twice, first in line {begun[name]}; number one of them otherwise")


def _check_line(line: ColumnLine, before: Sequence[ColumnLine]) -> None:
    """Check a line, given the lines before it in its sentence."""
    if "" in line.fixed:
        raise ValueError(f"column {line.fixed.index('') + 1} is empty; a line has {LINE_FORMAT}")
    if before:
        check_same_width(before[0], line)
        here, there = "/".join(line.fixed[:2]), "/".join(before[0].fixed[:2])
        if here != there:
            raise ValueError(f"sentence {here} begins inside sentence {there}; a blank line must end a sentence")
    if line.fixed[2] != str(len(before)):
        raise ValueError(
            f"token number {line.fixed[2]!r}; token numbers count up from 0 in a sentence, here {len(before)}"
        )
    word = line.fixed[3]
    for cells in line.negations:
        for name, cell in cells._asdict().items():
            if cell != NOTHING and cell not in word:
                problem = f"{name} {cell!r} is not part of the word {word!r}"
                raise ValueError(f"{problem}; write a part of the word, or {NOTHING}")


def _sentence(path: str | Path, block: Sequence[ColumnLine]) -> CdScoSentence:
    negations = []
    for k in range(len(block[0].negations)):
        negation = CdScoNegation(*zip(*(line.negations[k] for line in block), strict=True))
        if set(negation.cue) == {NOTHING}:
            problem = f"negation {k} of the sentence that begins here has no cue; column {8 + 3 * k} must hold one"
            raise CorpusError(path, block[0].number, problem)
        negations.append(negation)
    return CdScoSentence("/".join(block[0].fixed[:2]), tuple(line.fixed for line in block), tuple(negations))


def read_cd_sco(path: str | Path) -> Iterator[NegationRow]:
    """Read a CD-SCO file; raises as `read_sentences`.

    Yields:
        A row for each cue, or for a sentence without a cue, in the order of the file. Ids are
        ``"<chapter>/<sentence>#<k>"``. A word that holds an affix cue has cue 1, and scope 1 if the rest of it is in
        scope.
    """
    for sentence in read_sentences(path):
        annotations = [
            Annotation(
                cue=[int(cell != NOTHING) for cell in negation.cue],
                cue_text=" ".join(cell for cell in negation.cue if cell != NOTHING),
                scope=[int(cell != NOTHING) for cell in negation.scope],
            )
            for negation in sentence.negations
        ]
        yield from sentence_rows(sentence.id, "cd-sco", "negation", sentence.words, annotations)


def write_cd_sco(gold_path: str | Path, scopes: Mapping[str, Sequence[int]], output_path: str | Path) -> None:
    """Write predicted scopes for gold cues, in the column format that the official script scores.

    Words and cues are copied from the gold file; events are ``_``. A word in scope is written whole, but of one that
    holds an affix cue the rest is written, as in the corpus: the part after a prefix (*im*possible: ``possible``), the
    part before any other affix (care*less*ness: ``care``). A word that is the cue is never in scope.

    Args:
        gold_path: the gold column file.
        scopes: for each cue's id from `read_cd_sco`, 0 or 1 for each word.
        output_path: is written. It ends in a blank line, without which the official script drops the last word.

    Raises:
        CorpusError: the gold file cannot be read.
        KeyError: an id is missing from `scopes`.
        ValueError: a scope does not have one value for each word.
    """
    negations = {
        sentence.id: [(negation.cue, scopes[f"{sentence.id}#{k}"]) for k, negation in enumerate(sentence.negations)]
        for sentence in read_sentences(gold_path)
    }
    write_found_cd_sco(gold_path, negations, output_path)


def write_found_cd_sco(
    gold_path: str | Path,
    negations: Mapping[str, Sequence[tuple[Sequence[str], Sequence[int]]]],
    output_path: str | Path,
) -> None:
    """Write found negations as `write_cd_sco` does, with the words of the gold file alone.

    Args:
        gold_path: the gold column file.
        negations: for each sentence, ``"<chapter>/<sentence>"``, its negations: for each word the part that belongs to
            the cue, ``"_"`` for none, and 0 or 1 for the scope.
        output_path: is written.

    Raises:
        CorpusError: the gold file cannot be read.
        ValueError: a cue or a scope does not have one value for each word.
    """
    lines: list[str] = []
    for sentence in read_sentences(gold_path):
        own = negations.get(sentence.id, ())
        cells: list[list[str]] = [[] if own else [NO_NEGATION] for _ in sentence.columns]
        for cue, scope in own:
            for word, part, inside, line in zip(sentence.words, cue, scope, cells, strict=True):
                line += [part, _scope_cell(word, part) if inside else NOTHING, NOTHING]
        lines.extend("\t".join([*fixed, *line]) for fixed, line in zip(sentence.columns, cells, strict=True))
        lines.append("")
    write_text("".join(f"{line}\n" for line in lines), output_path)


def _scope_cell(word: str, cue: str) -> str:
    if cue == NOTHING:
        return word
    rest = word.removeprefix(cue) if word.startswith(cue) else word.rpartition(cue)[0]
    return rest or NOTHING
