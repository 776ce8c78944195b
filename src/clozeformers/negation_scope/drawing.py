"""Draw the results of `pipeline("negation-scope")`, for pages, notebooks and terminals."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..drawings.html import Html, Span, covering, cut, details, drawing, element, heat_map, note, number, table
from ..drawings.rendering import Rendering, call_parameters
from ..drawings.terminal import Line, line
from ..modeling.attention import QueryContextAttention
from ..words import sentence_ends, split_words
from .inputs import read_input
from .windows import word_probabilities

MOST_CUES = 20  # whose words are drawn
_BATCH_SIZE = 8
_STYLES = 6  # colours and lines of the style sheet; numbers tell further cues apart
Cue = Mapping[str, Any]


class CueAttention(NamedTuple):
    """What the words of a sentence read through a cue.

    Attributes:
        pieces: the word pieces of the cue.
        weights: for each word, its attention to each piece, the mean over heads and blocks.
        lengths: for each word, the length of the vector that the attention adds to it, the mean over blocks.
    """

    pieces: list[str]
    weights: list[list[float]]
    lengths: list[float]


def render(pipeline: Any, text: Any, **parameters: Any) -> Rendering:
    """Draw cues and scopes of a text, and what its words read through the cues."""
    given = read_input(text)
    cues = pipeline(text, **parameters | {"return_words": True})
    # Tokens that are given may be other words than those of the text.
    is_text = isinstance(text, str) or "tokens" not in text
    attentions = cue_attentions(pipeline, given.text, cues[:MOST_CUES], parameters.get("convention")) if is_text else ""
    drawn = draw_negation(given.text, cues, attentions if cues else "")
    return Rendering(drawn, scope_lines(given.text, cues), cues)


def scope_lines(text: str, cues: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Mark cues and scopes in a text.

    Args:
        text: the input of `pipeline("negation-scope")`.
        cues: its results.

    Returns:
        One line a cue, with the sentences that hold it and its scope; or the text on one line if it has none.
    """
    words = split_words(text)
    starts = [0, *(words[number].start for number in sentence_ends(text, words)[:-1]), len(text)]
    lines = []
    for cue in cues:
        spans = [*cue["scope"], *_parts(cue)]
        start = starts[bisect_right(starts, min(span["start"] for span in spans)) - 1]
        end = starts[bisect_left(starts, max(span["end"] for span in spans))]
        # The cue last: it replaces the scope where they overlap.
        marks = [
            (kind, [{"start": span["start"] - start, "end": span["end"] - start} for span in own])
            for kind, own in (("scope", cue["scope"]), ("cue", _parts(cue)))
        ]
        lines.append(line(text[start:end].rstrip(), marks))
    return lines or [line(text, [])]


def draw_negation(text: str, cues: Sequence[Cue], attentions: Sequence[CueAttention] | str = "") -> Html:
    """Draw cues and scopes into a text, and list them.

    Args:
        text: the input of the pipeline.
        cues: its results, best with ``return_words=True``: the words' probabilities are drawn too.
        attentions: for each of the first cues, what the words read through it; or a sentence that says why this is not
            drawn.
    """
    if not cues:
        return drawing(element("p", text, class_="cf-text"), note("No negation cue was found."))
    reasons: list[str] = [note(attentions)] if isinstance(attentions, str) and attentions else []
    given: Sequence[CueAttention | None] = [None] * len(cues) if isinstance(attentions, str) else attentions
    items = [
        element(
            "li",
            _summary(n, cue),
            *(_words(text, n, cue, attention) for attention in given[n - 1 : n]),
            class_=_style(n),
        )
        for n, cue in enumerate(cues, 1)
    ]
    if len(given) < len(cues):
        reasons.append(note(f"The words are shown for the first {len(given)} cues."))
    return drawing(_marked(text, cues), element("ol", *items, class_="cf-cues"), *reasons)


def _parts(cue: Cue) -> Sequence[Mapping[str, Any]]:
    parts: Sequence[Mapping[str, Any]] = cue["cue"].get("parts", [cue["cue"]])
    return parts


def cue_name(cue: Cue) -> str:
    """The text of a cue, that of its parts if there are several."""
    return " … ".join(part["text"] for part in _parts(cue))


