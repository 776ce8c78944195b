"""The spaCy component `clozeformers_negation`: which words and entities of a `Doc` are negated.

```python
nlp = spacy.load("en_core_web_sm")
nlp.add_pipe("clozeformers_negation", config={"model": "path/or/name", "convention": "bioscope"})
doc = nlp("There is no evidence of pneumonia.")
[(ent.text, ent._.negated) for ent in doc.ents]
doc._.negations  # [Negation(cue=[no], scope=[evidence of pneumonia], score=0.99, affix=False)]
```

It replaces negspaCy: the place in the pipeline is the same, and `ent._.negated` stands for `ent._.negex`. All settings
are optional:

* `model`: a folder or a name on the Hub; by default the packaged model. It is loaded for the first text, or by
  `nlp.initialize()`, and is saved with the pipeline.
* `device`: such as `"cuda:0"`; by default the one that transformers chooses.
* `convention`: of a model that was trained on several corpora, see `NegationScopePipeline`; of one that reads clinical
  text, `"bioscope"`.
* `cue_detector`: `"lexicon"` for all cues of the lexicon, such as *denies*, which the corpus of a convention may lack.
* `batch_size`: sentences in a forward pass. `nlp.pipe(texts, batch_size=...)` sets how many texts share the batches.

The sentences are those of the `Doc`, or else those that the pipeline "negation-scope" finds; the words are the tokens,
those of a hyphenated word joined. `token._.negated` says whether a token is in a scope, and `span._.negated`, which
entities have too, whether a token of the span is. A span with an affix cue in it is not negated by this cue: *unstable
angina* is no absence of angina.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import torch
from transformers import pipeline

from .files import atomic_folder, write_bytes
from .negation_scope.cues import check_convention
from .pipelines.base import check_count, check_device
from .training.pretrained import loading
from .words import Word, sentence_ends

try:
    import srsly
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span, Token
    from spacy.util import minibatch
except ImportError as error:
    raise ImportError(f'spaCy is not installed; run: pip install "clozeformers[spacy]" ({error})') from error

FACTORY = "clozeformers_negation"
# Each negation is stored under such a key with the characters of its cue, as spaCy stores the attributes of spans: it
# moves them when it cuts documents or joins them. The values are plain data, in characters from the start of the cue:
# `Doc.to_bytes` serializes them, and merged tokens do not change them. Each part has its text too, because spaCy keeps
# those that were cut off, and they must not be taken for parts of what is joined later.
_KEY = ("._.", FACTORY)
# Document -> its size when it was read, and what was found.
_READ: WeakKeyDictionary[Doc, tuple[tuple[int, int], list[dict[str, Any]]]] = WeakKeyDictionary()
_HYPHENATED = re.compile(r"\w+(?:[-‐‑]\w+)+")


class Negation(NamedTuple):
    """A cue and its scope, aligned with tokens; in a document cut from another one, what is left of them.

    Attributes:
        cue: its parts, one unless it is discontinuous (*neither ... nor*).
        scope: what it negates, without the cue.
        score: mean probability of the words in scope or, if there are none, of all words to be outside of it.
        affix: whether the cue is a part of a word. Of *impossible*, which is one token, both `cue` and `scope` have the
            token; of *non-smoker*, which is three, `cue` has the first, and `scope` the others.
    """

    cue: list[Span]
    scope: list[Span]
    score: float
    affix: bool


class NegationComponent(Pipe):
    """Finds negations and stores them in `Doc.user_data`; see this module.

    Args:
        name: of the component.
        model: see this module; so are the others.
        device: where the model runs.
        convention: of a model of several corpora.
        cue_detector: `"lexicon"` for all cues of the lexicon, whatever the convention.
        batch_size: sentences in a forward pass.

    Raises:
        ValueError: an unknown convention, or a batch size below 1; with the first text, a model that cannot be loaded.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str | None,
        device: str | None,
        convention: str | None,
        cue_detector: str | None,
        batch_size: int,
    ) -> None:
        check_convention(convention)
        check_count("batch_size", batch_size)
        self.name = name
        self.model = model
        self.device = device
        self.convention = convention
        self.cue_detector = cue_detector
        self.batch_size = batch_size
        self._pipeline: Any = None
        self._process = os.getpid()

    @property
    def pipeline(self) -> Any:
        """The pipeline "negation-scope"; loaded at first use, so that a saved component does not need its origin."""
        if self._pipeline is None:
            self._load(self.model)
        return self._pipeline

    def _load(self, model: str | None) -> None:
        check_device(self.device)
        try:
            with loading(model) if model is not None else nullcontext():
                self._pipeline = pipeline("negation-scope", model=model, device=self.device, trust_remote_code=False)
        except (OSError, ValueError) as error:
            call = f'nlp.add_pipe("{FACTORY}", config={{"model": "..."}})'
            raise ValueError(f"{self.name}: {error}; in spaCy, a model is named by {call}") from error

    def initialize(self, get_examples: Callable[[], Iterable[Any]], *, nlp: Language | None = None) -> None:
        """Load the model, unless it is loaded."""
        _ = self.pipeline

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, `batch_size` at a time; one batch fails as a whole."""
        check_count("batch_size", batch_size)
        for docs in minibatch(stream, size=batch_size):
            try:
                self.annotate(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Store the negations of documents: of each, `cue` and `scope` as character spans, `score` and `affix`."""
        if os.getpid() != self._process:
            # After a fork, a forward pass waits for threads that only the parent has.
            torch.set_num_threads(1)
        sentences = [sentences_of(doc) for doc in docs]
        inputs = [{"tokens": [word.text for word in words]} for own in sentences for words in own]
        settings = {"convention": self.convention, "cue_detector": self.cue_detector}
        found = iter(self.pipeline(inputs, batch_size=self.batch_size, **settings))
        for doc, own in zip(docs, sentences, strict=True):
            for key in [key for key in doc.user_data if _is_key(key)]:
                del doc.user_data[key]
            doc.user_data |= (_in_characters(doc.text, words, each) for words in own for each in next(found))
            _READ.pop(doc, None)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save model and tokenizer into a folder."""
        with atomic_folder(path) as folder:
            self.pipeline.save_pretrained(folder)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> NegationComponent:
        """Load what `to_disk` has saved."""
        self._load(str(path))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The files that `to_disk` saves."""
        with TemporaryDirectory() as folder:
            self.pipeline.save_pretrained(folder)
            return srsly.msgpack_dumps({path.name: path.read_bytes() for path in Path(folder).iterdir()})

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> NegationComponent:
        """Load what `to_bytes` has returned."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for name, content in srsly.msgpack_loads(bytes_data).items():
                write_bytes(content, Path(folder, Path(name).name))
            self._load(folder)
        return self


@Language.factory(
    FACTORY,
    assigns=["doc._.negations", "token._.negated", "span._.negated"],
    default_config={"model": None, "device": None, "convention": None, "cue_detector": None, "batch_size": 32},
)
def make_negation(
    nlp: Language,
    name: str,
    *,
    model: str | None,
    device: str | None,
    convention: str | None,
    cue_detector: Literal["lexicon"] | None,
    batch_size: int,
) -> NegationComponent:
    """The factory that spaCy calls."""
    settings: dict[str, Any] = {"convention": convention, "cue_detector": cue_detector, "batch_size": batch_size}
    return NegationComponent(name, model=model, device=device, **settings)


def sentences_of(doc: Doc) -> list[list[Word]]:
    """The words of each sentence of a document, in its characters; no sentence is empty."""
    words = words_of(doc)
    if doc.has_annotation("SENT_START"):
        starts = [word.start for word in words]
        ends = [bisect_left(starts, sentence.end_char) for sentence in doc.sents]
    else:
        ends = sentence_ends(doc.text, words)
    return [words[start:end] for start, end in pairwise([0, *ends]) if start < end]


def words_of(doc: Doc) -> list[Word]:
    """The tokens of a document without its white space, those of a hyphenated word joined.

    Corpora have *non-smoker* as one word, where spaCy's English tokenizer has three tokens.
    """
    inside = {place for match in _HYPHENATED.finditer(doc.text) for place in range(match.start() + 1, match.end())}
    words: list[Word] = []
    for token in doc:
        start = words.pop().start if token.idx in inside else token.idx
        end = token.idx + len(token)
        if not token.is_space:
            words.append(Word(doc.text[start:end], start, end))
    return words


def _in_characters(
    text: str, words: Sequence[Word], negation: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Key and value of a result of the pipeline, whose spans refer to the words joined by spaces."""
    places = [place for word in words for place in range(word.start, word.end + 1)]
    edges = {edge for word in words for edge in (word.start, word.end)}
    cue, scope = (
        [(places[part["start"]], places[part["end"] - 1] + 1) for part in parts]
        for parts in (negation["cue"].get("parts", [negation["cue"]]), negation["scope"])
    )
    affix = not edges.issuperset(edge for part in cue for edge in part)
    origin = cue[0][0]
    texts = [[[start - origin, text[start:end]] for start, end in parts] for parts in (cue, scope)]
    value = {"cue": texts[0], "scope": texts[1], "score": negation["score"], "affix": affix}
    return (*_KEY, origin, cue[-1][1]), value


