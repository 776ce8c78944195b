"""A baseline without a neural network: logistic regression over n-gram and co-occurrence features of the options.

Counts come from the articles and the filled-in questions of the training rows. They leave out the document of the
question itself, or the regression would learn from counts that no other question has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from datasets import Dataset

from .questions import PLACEHOLDER

FEATURES = (
    *("unigram", "word before", "word after", "two words before", "words around", "two words after"),
    *("mean PMI nearby", "best PMI nearby", "mean PMI with the question", "best PMI with the question"),
    *("mean PMI with the article", "best PMI with the article", "length", "stem in the article", "in the article"),
)
_WINDOW, _BEST, _STEM = 5, 5, 5
_PRIOR = 0.1  # added to observed and expected counts of pairs, so that rare words that never meet say nothing
_SMOOTHING = 5.0  # occurrences that an n-gram borrows from its words
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_EDGE = "\n"  # stands before and after a text
_COMMON = 0.2  # words of more than this part of the documents say nothing about the topic


def tokens(text: str) -> list[str]:
    """Words and punctuation marks in lower case."""
    return [token.lower() for token in _TOKEN.findall(text)]


def _events(texts: Iterable[list[str]], words: frozenset[str]) -> Counter[tuple[str, ...]]:
    """Count single words, n-grams around the given words, and pairs of such a word with one within the window."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        padded = [_EDGE, _EDGE, *text, _EDGE, _EDGE]
        counts.update((token,) for token in padded)
        counts.update(pairwise(padded))
        for place, token in enumerate(text, start=2):
            if token in words:
                left2, left, _, right, right2 = padded[place - 2 : place + 3]
                counts[left2, left, token, "<"] += 1
                counts[left, token, right, "^"] += 1
                counts[token, right, right2, ">"] += 1
                nearby = padded[max(place - _WINDOW, 2) : place] + text[place - 1 : place - 1 + _WINDOW]
                counts.update((token, other, "~", "~", "~") for other in nearby)
    return counts


@dataclass(frozen=True)
class _Document:
    """An article with the filled-in questions about it."""

    texts: list[list[str]]

    @property
    def words(self) -> set[str]:
        return set(chain.from_iterable(self.texts))


