"""The `clozeformers` command: text read by a model, tables of results, ensembles, error analysis, export, WordNet."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

_CUE, _SCOPE = "cue", "scope"
_COLOURS = {_CUE: ("\x1b[1;31m", "\x1b[0m"), _SCOPE: ("\x1b[4;32m", "\x1b[0m")}
_BRACKETS = {_CUE: ("[", "]"), _SCOPE: ("{", "}")}
USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line without the command's own name; None for that of the process.

    Returns:
        The exit status: 0, or 2 after an error of the user's, which is told on stderr.
    """
    options = _parser().parse_args(arguments)
    try:
        for line in options.command(options):
            print(line)
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"clozeformers {options.name}: error: {error}", file=sys.stderr)
        return USER_ERROR
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clozeformers", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")
    results = commands.add_parser("results", help="print results files as one Markdown table")
    results.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results.json of a training script")
    results.set_defaults(command=_results)
    scope = commands.add_parser("scope", help="show the negation cues of a text and what they negate")
    scope.add_argument("texts", nargs="+", metavar="TEXT", help='a text; "-" for each line of the standard input')
    scope.add_argument("--model", required=True, help="a negation scope model: a folder or a name on the Hub")
    scope.add_argument("--json", action="store_true", help="one JSON object a text, in place of marked text")
    scope.set_defaults(command=_scope)
    answer = commands.add_parser("answer", help="answer a question from a text")
    answer.add_argument("question", metavar="QUESTION")
    answer.add_argument("context", metavar="TEXT", help='where the answer stands; "-" for the standard input')
    answer.add_argument("--model", required=True, nargs="+", help="a question answering model; several vote")
    answer.set_defaults(command=_answer)
    ensemble = commands.add_parser("ensemble", help="vote over predictions of several models, and score all")
    ensemble.add_argument("data", type=Path, metavar="DATA", help="the questions, a SQuAD file")
    ensemble.add_argument("predictions", type=Path, nargs="+", metavar="FILE", help="predictions, one file a model")
    ensemble.add_argument("--weights", type=float, nargs="+", help="one a model, such as its F1 on development data")
    ensemble.add_argument("--weighted", action="store_true", help="the sum of the weights decides, not the number")
    ensemble.add_argument("--output", type=Path, help="write the chosen answers here")
    ensemble.set_defaults(command=_ensemble)
    analyse = commands.add_parser("analyse", help="tables, charts and a report of what a model got right and wrong")
    analyse.add_argument("data", type=Path, metavar="DATA", help="the questions, a file of SQuAD or ReCAM")
    analyse.add_argument("predictions", type=Path, metavar="FILE", help="predictions of a model")
    analyse.add_argument("folder", type=Path, metavar="FOLDER", help="where to write")
    analyse.set_defaults(command=_analyse)
    curves = commands.add_parser("curves", help="training curves of several runs, as a chart and tables")
    curves.add_argument("measure", metavar="MEASURE", help="a name from the log: eval_f1, eval_accuracy")
    curves.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="output folders of a training script; seeds are averaged"
    )
    curves.add_argument("--output", type=Path, required=True, help="the folder to write to")
    curves.set_defaults(command=_curves)
    export = commands.add_parser("export", help="save a model with the code that it needs to load without this library")
    export.add_argument("model", metavar="MODEL", help="a model of this library: a folder or a name on the Hub")
    export.add_argument("folder", type=Path, metavar="FOLDER", help="where to save it")
    export.set_defaults(command=_export)
    wordnet = commands.add_parser("wordnet", help="install WordNet, or say where it is")
    actions = wordnet.add_subparsers(required=True, metavar="ACTION")
    install = actions.add_parser("install", help="copy the system's WordNet, or download it, unless it is there")
    install.add_argument("--folder", type=Path, help="a data folder, for CLOZEFORMERS_HOME or NLTK_DATA")
    install.set_defaults(command=_wordnet_install)
    status = actions.add_parser("status", help="say where WordNet is, and whether definitions can be looked up")
    status.set_defaults(command=_wordnet_status)
    return parser


# ------------------------------------------------------------------------------------------------------------ commands


def _results(options: argparse.Namespace) -> Iterator[str]:
    from .abstract_cloze import model_card as cloze_model_card
    from .negation_scope import model_card
    from .question_answering import model_card as qa_model_card

    writers = {
        model_card.TASK: model_card.results_table,
        qa_model_card.TASK: qa_model_card.qa_results_table,
        cloze_model_card.TASK: cloze_model_card.cloze_results_table,
    }
    by_task: dict[str, list[dict[str, Any]]] = {task: [] for task in writers}
    for path in options.files:
        record = _read_record(path)
        # The first results of negation scope did not name their task.
        task = record.get("task", model_card.TASK)
        if not isinstance(task, str) or task not in by_task:
            raise ValueError(f"{path} holds results of the task {task!r}; known are {', '.join(by_task)}")
        try:
            writers[task]([record])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is incomplete ({error!r}); give the results.json of a training script") from None
        by_task[task].append(record)
    yield "\n\n".join(writers[task](records) for task, records in by_task.items() if records)


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON file: {error}") from None
    if not isinstance(record, dict) or not {"model", "data", "scores", "environment"} <= record.keys():
        raise ValueError(f"{path} holds no results; give the results.json that a training script writes")
    return record


