"""Commands that run a model on text: scope, answer, cloze."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence

import click

from ..drawings.terminal import terminal_has_colour, to_text
from ..files import STDIN, decode_lines, decode_text
from .app import app
from .loading import MODEL_HELP, load_pipeline


@app.command()
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@click.option("--model", help=MODEL_HELP)
@click.option("--convention", help="cd-sco, bioscope or sfu, if the model knows several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a text.")
def scope(texts: Sequence[str], model: str | None, convention: str | None, as_json: bool) -> None:
    """Show the negation cues of texts, and their scopes.

    TEXT "-" stands for the lines of the standard input.
    """
    from ..negation_scope.drawing import scope_lines

    negation = load_pipeline(model, "negation-scope")
    colour = terminal_has_colour()
    for text in _lines(texts):
        if os.path.splitext(text)[1] and os.path.isfile(text):  # no error where a text is too long for a name
            raise ValueError(f"{text} is a file; read it by: clozeformers predict negation-scope {text} FOLDER")
        cues = negation(text, convention=convention)
        if as_json:
            print(json.dumps({"text": text, "cues": cues}, ensure_ascii=False), flush=True)
        else:
            print(to_text(scope_lines(text, cues), colour), flush=True)


@app.command()
@click.argument("question")
@click.argument("context", metavar="TEXT")
@click.option("--model", "models", multiple=True, help=f"{MODEL_HELP}; several vote.")
def answer(question: str, context: str, models: Sequence[str]) -> None:
    """Answer a question from a text.

    TEXT "-" stands for the standard input.
    """
    from ..pipelines.question_answering_ensemble import ExtractiveQuestionAnsweringEnsemble

    names: Sequence[str | None] = models or [None]
    members = [load_pipeline(name, "extractive-question-answering") for name in names]
    reader = members[0] if len(members) == 1 else ExtractiveQuestionAnsweringEnsemble(members)
    print(json.dumps(reader(question=question, context=_whole(context)), ensure_ascii=False))


@app.command()
@click.argument("question")
@click.argument("article")
@click.argument("options", metavar="OPTION...", nargs=-1, required=True)
@click.option("--model", help="A folder or a name on the Hub; there is none in the package.")
def cloze(question: str, article: str, options: Sequence[str], model: str | None) -> None:
    """Rank words for the gap in a summary of an article, best first.

    The gap in QUESTION is written as @placeholder; ARTICLE "-" stands for the standard input.
    """
    fill = load_pipeline(model, "abstract-cloze")
    for choice in fill({"article": _whole(article), "question": question, "options": list(options)}):
        print(json.dumps(choice, ensure_ascii=False))


def _lines(given: Sequence[str]) -> Iterator[str]:
    for text in given:
        if text == "-":
            yield from (line for _, line in decode_lines(STDIN, sys.stdin.buffer))
        else:
            yield text


def _whole(given: str) -> str:
    return decode_text(STDIN, sys.stdin.buffer.read()) if given == "-" else given