def _is_key(key: Any) -> bool:
    return isinstance(key, tuple) and key[:2] == _KEY


def _stored(doc: Doc) -> list[dict[str, Any]]:
    """The negations of a document, in its characters; of a document cut from another one, what is left of them."""
    size = len(doc), len(doc.user_data)
    known = _READ.get(doc)
    if known is None or known[0] != size:
        text = doc.text
        found = []
        for key in sorted(filter(_is_key, doc.user_data)):
            value = dict(doc.user_data[key])
            for name in ("cue", "scope"):
                parts = (_part_in(text, key[2] + distance, part) for distance, part in value[name])
                value[name] = [part for part in parts if part is not None]
            found += [value] if value["cue"] or value["scope"] else []
        _READ[doc] = known = size, found
    return known[1]


def _part_in(text: str, start: int, part: str) -> list[int] | None:
    """Where a part of a document lies in a text that was cut from it, as far as it does."""
    first, last = max(0, start), min(start + len(part), len(text))
    return [first, last] if first < last and text[first:last] == part[first - start : last - start] else None


def _negations(doc: Doc) -> list[Negation]:
    return [
        Negation(_spans(doc, found["cue"]), _spans(doc, found["scope"]), found["score"], found["affix"])
        for found in _stored(doc)
    ]


def _spans(doc: Doc, parts: Iterable[Sequence[int]]) -> list[Span]:
    """Spans of the tokens that overlap with parts of the text; adjacent ones are joined."""
    spans: list[Span] = []
    for start, end in parts:
        span = doc.char_span(start, end, alignment_mode="expand")
        first = spans.pop().start if spans and spans[-1].end >= span.start else span.start
        spans.append(doc[first : span.end])
    return spans


def _overlaps(parts: Iterable[Sequence[int]], start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in parts)


def _is_token_negated(token: Token) -> bool:
    start, end = token.idx, token.idx + len(token)
    return any(_overlaps(found["scope"], start, end) for found in _stored(token.doc))


def _is_span_negated(span: Span) -> bool:
    start, end = span.start_char, span.end_char
    return any(
        _overlaps(found["scope"], start, end) and not (found["affix"] and _overlaps(found["cue"], start, end))
        for found in _stored(span.doc)
    )


Doc.set_extension("negations", getter=_negations, force=True)
Token.set_extension("negated", getter=_is_token_negated, force=True)
Span.set_extension("negated", getter=_is_span_negated, force=True)