def _scope(options: argparse.Namespace) -> Iterator[str]:
    negation = _load_pipeline(options.model)
    colour = terminal_has_colour()
    for text in _texts(options.texts):
        found = negation(text)
        yield (
            json.dumps({"text": text, "cues": found}, ensure_ascii=False)
            if options.json
            else show_scopes(text, found, colour)
        )


def _texts(given: Iterable[str]) -> Iterator[str]:
    for text in given:
        if text == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        else:
            yield text


def _export(options: argparse.Namespace) -> Iterator[str]:
    from .hub import save_with_code

    save_with_code(_load_pipeline(options.model, None), options.folder)
    yield f"saved in {options.folder}; where clozeformers is not installed, load it with trust_remote_code=True"


def _answer(options: argparse.Namespace) -> Iterator[str]:
    from .pipelines.question_answering_ensemble import ExtractiveQuestionAnsweringEnsemble

    members = [_load_pipeline(model, "extractive-question-answering") for model in options.model]
    answer = members[0] if len(members) == 1 else ExtractiveQuestionAnsweringEnsemble(members)
    context = sys.stdin.read() if options.context == "-" else options.context
    yield json.dumps(answer(question=options.question, context=context), ensure_ascii=False)


def _ensemble(options: argparse.Namespace) -> Iterator[str]:
    from .metrics.squad import squad_scores
    from .question_answering.ensemble import ensemble_files, read_predictions
    from .question_answering.squad import load_squad

    rows = load_squad(options.data)
    references = {row_id: answers["text"] for row_id, answers in zip(rows["id"], rows["answers"], strict=True)}
    chosen = ensemble_files(options.predictions, options.weights, options.weighted)
    table = ["| answers | EM | F1 |", "| --- | ---: | ---: |"]
    named = [(str(path), read_predictions(path)) for path in options.predictions]
    for name, answers in [*named, ("weighted vote" if options.weighted else "vote", chosen)]:
        scores = squad_scores(answers, references)
        table.append(f"| {name} | {scores['exact_match']:.2f} | {scores['f1']:.2f} |")
    if options.output is not None:
        options.output.write_text(json.dumps(chosen, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    yield from table


def _analyse(options: argparse.Namespace) -> Iterator[str]:
    from .analysis import analyse_files

    yield analyse_files(options.data, options.predictions, options.folder).to_markdown()


def _curves(options: argparse.Namespace) -> Iterator[str]:
    from .analysis import training_curves, write_training_curves
    from .analysis.curves import run_names

    names = run_names(options.runs)
    curves = training_curves(dict(zip(names, options.runs, strict=True)), options.measure)
    write_training_curves(curves, options.output)
    yield curves.to_markdown()


def _wordnet_install(options: argparse.Namespace) -> Iterator[str]:
    from .abstract_cloze.wordnet_install import install

    yield install(options.folder).done


def _wordnet_status(options: argparse.Namespace) -> Iterator[str]:
    from .abstract_cloze.part_of_speech import get_tagger
    from .abstract_cloze.wordnet import find_wordnet

    wordnet = find_wordnet()
    get_tagger()
    yield f"WordNet is in {wordnet.place}: {sum(1 for _ in wordnet.reader.all_lemma_names()):,} words"


def _load_pipeline(model: str, task: str | None = "negation-scope") -> Any:
    """Load a pipeline; without a task, the one that suits the model."""
    import transformers

    if (Path(model).is_absolute() or model.startswith(".")) and not Path(model).is_dir():
        raise FileNotFoundError(f"there is no folder {model}; give a saved model's folder, or owner/name on the Hub")
    # Only results and errors are of interest here, not the progress of loading.
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Without a plain no, transformers asks on the standard input, where the texts may come from.
    if task is None:
        config = transformers.AutoConfig.from_pretrained(model, trust_remote_code=False)
        task = getattr(config, "pipeline_task", "negation-scope")
    return transformers.pipeline(task, model=model, trust_remote_code=False)


# ------------------------------------------------------------------------------------------------------------- drawing


def terminal_has_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream (the standard output) is a terminal that shows colours, and NO_COLOR does not forbid them."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_scopes(text: str, results: Sequence[Mapping[str, Any]], colour: bool) -> str:
    """Draw a text once for each of its cues, with cue and scope marked.

    Args:
        text: what the pipeline was given.
        results: what `pipeline("negation-scope")` returned for it.
        colour: mark the cue bold red and the scope green and underlined; without, ``[cue]`` and ``{scope}``.

    Returns:
        One line a cue; the text as it is, on one line, where there is none. A character in both is shown as the cue's.
    """
    marks = _COLOURS if colour else _BRACKETS
    # Line breaks would break "one line a cue", and other control characters could steer the terminal.
    shown = "".join(character if character.isprintable() else " " for character in text)
    return "\n".join(_draw(shown, result, marks) for result in results) if results else shown


def _draw(text: str, result: Mapping[str, Any], marks: Mapping[str, tuple[str, str]]) -> str:
    kinds: list[str | None] = [None] * len(text)
    for kind, spans in ((_SCOPE, result["scope"]), (_CUE, result["cue"].get("parts", [result["cue"]]))):
        for span in spans:
            kinds[span["start"] : span["end"]] = [kind] * (span["end"] - span["start"])
    drawn = []
    for key, group in groupby(range(len(text)), key=kinds.__getitem__):
        before, after = marks[key] if key else ("", "")
        drawn.append(before + "".join(text[place] for place in group) + after)
    return "".join(drawn)


if __name__ == "__main__":
    sys.exit(main())