def _style(n: int) -> str:
    return f"cf-cue-{(n - 1) % _STYLES + 1}"


def _summary(n: int, cue: Cue) -> Html:
    """One line on a cue: its number, words, scope and score."""
    scope = " … ".join(span["text"] for span in cue["scope"])
    words = element("q", scope) if scope else "no words"
    mark = element("mark", cue_name(cue), class_="cf-mark")
    score = element("span", "score ", number(cue["score"]), class_="cf-number")
    return element("p", element("b", f"{n} "), mark, " negates ", words, ", ", score)


def _marked(text: str, cues: Sequence[Cue]) -> Html:
    """The text with every cue marked, and a line below each scope: lines of scopes that overlap are at two heights."""
    levels = _levels(cues)
    marks = [
        (span["start"], span["end"], n, kind)
        for n, cue in enumerate(cues, 1)
        for kind, spans in (("scope", cue["scope"]), ("cue", _parts(cue)))
        for span in spans
    ]
    titles = _titles(cues)
    starts, ends = [start for start, _ in titles], [end for _, end in titles]
    hovers = list(titles.values())
    edges = [edge for start, end, *_ in marks for edge in (start, end)]
    pieces = []
    for start, end in cut(text, [*edges, *starts, *ends]):
        word = covering(starts, ends, start)
        piece = element("span", text[start:end], title=None if word is None else hovers[word])
        for first, last, n, kind in marks:
            if first <= start < last:
                label = [element("sup", str(n), aria_hidden="true")] if first == start else []
                style = f"--level:{levels[n - 1]}"
                piece = element("span", *label, piece, class_=f"cf-{kind} {_style(n)}", style=style)
        pieces.append(piece)
    return element("p", *pieces, class_="cf-text cf-negation", style=f"--levels:{max(levels) + 1}")


def _levels(cues: Sequence[Cue]) -> list[int]:
    """The height of each cue's lines: the first at which it meets no other."""
    last_ends: list[int] = []
    levels = []
    for cue in cues:
        spans = [*cue["scope"], *_parts(cue)]
        start, end = min(span["start"] for span in spans), max(span["end"] for span in spans)
        level = next((level for level, last in enumerate(last_ends) if last <= start), len(last_ends))
        last_ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _titles(cues: Sequence[Cue]) -> dict[tuple[int, int], str]:
    """For each word, in the order of the text, its probabilities to be in the scopes of the cues of its sentence."""
    lines: dict[tuple[int, int], list[str]] = {}
    for n, cue in enumerate(cues, 1):
        for word in cue.get("words", ()):
            line = f"in the scope of {n} ({cue_name(cue)}): {number(word['probability'])}"
            lines.setdefault((word["start"], word["end"]), []).append(line)
    return {span: "\n".join(lines[span]) for span in sorted(lines)}


def _words(text: str, n: int, cue: Cue, attention: CueAttention | None) -> Html:
    """The numbers of a cue's words: maps and a table, which are open for the first cue."""
    words = cue.get("words", ())
    if not words:
        return Html("")
    places = [(word["start"], word["end"]) for word in words]
    probabilities = [word["probability"] for word in words]
    spans = [Span(*place, value) for place, value in zip(places, probabilities, strict=True)]
    maps: list[str] = [heat_map(text, spans, "Probability of each word to be in the scope")]
    columns, values = ["Word", "in the scope"], [[value] for value in probabilities]
    if attention is not None:
        maps += _attention_maps(text, places, attention)
        columns += ["reads", *(f"weight on {piece}" for piece in attention.pieces)]
        own = zip(values, attention.lengths, attention.weights, strict=True)
        values = [[*row, length, *weights] for row, length, weights in own]
    rows = [(word["text"], row) for word, row in zip(words, values, strict=True)]
    numbers = details("All numbers", table(f"Words of cue {n}", columns, rows))
    return details(f"Words of cue {n}", *maps, numbers, is_open=n == 1)


