"""Unanswerable questions for training: a question paired with another paragraph of the same article."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from datasets import Dataset

from ..metrics.squad import normalize_answer
from .squad import SQUAD_FEATURES

logger = logging.getLogger(__name__)

ID_SUFFIX = "-unanswerable"


def pair_unanswerable(rows: Dataset, unanswerable_fraction: float, seed: int) -> Dataset:
    """Pair questions with paragraphs of their article that contain none of their answers.

    Texts are compared as the metric normalizes them. A paragraph that gives the answer in other words is not detected.

    Args:
        rows: questions with the columns of SQuAD; an article is identified by ``title``.
        unanswerable_fraction: number of questions to pair, as a fraction of the answerable ones, in (0, 1].
        seed: seed of the choice of questions and paragraphs.

    Returns:
        The new rows only, in the order of their questions: ``context`` is the other paragraph, ``answers`` is empty and
        ``id`` ends in ``-unanswerable``. Fewer, with a warning, if too few questions can be paired.

    Raises:
        ValueError: the fraction is out of range.
    """
    if not 0 < unanswerable_fraction <= 1:
        raise ValueError(f"unanswerable_fraction is {unanswerable_fraction}; it must be above 0 and at most 1")
    generator = random.Random(seed)
    ids, titles, contexts = rows["id"][:], rows["title"][:], rows["context"][:]
    answers = [one["text"] for one in rows["answers"]]
    normalized = {context: normalize_answer(context) for context in dict.fromkeys(contexts)}
    articles: dict[str, dict[str, str]] = {}
    for title, context in zip(titles, contexts, strict=True):
        articles.setdefault(title, {})[context] = normalized[context]
    questions = [number for number, texts in enumerate(answers) if texts]
    wanted = round(unanswerable_fraction * len(questions))
    generator.shuffle(questions)
    used_ids = set(ids)
    paired: dict[int, str] = {}
    for number in questions:
        new_id = ids[number] + ID_SUFFIX
        if len(paired) == wanted or new_id in used_ids:
            continue
        paragraphs = list(articles[titles[number]].items())
        context = _other_paragraph(paragraphs, contexts[number], answers[number], generator)
        if context is not None:
            used_ids.add(new_id)
            paired[number] = context
    if len(paired) < wanted:
        logger.warning(
            "%d of %d unanswerable questions cannot be made: all paragraphs contain an answer, or they exist already",
            wanted - len(paired),
            wanted,
        )
    no_answers: dict[str, list[str]] = {"text": [], "answer_start": []}
    originals = rows.select_columns(list(SQUAD_FEATURES))
    new = [
        {**originals[number], "id": ids[number] + ID_SUFFIX, "context": paired[number], "answers": no_answers}
        for number in sorted(paired)
    ]
    return Dataset.from_dict({name: [row[name] for row in new] for name in SQUAD_FEATURES}, features=SQUAD_FEATURES)


def _other_paragraph(
    paragraphs: Sequence[tuple[str, str]], own: str, answers: Sequence[str], generator: random.Random
) -> str | None:
    """Return the first suitable (context, normalized context) from a random one on, or None."""
    normalized = {normalize_answer(answer) for answer in answers}
    first = generator.randrange(len(paragraphs))
    for context, text in (*paragraphs[first:], *paragraphs[:first]):
        if context != own and not any(answer in text for answer in normalized):
            return context
    return None
