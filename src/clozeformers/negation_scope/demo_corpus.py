"""A corpus of English sentences with negation cues and scopes, generated from the grammar in `demo.yaml`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from ..words import split_words
from .corpora.schema import NegationRow

CORPUS = "demo"
FORMS = ("base", "third", "past", "participle", "ing")

DEMO_SENTENCES: tuple[str, ...] = (
    "I do not know the answer.",
    "This hotel isn't what the brochure promised, but the beach is lovely.",
    "He is neither a poet nor a painter.",
    "The patient denies smoking and has no history of asthma.",
    "No evidence of pneumothorax was seen on the radiograph.",
    "She left the theatre without saying goodbye.",
    "Nobody answered when we knocked at the cottage.",
    "The instructions were unclear, so I called the shop.",
    "Although the battery lasts all day, the camera never focuses properly.",
    "It was impossible to sleep because the walls were thin.",
    "The compound did not inhibit growth, and no toxicity was observed.",
    "Why didn't the waiter tell us that the kitchen was closed?",
    "There is nothing in the cupboard except an old umbrella.",
    "“I can’t hear you,” whispered the child.",
)

_WEIGHTED = re.compile(r"(?:(\d+)x )?(.*)")
_CHOICE = re.compile(r"\(([^()]*)\)")
_INFLECTED = re.compile(r"[a-z]+(?:/[a-z]+){4}")
_SYMBOL = re.compile(r"<([\w -]+)(?::(\w+))?>")


def generate_demo_corpus(size: int, seed: int) -> list[NegationRow]:
    """Generate sentences with their negations.

    Args:
        size: number of sentences; about one in eight has two negations and so two rows.
        seed: seed of the random choices. Corpora of different seeds share few sentences.

    Returns:
        The rows, the same for the same arguments on every machine. Their ids are ``"demo-<seed>-<n>#<k>"``.
    """
    rng = random.Random(f"{CORPUS}-{seed}")  # a string is hashed the same way by every Python
    return [row for number in range(size) for row in _rows(_expand("sentence", None, rng), f"{CORPUS}-{seed}-{number}")]


@cache
def _grammar() -> dict[str, list[str]]:
    symbols = yaml.safe_load(Path(__file__).with_name("demo.yaml").read_text(encoding="utf-8"))
    grammar: dict[str, list[str]] = {}
    for symbol, text in symbols.items():
        options = text.strip().split("\n") if "\n" in text else text.split(";")
        weighted = [_WEIGHTED.fullmatch(option.strip()) for option in options]
        grammar[symbol] = [match[2] for match in weighted if match for _ in range(int(match[1] or 1))]
    return grammar


def _expand(symbol: str, form: str | None, rng: random.Random) -> str:
    """Insert alternatives until no symbol is left; each negation is put between ``«`` and ``»``."""
    text = rng.choice(_grammar()[symbol])
    while "(" in text:
        text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), text)
    if form:
        text = _INFLECTED.sub(lambda match: match[0].split("/")[FORMS.index(form)], text)
    text = _SYMBOL.sub(lambda match: _expand(match[1], match[2], rng), text)
    return f"«{text}»" if symbol.isupper() else text


def _rows(marked: str, sentence: str) -> Iterator[NegationRow]:
    """Turn the marks of a sentence into one row per negation."""
    marked = re.sub(r" +(?=[ .,;:?!}»])", "", marked)
    text, labels = "", []  # for each character: the negation around it, and whether it is cue ("[") or scope ("{")
    negation, mark = 0, ""
    for character in marked:
        if character in "«»":
            negation += character == "«"
        elif character in "[]{}":
            mark = character if character in "[{" else ""
        else:
            text += character
            labels.append((negation, mark))
    first = next(place for place, character in enumerate(text) if character.isalpha())
    text = text[:first] + text[first].upper() + text[first + 1 :]
    words = split_words(text)
    for number in range(1, negation + 1):
        pieces = ["".join(text[n] for n in range(w.start, w.end) if labels[n] == (number, "[")) for w in words]
        yield {
            "id": f"{sentence}#{number - 1}",
            "corpus": CORPUS,
            "kind": "negation",
            "tokens": [word.text for word in words],
            "cue": [int(bool(piece)) for piece in pieces],
            "cue_text": " ".join(filter(None, pieces)),
            "scope": [int((number, "{") in labels[word.start : word.end]) for word in words],
        }