def _attention_maps(text: str, places: Sequence[tuple[int, int]], attention: CueAttention) -> list[Html]:
    spans = [Span(*place, value) for place, value in zip(places, attention.lengths, strict=True)]
    label = "What each word reads through the cue: the length of the vector that the attention adds to it"
    maps = [heat_map(text, spans, label, max(attention.lengths, default=0.0))]
    if len(attention.pieces) == 1:
        return [*maps, note(f"The cue is the one word piece {attention.pieces[0]}: each word's whole weight is on it.")]
    for index, piece in enumerate(attention.pieces):
        own = [Span(*place, weights[index]) for place, weights in zip(places, attention.weights, strict=True)]
        maps.append(heat_map(text, own, f"Weight of each word on the cue's piece {piece}"))
    return maps


def cue_attentions(
    negation: Any, text: str, cues: Sequence[Mapping[str, Any]], convention: str | None = None
) -> list[CueAttention] | str:
    """What the words of a text read through its cues, by Orthogonal Attention or the model's other attention.

    Args:
        negation: the pipeline "negation-scope".
        text: the text.
        cues: what the pipeline found in it.
        convention: as for the pipeline.
    """
    stack = getattr(negation.model, "attention_stack", None)
    if stack is None or any(type(block.attention).attend is QueryContextAttention.attend for block in stack.blocks):
        return "This model has no attention to the cue whose weights could be shown."
    parts = [[[part["start"], part["end"]] for part in cue["cue"].get("parts", [cue["cue"]])] for cue in cues]
    parameters = call_parameters(negation, {"convention": convention})
    example = negation.preprocess({"text": text, "cues": parts}, **parameters)
    rows = [row for batch in _batches(example["features"]) for row in _cue_rows(negation, batch)]
    attentions = []
    for index, cue in enumerate(example["cues"]):
        own = [
            (window.word_ids, *row)
            for window, row in zip(example["windows"], rows, strict=True)
            if window.example == index
        ]
        word_ids, pieces, weights, lengths = zip(*own, strict=True)
        longest = max(pieces, key=len)
        # A window that the cue does not fit into lacks its last pieces.
        columns = [
            word_probabilities(len(cue.words), word_ids, [_column(row, piece) for row in weights])
            for piece in range(len(longest))
        ]
        by_word = [list(row) for row in zip(*columns, strict=True)]
        attentions.append(CueAttention(longest, by_word, word_probabilities(len(cue.words), word_ids, lengths)))
    return attentions


def _batches(features: Sequence[Any]) -> list[Sequence[Any]]:
    starts = [*range(0, len(features), _BATCH_SIZE), len(features)]
    return [features[start:end] for start, end in pairwise(starts)]


def _column(rows: Sequence[Sequence[float]], piece: int) -> list[float]:
    return [row[piece] if piece < len(row) else 0.0 for row in rows]


@torch.no_grad()
def _cue_rows(negation: Any, features: Sequence[Mapping[str, Any]]) -> list[tuple[list[str], Any, list[float]]]:
    """For each row of a batch, the pieces of its cue, the weights of its pieces on them, and the lengths."""
    model, batch = negation.model, negation.collate(list(features))
    batch = {name: values.to(model.device) for name, values in batch.items()}
    vectors: list[Tensor] = []
    hooks = [
        block.attention_projection.register_forward_hook(lambda *call: vectors.append(call[2]))
        for block in model.attention_stack.blocks
    ]
    try:
        encoded = model.encode(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], token_type_ids=None
        )
        read = model.read_scopes(encoded.last_hidden_state, batch["attention_mask"], batch["cue_mask"], True)
    finally:
        for hook in hooks:
            hook.remove()
    weights = torch.stack([block.float().mean(1) for block in read[1]]).mean(0)  # [B, L, N]
    lengths = torch.stack([vector.float().norm(dim=-1) for vector in vectors]).mean(0)  # [B, L]
    rows = []
    for index, row in enumerate(features):
        positions = [position for position in read[2][index].tolist() if position >= 0]
        pieces = [negation.tokenizer.decode([row["input_ids"][position]]).strip() for position in positions]
        own = weights[index, : len(row["input_ids"]), : len(positions)].tolist()
        rows.append((pieces, own, lengths[index, : len(row["input_ids"])].tolist()))
    return rows
