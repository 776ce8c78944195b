"""What a model has read, beyond the results of its pipeline: one more forward pass gives the numbers to draw.

Each function returns a sentence in place of numbers where the model has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ..abstract_cloze.encoding import ARTICLE_TYPE, article_spans
from ..abstract_cloze.questions import cloze_question_of
from ..modeling.attention import QueryContextAttention
from ..negation_scope.windows import word_probabilities
from ..words import split_words
from .html import Span
from .negation import CueReading
from .question import WordEnds

_BATCH_SIZE = 8


def read_cues(
    negation: Any, text: str, cues: Sequence[Mapping[str, Any]], convention: str | None = None
) -> list[CueReading] | str:
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
    parameters = _parameters(negation, {"convention": convention})
    example = negation.preprocess({"text": text, "cues": parts}, **parameters)
    rows = [row for batch in _batches(example["features"]) for row in _cue_rows(negation, batch)]
    readings = []
    for number, cue in enumerate(example["cues"]):
        own = [
            (window.word_ids, *row)
            for window, row in zip(example["windows"], rows, strict=True)
            if window.example == number
        ]
        word_ids, pieces, weights, lengths = zip(*own, strict=True)
        longest = max(pieces, key=len)
        # A window that the cue does not fit into lacks its last pieces.
        columns = [
            word_probabilities(len(cue.words), word_ids, [_column(row, piece) for row in weights])
            for piece in range(len(longest))
        ]
        by_word = [list(row) for row in zip(*columns, strict=True)]
        readings.append(CueReading(longest, by_word, word_probabilities(len(cue.words), word_ids, lengths)))
    return readings


def _parameters(pipeline: Any, given: Mapping[str, Any]) -> Any:
    """Those of preprocessing, in a call with some."""
    own = {name: value for name, value in given.items() if name not in ("batch_size", "num_workers")}
    return pipeline._resolve_parameters(**pipeline._preprocess_params | pipeline._sanitize_parameters(**own)[0])


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
    for number, row in enumerate(features):
        positions = [position for position in read[2][number].tolist() if position >= 0]
        pieces = [negation.tokenizer.decode([row["input_ids"][position]]).strip() for position in positions]
        own = weights[number, : len(row["input_ids"]), : len(positions)].tolist()
        rows.append((pieces, own, lengths[number, : len(row["input_ids"])].tolist()))
    return rows


def read_answers(reader: Any, question: str, context: str, **given: Any) -> tuple[list[WordEnds], int]:
    """The probabilities of the context's words to begin and to end the answer.

    As in the score of an answer, they are among the words of a window and its no-answer slot; of several windows, the
    highest counts.

    Args:
        reader: the pipeline "extractive-question-answering".
        question: the question.
        context: the context.
        **given: parameters of the call.

    Returns:
        The words, and the number of windows.
    """
    parameters = _parameters(reader, given)
    example = reader.preprocess({"question": question, "context": context}, **parameters)
    highest: dict[tuple[int, int], tuple[float, float]] = {}
    all_logits = reader._predict(example["features"], _BATCH_SIZE)
    for window, logits in zip(example["slots"], all_logits, strict=True):
        spans = [tuple(span) for span in window.offsets.tolist()]
        is_slot = torch.tensor([span[0] >= 0 for span in spans])
        is_slot[window.cls_position] = True
        chances = logits.masked_fill(~is_slot.unsqueeze(-1), -torch.inf).softmax(0)
        own: dict[tuple[int, int], list[float]] = {}
        for span, (begins, ends) in zip(spans, chances.tolist(), strict=True):
            if span[0] >= 0:  # the pieces of a word have the span of the word
                summed = own.setdefault(span, [0.0, 0.0])
                summed[:] = summed[0] + begins, summed[1] + ends
        for span, (begins, ends) in own.items():
            before = highest.get(span, (0.0, 0.0))
            highest[span] = max(begins, before[0]), max(ends, before[1])
    words = [WordEnds(*span, *highest[span]) for span in sorted(highest)]
    return words, len(example["slots"]) // example["forms"]


def read_article(
    cloze: Any, article: str, question: str, options: Sequence[str], **given: Any
) -> list[list[Span]] | str:
    """The attention of each option to the words of the article that were read, from the co-attention.

    It is the mean over layers, heads and the pieces of the option's segment: the filled-in question and the
    definitions. The rest of it is on the special token that begins the article.
    """
    config = cloze.model.config
    if not given.get("use_article", getattr(config, "use_article", True)):
        return "This model reads the summary alone, without the article."
    if getattr(cloze.model, "co_attention", None) is None:
        return "This model has no co-attention whose weights could be shown."
    asked = cloze_question_of({"article": article, "question": question, "options": options})
    parameters = _parameters(cloze, given)
    [features] = cloze.preprocess(asked._asdict(), **parameters)["features"]
    batch = cloze.collate([features])
    sentences = getattr(config, "article_sentences", "first")
    words = split_words(article)
    looked_at = []
    for option, by_position in enumerate(_option_attention(cloze.model, batch)):
        types = features["token_type_ids"][option]
        padded = batch["input_ids"].shape[-1] - len(types) if cloze.layout.class_token_is_last else 0
        first = padded + len(cloze.layout.before)
        count = types.count(ARTICLE_TYPE) - len(cloze.layout.before) - len(cloze.layout.between)
        spans = article_spans(cloze.tokenizer, asked, count, article_sentences=sentences)
        pieces = [(span, by_position[first + number]) for number, span in enumerate(spans)]
        looked_at.append(_by_word(words, pieces))
    return looked_at


@torch.no_grad()
def _option_attention(model: Any, batch: Mapping[str, Tensor]) -> list[dict[int, float]]:
    """For each option, the attention to each position of the article in the input."""
    output = model(**{name: values.to(model.device) for name, values in batch.items()}, output_attentions=True)
    weights = torch.stack([layer[0].float().mean(1) for layer in output.option_attentions]).mean(0)  # [C, N, M]
    is_piece = (output.option_positions[0] >= 0).unsqueeze(-1)
    means = (weights * is_piece).sum(1) / is_piece.sum(1)  # [C, M]
    positions = output.article_positions[0].tolist()
    return [dict(zip(places, row, strict=True)) for places, row in zip(positions, means.tolist(), strict=True)]


def _by_word(words: Sequence[Any], pieces: Sequence[tuple[tuple[int, int], float]]) -> list[Span]:
    """Sum the weights of the pieces of each word; words without a piece are left out."""
    sums: dict[tuple[int, int], float] = {}
    index = 0
    for (start, end), weight in pieces:
        while index + 1 < len(words) and words[index].end <= start:
            index += 1
        # A piece may begin with the space before its word.
        own = next((word for word in words[index : index + 2] if word.start < end and start < word.end), None)
        if own is not None:
            span = (own.start, own.end)
            sums[span] = sums.get(span, 0.0) + weight
    return [Span(*span, weight) for span, weight in sums.items()]