class NGramRegression:
    """Conditional logistic regression over `FEATURES`.

    Args:
        rows: labelled questions to count in and to learn from.
        others: questions whose options are scored later; only their options are read.
    """

    def __init__(self, rows: Dataset, others: Iterable[Dataset] = ()) -> None:
        options = chain.from_iterable(chain.from_iterable(part["options"] for part in (rows, *others)))
        self.words = frozenset(token for option in options for token in tokens(option))
        self.documents = _documents(rows)
        self.counts = _events(chain.from_iterable(each.texts for each in self.documents.values()), self.words)
        self.total = sum(count for key, count in self.counts.items() if len(key) == 1)
        self.numbers: dict[str, int] = {}
        vocabularies = [each.words for each in self.documents.values()]
        for word in chain.from_iterable(vocabularies):
            self.numbers.setdefault(word, len(self.numbers))
        self.occurs = np.zeros((len(self.numbers), len(vocabularies)), dtype=bool)
        for number, words in enumerate(vocabularies):
            self.occurs[[self.numbers[word] for word in words], number] = True
        self.places = {article: number for number, article in enumerate(self.documents)}
        features, labels = self.features(rows), rows["label"]
        stacked = np.concatenate(features)
        self.mean, self.scale = stacked.mean(0), stacked.std(0) + 1e-9
        self.weights = _fit([(each - self.mean) / self.scale for each in features], labels)

    def scores(self, rows: Dataset) -> list[np.ndarray]:
        """The scores ``[C]`` of the options of each question; their softmax is their probability."""
        return [(each - self.mean) / self.scale @ self.weights for each in self.features(rows)]

    def features(self, rows: Dataset) -> list[np.ndarray]:
        """The features ``[C, 15]`` of the options of each question."""
        columns = (rows["article"], rows["question"], rows["options"])
        return [self._features(article, *each) for article, *each in zip(*columns, strict=True)]

    def _features(self, article: str, question: str, options: Sequence[str]) -> np.ndarray:
        own = self.documents.get(article)
        own_counts = _events(own.texts if own else (), self.words)
        before, _, after = question.partition(PLACEHOLDER)
        left, right = [_EDGE, _EDGE, *tokens(before)], [*tokens(after), _EDGE, _EDGE]
        nearby = [token for token in left[-_WINDOW:] + right[:_WINDOW] if token[0].isalnum()]
        of_article = set(tokens(article))
        candidates = [tokens(option) or [""] for option in options]

        def count(*key: str) -> int:
            return self.counts[key] - own_counts[key]

        def association(joint: float, one: str) -> float:
            """Log P(one, context) / P(one) P(context), given P(one | context)."""
            return float(np.log(joint * self.total / (count(one) + 1)))

        def ngram(one: str, context: int, *key: str) -> float:
            prior = (count(one) + 1) / self.total
            return association((count(*key) + _SMOOTHING * prior) / (context + _SMOOTHING), one)

        local = []
        for words in candidates:
            first, last = words[0], words[-1]
            near = [
                _pmi(count(last, other, "~", "~", "~"), 2 * _WINDOW * count(last) * count(other) / self.total)
                for other in nearby
            ] or [0.0]
            local.append(
                [
                    float(np.log(count(last) + 1)),
                    ngram(first, count(left[-1]), left[-1], first),
                    ngram(last, count(right[0]), last, right[0]),
                    ngram(first, count(left[-2], left[-1]), left[-2], left[-1], first, "<"),
                    ngram(last, count(left[-1]), left[-1], last, right[0], "^"),
                    ngram(last, count(right[0], right[1]), last, right[0], right[1], ">"),
                    float(np.mean(near)),
                    float(np.max(near)),
                ]
            )
        lasts = [words[-1] for words in candidates]
        topical = [self._document_pmi(lasts, set(words), article) for words in (tokens(before + after), of_article)]
        surface = [
            [
                len(option),
                float(
                    any(word[: max(_STEM, len(last) - 3)] == last[: max(_STEM, len(last) - 3)] for word in of_article)
                ),
                float(last in of_article),
            ]
            for option, last in zip(options, lasts, strict=True)
        ]
        return np.concatenate([np.array(local), *topical, np.array(surface)], axis=1)

    def _document_pmi(self, words: Sequence[str], context: set[str], article: str) -> np.ndarray:
        """Mean and mean of the best PMI over documents, ``[C, 2]``, of words with those of a context."""
        total = self.occurs.shape[1]
        own = self.places.get(article)

        def rows_of(wanted: Sequence[str]) -> np.ndarray:
            found = np.zeros((len(wanted), total), dtype=np.float32)
            for number, word in enumerate(wanted):
                if word in self.numbers:
                    found[number] = self.occurs[self.numbers[word]]
            if own is not None:
                found[:, own] = 0
            return found

        others = rows_of(sorted(word for word in context if word in self.numbers and word[0].isalpha()))
        frequency = others.sum(1)
        kept = (frequency > 0) & (frequency <= _COMMON * total)
        others, frequency = others[kept], frequency[kept]
        if not len(others):
            return np.zeros((len(words), 2))
        targets = rows_of(words)
        pmi = _pmi(targets @ others.T, targets.sum(1)[:, None] * frequency / total)
        best = np.sort(pmi, axis=1)[:, -_BEST:]
        return np.stack([pmi.mean(1), best.mean(1)], axis=1)


def _pmi(observed: Any, expected: Any) -> Any:
    """Pointwise mutual information of pairs, from the counts that are observed and those that chance would give."""
    return np.log((observed + _PRIOR) / (expected + _PRIOR))


def _documents(rows: Dataset) -> dict[str, _Document]:
    documents: dict[str, _Document] = {}
    columns = (rows["article"], rows["question"], rows["options"], rows["label"])
    for article, question, options, label in zip(*columns, strict=True):
        document = documents.setdefault(article, _Document([tokens(article)]))
        document.texts.append(tokens(question.replace(PLACEHOLDER, options[label])))
    return documents


def _fit(questions: Sequence[np.ndarray], labels: Sequence[int], penalty: float = 1.0, steps: int = 25) -> np.ndarray:
    """Weights of a conditional logistic regression, by Newton's method with an L2 penalty."""
    weights = np.zeros(questions[0].shape[1])
    for _ in range(steps):
        gradient, hessian = -penalty * weights, penalty * np.eye(len(weights))
        for features, label in zip(questions, labels, strict=True):
            odds = np.exp(features @ weights - (features @ weights).max())
            chances = odds / odds.sum()
            mean = chances @ features
            gradient += features[label] - mean
            hessian += (features * chances[:, None]).T @ features - np.outer(mean, mean)
        change = np.linalg.solve(hessian, gradient)
        weights = weights + change
        if np.abs(change).max() < 1e-6:
            break
    return weights
