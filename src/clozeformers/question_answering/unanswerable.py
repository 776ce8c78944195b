"""Unanswerable questions made from answerable ones: a question beside another paragraph of its article."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from datasets import Dataset

from .squad import SQUAD_FEATURES, check_squad_columns, normalize_answer

logger = logging.getLogger(__name__)

ID_ENDING = "-unanswerable"


def pair_unanswerable(rows: Dataset, fraction: float, seed: int) -> Dataset:
    """Pair questions with other paragraphs of their articles, in which none of their answers stands.

    What says that a paragraph does not answer a question is its text: as the scores normalise answers, it must not hold
    any of the question's answers. A paragraph that answers in other words is not noticed.

    Args:
        rows: questions with the columns of SQuAD; articles are told apart by ``title``.
        fraction: how many to make, as a share of the answerable questions of ``rows``; above 0, at most 1.
        seed: decides which questions and paragraphs are taken; the same seed gives the same rows.

    Returns:
        The rows that were made, and they alone, in the order of the questions in ``rows``: ``context`` is the other
        paragraph, ``answers`` is empty, and ``-unanswerable`` is added to ``id``. A question whose id stands several
        times is paired once, and one that was paired before is left out. Where too few can be made, a warning says
        how many are missing.

    Raises:
        ValueError: ``fraction`` is out of its range, or columns are missing.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction is {fraction}; it must be above 0 and at most 1, a share of the questions")
    check_squad_columns(rows, "rows")
    generator = random.Random(seed)
    ids, titles, contexts = rows["id"][:], rows["title"][:], rows["context"][:]
    answers = [one["text"] for one in rows["answers"]]
    paragraphs = _paragraphs(titles, contexts)
    wanted = round(fraction * sum(map(bool, answers)))
    taken = set(ids)
    questions = [number for number, texts in enumerate(answers) if texts]
    generator.shuffle(questions)
    chosen: dict[int, str] = {}
    for number in questions:
        new_id = ids[number] + ID_ENDING
        if len(chosen) == wanted or new_id in taken:
            continue
        context = _other_paragraph(paragraphs[titles[number]], contexts[number], answers[number], generator)
        if context is not None:
            taken.add(new_id)
            chosen[number] = context
    if len(chosen) < wanted:
        logger.warning(
            "%d of %d unanswerable questions could not be made: no other paragraph of the same article is without the "
            "answers, or the question is paired already",
            wanted - len(chosen),
            wanted,
        )
    numbers = sorted(chosen)
    made = {
        "id": [ids[number] + ID_ENDING for number in numbers],
        "title": [titles[number] for number in numbers],
        "context": [chosen[number] for number in numbers],
        "question": rows.select(numbers)["question"][:],
        "answers": [{"text": [], "answer_start": []} for _ in numbers],
    }
    return Dataset.from_dict(made, features=SQUAD_FEATURES)


def _paragraphs(titles: Sequence[str], contexts: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Collect the paragraphs of each article, each once, as it is and normalised."""
    articles: dict[str, dict[str, None]] = {}
    for title, context in zip(titles, contexts, strict=True):
        articles.setdefault(title, {})[context] = None
    return {title: [(text, normalize_answer(text)) for text in article] for title, article in articles.items()}


def _other_paragraph(
    paragraphs: Sequence[tuple[str, str]], own: str, answers: Sequence[str], generator: random.Random
) -> str | None:
    """Look for a paragraph without the answers, from a random one on; None if there is none."""
    normalized = {normalize_answer(answer) for answer in answers}
    first = generator.randrange(len(paragraphs))
    for context, text in (*paragraphs[first:], *paragraphs[:first]):
        if context != own and not any(answer in text for answer in normalized):
            return context
    return None
