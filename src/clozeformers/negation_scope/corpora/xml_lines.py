"""XML corpus files as elements that know their line, parsed without trust in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import EntitiesForbidden
from defusedxml.ElementTree import DefusedXMLParser

from ...files import CorpusError
from .schema import KINDS, Kind

# The corpora nest below 20. A limit keeps the recursion below safe from a file made to exhaust it.
DEEPEST_NESTING = 100


@dataclass(eq=False, slots=True)
class XmlElement:
    """One element.

    Attributes:
        tag: its name.
        attributes: its attributes.
        line: the line of its start tag, from 1.
        content: character data and elements in the order of the file; comments leave no trace.
        elements: the elements of the content.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    content: list[str | XmlElement] = field(default_factory=list)
    elements: list[XmlElement] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The element and its line, for an error."""
        return f"line {self.line}, <{self.tag}>"

    @property
    def text(self) -> str:
        """All character data inside, with white space of any length made one space."""
        return " ".join("".join(text for text, _ in self.pieces()).split())

    def children(self, tag: str) -> list[XmlElement]:
        """Return the elements of this name directly inside."""
        return [element for element in self.elements if element.tag == tag]

    def descendants(self, tag: str) -> Iterator[XmlElement]:
        """Yield the elements of this name at any depth inside, in the order of their start tags."""
        for element in self.elements:
            if element.tag == tag:
                yield element
            if element.elements:
                yield from element.descendants(tag)

    def pieces(self) -> Iterator[tuple[str, tuple[XmlElement, ...]]]:
        """Yield each run of character data, with the elements around it from this one inwards."""
        for part in self.content:
            if isinstance(part, str):
                yield part, (self,)
            else:
                yield from ((text, (self, *around)) for text, around in part.pieces())


class _ElementBuilder:
    """What the parser calls with each tag and text; builds the elements."""

    def __init__(self, path: Path) -> None:
        self.parser = DefusedXMLParser(target=self)
        self.path = path
        self.open: list[XmlElement] = []
        self.root: XmlElement | None = None

    @property
    def line(self) -> int:
        """The line that the parser has come to."""
        return int(self.parser.parser.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(tag, attributes, self.line)
        if self.open:
            self.open[-1].content.append(element)
            self.open[-1].elements.append(element)
        else:
            self.root = element
        self.open.append(element)
        if len(self.open) > DEEPEST_NESTING:
            raise CorpusError(self.path, element.where, f"elements nest more than {DEEPEST_NESTING} deep")

    def end(self, tag: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        # Text comes in pieces, cut at comments and where the parser's buffer ends; a word must not be.
        content = self.open[-1].content
        if content and isinstance(content[-1], str):
            content[-1] += text
        else:
            content.append(text)

    def close(self) -> XmlElement | None:
        return self.root

    def where(self, line: int) -> str:
        """Name the line, and the innermost element that is open there."""
        inside = f", inside the <{self.open[-1].tag}> of line {self.open[-1].line}" if self.open else ""
        return f"line {line}{inside}"


def parse_xml(path: Path, root_tag: str, corpus: str) -> XmlElement:
    """Parse a whole XML file.

    A ``DOCTYPE`` is allowed and its DTD never fetched.

    Args:
        path: the file.
        root_tag: the name that its outermost element must have.
        corpus: the corpus whose files have it, for the error.

    Raises:
        CorpusError: the file is not well-formed, declares an entity, nests too deep, or has another root element.
    """
    builder = _ElementBuilder(path)
    content = path.read_bytes()
    try:
        builder.parser.feed(content)
        root: Any = builder.parser.close()
    except ParseError as error:
        line = error.position[0]
        raise CorpusError(path, builder.where(line), f"cannot be read as XML: {error}") from None
    except EntitiesForbidden as error:
        problem = f"declares the entity {error.name!r}; entities are refused, write the text itself"
        raise CorpusError(path, builder.line, problem) from None
    except CorpusError:
        raise
    except (ValueError, LookupError) as error:
        raise CorpusError(path, builder.where(builder.line), f"cannot be decoded: {error}") from None
    return _check_root(path, root, root_tag, corpus)


def _check_root(path: Path, root: XmlElement, root_tag: str, corpus: str) -> XmlElement:
    if root.tag != root_tag:
        raise CorpusError(path, root.where, f"not a file of {corpus}: its outermost element must be <{root_tag}>")
    return root


def xml_files(path: str | Path) -> list[Path]:
    """Return the file itself, or the ``.xml`` files at any depth of a folder, sorted.

    Raises:
        FileNotFoundError: nothing stands there, or a folder without ``.xml`` files.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"{path} does not exist; path must be an .xml file or a folder that holds some")
    files = sorted(file for file in path.rglob("*.xml") if file.is_file())
    if not files:
        raise FileNotFoundError(f"the folder {path} holds no .xml file; path must be the folder that holds the corpus")
    return files


def attribute(path: Path, element: XmlElement, name: str) -> str:
    """Return the value of an attribute that must be there.

    Raises:
        CorpusError: it is missing or empty.
    """
    value = element.attributes.get(name, "")
    if not value:
        raise CorpusError(path, element.where, f"has no attribute {name}; it needs {name}=...")
    return value


def cue_kind(path: Path, cue: XmlElement) -> str:
    """Return the kind that a cue's ``type`` says.

    Raises:
        CorpusError: it has no type, or an unknown one.
    """
    kind = attribute(path, cue, "type")
    if kind not in KINDS:
        raise CorpusError(path, cue.where, f"type is {kind!r}; it must be {' or '.join(map(repr, KINDS))}")
    return kind


def check_kind(kind: Kind) -> None:
    """Check the kind of cue that a caller asks for.

    Raises:
        ValueError: it is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be {' or '.join(map(repr, KINDS))}")
