"""Draw the results of `pipeline("abstract-cloze")`, for pages, notebooks and terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..drawings.html import Html, Span, bar, details, drawing, element, heat_map, note, table
from ..drawings.rendering import Rendering, call_parameters
from ..drawings.terminal import Line, Part, bars, printable
from ..words import split_words
from .encoding import ARTICLE_TYPE, article_spans
from .questions import PLACEHOLDER, cloze_question_of


def render(pipeline: Any, input_: Any = None, **given: Any) -> Rendering:
    """Draw the options for a gap, and what they looked at in the article."""
    names = ("article", "question", "options")
    asked = {name: given.pop(name) for name in names if name in given}
    reads_article = given.get("use_article", getattr(pipeline.model.config, "use_article", True))
    one = cloze_question_of(asked or input_, reads_article)
    ranked = pipeline(one._asdict(), **given)
    looked_at = article_attentions(pipeline, one.article, one.question, one.options, **given)
    drawn = draw_options(one.article, one.question, ranked, looked_at)
    return Rendering(drawn, option_lines(one.question, ranked), ranked)


def option_lines(question: str, options: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Fill in the best option, and list all options with their scores and the definitions that were read.

    Args:
        question: with the placeholder.
        options: the results of `pipeline("abstract-cloze")`, best first.
    """
    before, _, after = map(printable, question.partition(PLACEHOLDER))
    lines: list[Line] = [[Part(before), Part(printable(options[0]["option"]), "answer"), Part(after)]]
    for option, row in zip(options, bars([(printable(one["option"]), one["score"]) for one in options]), strict=True):
        lines += [row, *([Part(f"    {printable(definition)}")] for definition in option["definitions"])]
    return lines


def draw_options(
    article: str, question: str, options: Sequence[Mapping[str, Any]], looked_at: Sequence[Sequence[Span]] | str = ""
) -> Html:
    """Draw the options as bars, with the definitions that were read, and the words of the article that each looked at.

    Args:
        article: to read.
        question: with the placeholder.
        options: the results of the pipeline, best first.
        looked_at: for each option, in the order of its `index`, the weights of the article's words that were read; or a
            sentence that says why these are not drawn.
    """
    before, _, after = question.partition(PLACEHOLDER)
    best = element("mark", options[0]["option"], class_="cf-mark")
    defined = any(option["definitions"] for option in options)
    items = [element("li", *_option(option, defined)) for option in options]
    parts: list[str] = [element("p", before, best, after, class_="cf-text"), element("ol", *items, class_="cf-bars")]
    parts += [] if defined else [note("No definition of any option was read.")]
    parts.append(element("h3", "What each option looked at"))
    if isinstance(looked_at, str):
        parts.append(note(looked_at))
    else:
        parts += [
            _looked_at(article, option["option"], looked_at[option["index"]], is_best=place == 0)
            for place, option in enumerate(options)
        ]
    return drawing(*parts)


def _option(option: Mapping[str, Any], defined: bool) -> list[Html]:
    """The bar of an option; below it, if any option was defined, its definitions."""
    row, found = [element("span", option["option"], class_="cf-name"), bar(option["score"])], option["definitions"]
    definitions = element("ul", *(element("li", one) for one in found)) if found else note("no definition was read")
    return [*row, definitions] if defined else row


def _looked_at(article: str, option: str, words: Sequence[Span], is_best: bool) -> Html:
    most = max((word.value for word in words), default=0.0)
    read = heat_map(article, words, f"Attention of “{option}” to the words of the article that were read", most)
    rows = [(article[word.start : word.end], (word.value,)) for word in words]
    numbers = details("All numbers", table(f"Attention of “{option}”", ["Word", "weight"], rows))
    return details(option, read, numbers, is_open=is_best)


def article_attentions(
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
    parameters = call_parameters(cloze, given)
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
