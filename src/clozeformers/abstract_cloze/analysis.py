"""Error analysis of abstract cloze: accuracy by type of question, options and article.

Source: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4", section 4.2: similar options, and words of the article.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis.report import Analysis, Record, Span, check_question_ids, write_analysis
from ..analysis.tables import Table, cut_ranges, distribution_table, group_table
from ..files import read_json_object
from ..rows import read_rows
from ..text import truncate_repr
from .questions import ClozeQuestion
from .recam import load_recam
from .wordnet import DefinitionLookup, WordNet, written_forms

NOT_IN_WORDNET = "not in WordNet"
PARTS_OF_SPEECH = ("noun", "verb", "adjective", "adverb", NOT_IN_WORDNET)
# Whether the article has the right option, and whether it has a wrong one -> name of the group.
IN_ARTICLE = {
    (True, False): "the right one only",
    (True, True): "right and wrong ones",
    (False, True): "wrong ones only",
    (False, False): "none",
}
# Upper bound -> label. Words that WordNet does not connect are infinitely many steps apart.
ARTICLE_LENGTHS = {100: "up to 100", 200: "101–200", 300: "201–300", 500: "301–500", math.inf: "more than 500"}
STEPS = {0: "0 (synonyms)", 1: "1", 2: "2", 4: "3–4", 8: "5–8", 1e6: "9 or more", math.inf: "not connected"}


def is_data_file(path: str | Path) -> bool:
    """Whether a file is in the format of ReCAM, by its first row."""
    try:
        _, values = next(read_rows(path), (0, {}))
    except ValueError:
        return False
    return "option_0" in values or "options" in values


def analyze_files(data_path: str | Path, predictions_path: str | Path, output_dir: str | Path) -> Analysis:
    """Analyze a predictions file, and write tables, charts and a report; see `write_analysis`.

    Args:
        data_path: the questions, in the format of ReCAM.
        predictions_path: a JSON object, question id -> number of the chosen option. A file ``probabilities_<...>.json``
            beside ``predictions_<...>.json`` gives the probabilities of the options.
        output_dir: the folder to write to.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: a file is damaged, or the files do not belong together. Nothing is written.
    """
    rows, predictions_path = load_recam(data_path), Path(predictions_path)
    predictions = read_json_object(predictions_path, "give the predictions that training wrote")
    probabilities_path = predictions_path.with_name(predictions_path.name.replace("predictions", "probabilities", 1))
    probabilities = {}
    if probabilities_path != predictions_path and probabilities_path.is_file():
        probabilities = read_json_object(probabilities_path, "without this file, the report shows no probabilities")
    lookup, remark = None, ""
    try:
        lookup = DefinitionLookup()
    except (FileNotFoundError, ImportError) as error:
        remark = f"There are no tables by part of speech and by closeness in WordNet: {error}"
    analysis = analyze(rows, predictions, probabilities, lookup, remark)
    write_analysis(analysis, output_dir)
    return analysis


def analyze(
    rows: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, int],
    probabilities: Mapping[str, Sequence[float]] | None = None,
    lookup: DefinitionLookup | None = None,
    remark: str = "",
) -> Analysis:
    """Score every labeled question, and average the accuracy over groups of questions.

    Args:
        rows: questions with the columns of `load_recam`.
        predictions: question id -> number of the chosen option. A question without one counts as wrong.
        probabilities: question id -> one number an option, for the report.
        lookup: looks the options up; None leaves out the tables of WordNet.
        remark: appended to the summary.

    Raises:
        ValueError: no row has a label, a prediction is for an unknown question or not the number of an option, or
            there is not one probability an option.
    """
    questions: dict[str, Any] = {row["id"]: row for row in rows}
    probabilities = probabilities or {}
    check_question_ids(predictions, questions)
    _check_options(predictions, probabilities, questions)
    labeled = {question: row for question, row in questions.items() if row["label"] >= 0}
    if not labeled:
        raise ValueError("no question has a label; give rows with the number of the right option")
    steps = WordNetSteps(lookup.wordnet) if lookup else None
    records = [
        _record(row, predictions.get(question), probabilities.get(question), lookup, steps)
        for question, row in labeled.items()
    ]
    accuracy = 100 * sum(record.values["outcome"] == "right" for record in records) / len(records)
    baselines = _baselines(labeled.values())
    missing, unlabeled = len(labeled.keys() - predictions.keys()), len(questions) - len(labeled)
    listed = "; ".join(f"{name}: {value:.2f}" for name, value in baselines.items())
    summary = f"{len(records):,} questions: accuracy {accuracy:.2f} (percent). Baselines: {listed}. "
    if missing:
        summary += f"{missing:,} of them have no prediction and count as wrong. "
    if unlabeled:
        summary += f"{unlabeled:,} more questions have no label and are left out. "
    scores = {"questions": len(records), "missing": missing, "unlabeled": unlabeled, "accuracy": accuracy}
    return Analysis(
        (summary + remark).strip(),
        {**scores, "baselines": baselines},
        records,
        _tables(records, with_wordnet=lookup is not None),
        Path(__file__).with_name("cloze_report.html"),
        {"part_of_speech": PARTS_OF_SPEECH, "outcome": ("right", "wrong")},
    )


def _check_options(
    predictions: Mapping[str, Any], probabilities: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]
) -> None:
    for question, option in predictions.items():
        count = len(questions[question]["options"])
        if type(option) is not int or not 0 <= option < count:
            raise ValueError(
                f"the prediction for {question!r} is {option!r}; it must be the number of an option, 0 to {count - 1}"
            )
        values = probabilities.get(question)
        if values is None:
            continue
        if not isinstance(values, list) or len(values) != count or not all(type(one) in (int, float) for one in values):
            raise ValueError(
                f"the probabilities of {question!r} are {truncate_repr(values)}; they must be {count} numbers"
            )


def _record(
    row: Mapping[str, Any],
    prediction: int | None,
    probabilities: Sequence[float] | None,
    lookup: DefinitionLookup | None,
    steps: WordNetSteps | None,
) -> Record:
    asked, label = ClozeQuestion(row["article"], row["question"], tuple(row["options"])), row["label"]
    spans = [_occurrences(option, row["article"]) for option in asked.words]
    found = {number for number, own in enumerate(spans) if own}
    part_of_speech, distances = None, None
    if lookup and steps:
        glosses = lookup.glosses(asked.words[label], asked.sentences[label], asked.start)
        part_of_speech = glosses.part_of_speech or NOT_IN_WORDNET
        distances = [steps.between(asked.words[label], option) for option in asked.words]
    return Record(
        id=row["id"],
        question=row["question"],
        text=row["article"],
        gold=spans[label],
        predicted=[] if prediction is None else spans[prediction],
        quality=(prediction == label, probabilities[label] if probabilities else 0.0),
        values={
            "outcome": "right" if prediction == label else "wrong",
            "label": label,
            "prediction": prediction,
            "probabilities": probabilities,
            "options_in_article": IN_ARTICLE[label in found, bool(found - {label})],
            "article_length": len(row["article"].split()),
            "part_of_speech": part_of_speech,
            "steps": distances,
        },
        details={"options": asked.words},
    )


def _occurrences(option: str, article: str) -> list[Span]:
    """Find an option in an article, as a whole word, in any case."""
    return [found.span() for found in re.finditer(rf"(?<!\w){re.escape(option)}(?!\w)", article, re.IGNORECASE)]


def _baselines(rows: Collection[Mapping[str, Any]]) -> dict[str, float]:
    """Return the accuracy, in percent, of a random option and of a longest one."""
    chance, longest = 0.0, 0.0
    for row in rows:
        lengths = [len(option.strip()) for option in row["options"]]
        chance += 1 / len(lengths)
        longest += (lengths[row["label"]] == max(lengths)) / lengths.count(max(lengths))
    return {"any option": 100 * chance / len(rows), "longest option": 100 * longest / len(rows)}


def _tables(records: Sequence[Record], with_wordnet: bool) -> list[Table]:
    from pandas import Categorical, DataFrame

    values = DataFrame([record.values for record in records])
    frame = DataFrame(
        {
            "options in the article": Categorical(values["options_in_article"], IN_ARTICLE.values()),
            "article length in words": cut_ranges(values["article_length"], ARTICLE_LENGTHS),
            "accuracy": (values["outcome"] == "right").astype(float),
        }
    )
    tables = [group_table(frame, column, ["accuracy"]) for column in frame.columns[:2]]
    if with_wordnet:
        wrong = []
        for record in records:
            steps = [math.inf if count is None else count for count in record.values["steps"]]
            wrong.append({number: count for number, count in enumerate(steps) if number != record.values["label"]})
        every = [count for steps in wrong for count in steps.values()]
        chosen = [steps[number] for steps, number in zip(wrong, values["prediction"], strict=True) if number in steps]
        frame["part of speech"] = Categorical(values["part_of_speech"], PARTS_OF_SPEECH)
        closest = "WordNet steps to the closest wrong option"
        frame[closest] = cut_ranges([min(steps.values()) for steps in wrong], STEPS)
        tables += [group_table(frame, column, ["accuracy"]) for column in frame.columns[-2:]]
        series = {"wrong options": cut_ranges(every, STEPS), "chosen wrong options": cut_ranges(chosen, STEPS)}
        tables.append(distribution_table("distribution of WordNet steps from the right option", "steps", series))
    return tables


class WordNetSteps:
    """Counts the steps between words.

    A step leads from a synset to a hypernym, or from a satellite adjective to the head of its cluster. The distance of
    two words is the smallest sum of the steps from a synset of each to a common one, 0 for synonyms. For nouns, NLTK's
    path similarity is ``1 / (1 + steps)``; for adjectives it knows no steps, and for verbs it adds a common root.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self._ancestors: dict[str, dict[tuple[str, int], int]] = {}

    def between(self, first: str, second: str) -> int | None:
        """Return the steps between two words; None if they are not connected, or one is not in WordNet."""
        above, other = self._find_ancestors(first), self._find_ancestors(second)
        return min((steps + other[key] for key, steps in above.items() if key in other), default=None)

    def _find_ancestors(self, word: str) -> dict[tuple[str, int], int]:
        """Search breadth-first for the synsets of a word and those above them, with the fewest steps to each."""
        if word not in self._ancestors:
            found: dict[tuple[str, int], int] = {}
            with self._wordnet.reading(word):
                level: list[Any] = next(filter(None, map(self._wordnet.reader.synsets, written_forms(word))), [])
                steps = 0
                while level:
                    new = {_key(synset): synset for synset in level if _key(synset) not in found}
                    found |= dict.fromkeys(new, steps)
                    level, steps = [parent for synset in new.values() for parent in _parents(synset)], steps + 1
            self._ancestors[word] = found
        return self._ancestors[word]


def _key(synset: Any) -> tuple[str, int]:
    return synset.pos().replace("s", "a"), synset.offset()


def _parents(synset: Any) -> list[Any]:
    if synset.pos() == "s":  # a satellite adjective
        return [head for head in synset.similar_tos() if head.pos() != "s"]
    return [*synset.hypernyms(), *synset.instance_hypernyms()]
