"""XML corpus files: elements with line numbers, and the words inside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml.common import EntitiesForbidden
from defusedxml.ElementTree import DefusedXMLParser

from ...files import CorpusError, files_in, open_data
from .schema import KINDS

# The corpora nest less than 20 deep. The limit protects the recursion below from a crafted file.
MAX_DEPTH = 100


class XmlElement(Element):
    """An element with the line of its start tag, counted from 1."""

    line: int

    @property
    def where(self) -> str:
        """The element and its line, for an error."""
        return f"line {self.line}, <{self.tag}>"


class XmlWord(NamedTuple):
    """Text and the elements around it, outermost first."""

    text: str
    ancestors: tuple[XmlElement, ...]


class _LineTreeBuilder(TreeBuilder):
    """Builds `XmlElement`s. Character data is not split at comments or where the parser's buffer ends."""

    def __init__(self) -> None:
        super().__init__(element_factory=XmlElement)
        self.parser = DefusedXMLParser(target=self)

    @property
    def line(self) -> int:
        return int(self.parser.parser.CurrentLineNumber)

    def start(self, tag: Any, attributes: dict[Any, Any]) -> Any:
        element: Any = super().start(tag, attributes)
        element.line = self.line
        return element


def parse_xml(path: Path, root_tag: str, corpus: str) -> XmlElement:
    """Parse an XML file of a corpus, whose outermost element is `root_tag`; a DTD is never fetched.

    Raises:
        CorpusError: the file is not well-formed, declares an entity, or has another root element.
    """
    builder = _LineTreeBuilder()
    with open_data(path) as file:
        content = file.read()
    try:
        builder.parser.feed(content)
        root: Any = builder.parser.close()
    except ParseError as error:
        raise CorpusError(path, error.position[0], f"cannot be read as XML: {error}") from None
    except EntitiesForbidden as error:
        problem = f"declares the entity {error.name!r}; entities are refused, write the text itself"
        raise CorpusError(path, builder.line, problem) from None
    except (ValueError, LookupError) as error:
        raise CorpusError(path, builder.line, f"cannot be decoded: {error}") from None
    if root.tag != root_tag:
        raise CorpusError(path, root.where, f"not a file of {corpus}: its outermost element must be <{root_tag}>")
    return root


def xml_files(path: str | Path) -> list[Path]:
    """Return the file itself, or the ``.xml`` and ``.xml.gz`` files at any depth of a folder, sorted.

    Raises:
        FileNotFoundError: the path does not exist, or is a folder without ``.xml`` files.
        OSError: a folder cannot be read.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"{path} does not exist; path must be an .xml file or a folder that holds some")
    files = files_in(path, lambda file: file.name.endswith((".xml", ".xml.gz")))
    if not files:
        raise FileNotFoundError(f"the folder {path} holds no .xml file; path must be the folder that holds the corpus")
    return files


def texts(path: Path, element: XmlElement, ancestors: tuple[XmlElement, ...] = ()) -> Iterator[XmlWord]:
    """Yield each run of character data inside an element; raises a CorpusError if elements nest too deep."""
    ancestors = (*ancestors, element)
    if len(ancestors) > MAX_DEPTH:
        raise CorpusError(path, element.where, f"elements nest more than {MAX_DEPTH} deep")
    if element.text:
        yield XmlWord(element.text, ancestors)
    for child in element:
        yield from texts(path, child, ancestors)  # type: ignore[arg-type]  # the builder makes no other elements
        if child.tail:
            yield XmlWord(child.tail, ancestors)


def attribute(path: Path, element: XmlElement, name: str) -> str:
    """Return an attribute; raises a CorpusError if it is missing or empty."""
    value = element.get(name, "")
    if not value:
        raise CorpusError(path, element.where, f"has no attribute {name}; it needs {name}=...")
    return value


def cue_kind(path: Path, cue: XmlElement) -> str:
    """Return the ``type`` of a cue; raises a CorpusError if it is not one of `KINDS`."""
    kind = attribute(path, cue, "type")
    if kind not in KINDS:
        raise CorpusError(path, cue.where, f"type is {kind!r}; it must be {' or '.join(map(repr, KINDS))}")
    return kind


def mark_words(words: Sequence[XmlWord], elements: Sequence[XmlElement]) -> list[int]:
    """Return 1 for each word inside one of the elements, else 0."""
    return [int(any(element in word.ancestors for element in elements)) for word in words]


def mark_cues(path: Path, words: Sequence[XmlWord], cues: Sequence[XmlElement]) -> list[int]:
    """As `mark_words`, for cues; raises a CorpusError if one holds no word."""
    for cue in cues:
        if not any(cue in word.ancestors for word in words):
            raise CorpusError(path, cue.where, "holds no word; a cue needs at least one")
    return mark_words(words, cues)
