"""The scores of SQuAD 1.1 and 2.0, compared with an independent computation."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Mapping, Sequence

import pytest

from clozeformers.metrics import Squad
from clozeformers.metrics.squad import exact_match, normalize_answer, squad_scores, token_f1

PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
WORDS = (
    "a an the A An THE an's the- _the_ a. (an) ana then theorem áthe a\u0301 Rhine rhine river 42 1,000 $5 7th O'Neill "
    "U.S. naïve NAÏVE Ärger ß İ ﬁ 北京 the北京 — – “the” ’s … ٣ ² 🙂 a🙂the \u200b - ..."
)
PARTS = [*WORDS.split(" "), "the 北京", " ", "  ", "\t", "\n", "\u00a0", "\u2009", "\u3000", "\x1f", "", ""]


def oracle_words(text: str) -> list[str]:
    """Find the words of a normalized answer by walking over its characters."""
    kept = [character for character in text.lower() if character not in PUNCTUATION]
    words = [""]
    for is_word, run in itertools.groupby(kept, key=str.isalnum):
        piece = "".join(run)
        if is_word and piece in {"a", "an", "the"}:
            words.append("")
        elif is_word:
            words[-1] += piece
        else:
            for character in piece:
                if character.isspace():
                    words.append("")
                else:
                    words[-1] += character
    return [word for word in words if word]


def oracle_f1(prediction: str, reference: str, version_2: bool) -> float:
    predicted, gold = oracle_words(prediction), oracle_words(reference)
    if version_2 and not predicted and not gold:
        return 1
    left, shared = list(gold), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0
    precision, recall = shared / len(predicted), shared / len(gold)
    return (2 * precision * recall) / (precision + recall)


def random_text(generator: random.Random, longest: int = 5) -> str:
    separator = generator.choice([" ", " ", " ", ""])
    return separator.join(generator.choice(PARTS) for _ in range(generator.randint(0, longest)))


def random_pair(generator: random.Random) -> tuple[str, str]:
    """Two texts, often similar: shuffled, in another case, or with one more part."""
    words = [generator.choice(PARTS) for _ in range(generator.randint(0, 5))]
    other = generator.sample(words, len(words)) if generator.random() < 0.5 else list(words)
    if generator.random() < 0.5:
        other.insert(generator.randint(0, len(other)), generator.choice(PARTS))
    text = " ".join(other)
    return " ".join(words), generator.choice([text, text.upper(), text.title(), random_text(generator)])


def test_random_pairs_equal_an_independent_computation():
    generator = random.Random(20)
    counts = {"same": 0, "part": 0, "empty": 0}
    for _ in range(2_000):
        prediction, reference = random_pair(generator)
        predicted, gold = oracle_words(prediction), oracle_words(reference)
        assert normalize_answer(prediction) == " ".join(predicted), ascii(prediction)
        assert exact_match(prediction, reference) is (predicted == gold), ascii((prediction, reference))
        for version_2 in (False, True):
            f1 = token_f1(prediction, reference, version_2=version_2)
            expected = oracle_f1(prediction, reference, version_2)
            assert (f1, type(f1)) == (expected, type(expected)), ascii((prediction, reference))
        counts["same"] += predicted == gold
        counts["part"] += 0 < f1 < 1
        counts["empty"] += not predicted or not gold
    assert min(counts.values()) > 100, counts


def test_normalization():
    texts = ["The  Rhine, a river.", "an-the", "a-n", "the北京"]
    assert [normalize_answer(text) for text in texts] == ["rhine river", "anthe", "", "the北京"]


def oracle_version_1(predictions: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    exact = f1 = 0.0
    for question, texts in references.items():
        if question in predictions:
            exact += any(oracle_words(predictions[question]) == oracle_words(text) for text in texts)
            f1 += max(oracle_f1(predictions[question], text, False) for text in texts)
    total = len(references)
    return {"exact_match": 100.0 * exact / total, "f1": 100.0 * f1 / total, "total": total}


def oracle_version_2(
    predictions: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    probabilities: Mapping[str, float] | None,
    threshold: float,
) -> dict[str, float]:
    raw = []
    for question, texts in references.items():
        gold = [text for text in texts if oracle_words(text)] or [""]
        exact = int(any(oracle_words(predictions[question]) == oracle_words(text) for text in gold))
        raw.append((question, bool(texts), exact, max(oracle_f1(predictions[question], text, True) for text in gold)))

    def silent(question: str) -> bool:
        return probabilities is not None and probabilities[question] > threshold

    rows = [
        (question, has, float(not has), float(not has)) if silent(question) else (question, has, exact, f1)
        for question, has, exact, f1 in raw
    ]
    report: dict[str, float] = {}
    has_answer, has_none = [row for row in rows if row[1]], [row for row in rows if not row[1]]
    for name, part in [("", rows), ("HasAns_", has_answer), ("NoAns_", has_none)]:
        if part:
            report[f"{name}exact" if name else "exact_match"] = 100.0 * sum(row[2] for row in part) / len(part)
            report[f"{name}f1"] = 100.0 * sum(row[3] for row in part) / len(part)
            report[f"{name}total"] = len(part)
    right = sum((predictions[question] != "" and not silent(question)) == has for question, has, _, _ in rows)
    report["avna"] = 100.0 * right / len(rows)
    if probabilities is not None:
        order = sorted(probabilities, key=probabilities.__getitem__)
        walk = [row for question in order for row in raw if row[0] == question]
        for place, name in ((2, "exact"), (3, "f1")):
            gains = [row[place] if row[1] else -1 if predictions[row[0]] else 0 for row in walk]
            totals = list(itertools.accumulate(gains, initial=sum(not row[1] for row in raw)))
            stop = totals.index(max(totals))
            report[f"best_{name}"] = 100.0 * totals[stop] / len(raw)
            report[f"best_{name}_thresh"] = probabilities[walk[stop - 1][0]] if stop else 0.0
    return report


def random_data(generator: random.Random, unanswerable: float) -> tuple[dict, dict, dict]:
    predictions, references, probabilities = {}, {}, {}
    for number in range(generator.randint(1, 60)):
        prediction, reference = random_pair(generator)
        texts = [reference, *(random_text(generator) for _ in range(generator.randint(0, 3)))]
        references[f"q{number}"] = [] if generator.random() < unanswerable else generator.sample(texts, len(texts))
        predictions[f"q{number}"] = "" if generator.random() < 0.3 else prediction
    # Few different probabilities, in an order of their own: ties matter.
    for question in generator.sample(sorted(references), len(references)):
        probabilities[question] = generator.choice([0, 0.25, 0.5, 0.5, 1.0, -3.5, 1e-9, generator.random()])
    return predictions, references, probabilities


def test_random_data_sets_of_version_2():
    for seed in range(60):
        generator = random.Random(seed)
        predictions, references, probabilities = random_data(generator, generator.choice([0.0, 0.5, 0.5, 1.0]))
        threshold = generator.choice([1.0, 0.5, 0.3])
        given = {"no_answer_probabilities": probabilities | {"other": 0.1}, "no_answer_threshold": threshold}
        scores = squad_scores(predictions | {"other": "x"}, references, **given)
        assert scores == oracle_version_2(predictions, references, probabilities, threshold)
        plain = squad_scores(predictions, references, version_2=True)
        assert plain == oracle_version_2(predictions, references, None, 1.0)


def test_random_data_sets_of_version_1():
    for seed in range(60):
        generator = random.Random(seed)
        predictions, references, _ = random_data(generator, 0.0)
        for question in generator.sample(sorted(references), len(references) // 4):
            del predictions[question]
        assert squad_scores(predictions, references) == oracle_version_1(predictions, references)


def test_numbers_computed_by_hand():
    references = {"1": ["the Rhine"], "2": ["1,000 men", "men"], "3": [], "4": []}
    predictions = {"1": "Rhine", "2": "1000 brave men", "3": "", "4": "Rome"}
    probabilities = {"1": 0.1, "2": 0.4, "3": 0.9, "4": 0.6}
    scores = squad_scores(predictions, references, no_answer_probabilities=probabilities)
    overall = {"exact_match": 50.0, "f1": 100.0 * (1 + 0.8 + 1 + 0) / 4, "total": 4, "avna": 75.0}
    answerable = {"HasAns_exact": 50.0, "HasAns_f1": 90.0, "HasAns_total": 2}
    unanswerable = {"NoAns_exact": 50.0, "NoAns_f1": 50.0, "NoAns_total": 2}
    best = {"best_exact": 75.0, "best_exact_thresh": 0.1, "best_f1": 95.0, "best_f1_thresh": 0.4}
    assert scores == overall | answerable | unanswerable | best
    silenced = squad_scores(predictions, references, no_answer_probabilities=probabilities, no_answer_threshold=0.5)
    assert (silenced["exact_match"], silenced["f1"], silenced["avna"]) == (75.0, 95.0, 100.0)


def test_answer_that_normalizes_to_nothing_is_answerable_but_predicted_by_no_answer():
    scores = squad_scores({"1": ""}, {"1": ["The"]}, version_2=True)
    assert (scores["HasAns_exact"], scores["HasAns_f1"], scores["avna"]) == (100.0, 100.0, 0.0)
    assert squad_scores({"1": ""}, {"1": ["The"]}) == {"exact_match": 100.0, "f1": 0.0, "total": 1}


def test_version_1_counts_a_missing_prediction_as_wrong(caplog):
    with caplog.at_level(logging.WARNING):
        assert squad_scores({"1": "x"}, {"1": ["x"], "2": ["y"]})["exact_match"] == 50.0
    assert "1 question ('2') without a prediction, counted as wrong" in caplog.text


@pytest.mark.parametrize(
    ("references", "options", "message"),
    [
        ({}, {}, "references is empty"),
        ({"1": []}, {"version_2": False}, "question '1' has no answers; .*version_2=True"),
        ({"1": ["x"]}, {"version_2": False, "no_answer_probabilities": {"1": 0}}, "belong to SQuAD 2.0"),
        ({"1": ["x"], "2": []}, {}, r"1 question \('2'\) without a prediction"),
        (
            {str(n): [] for n in range(9)},
            {},
            r"8 questions \('0', '2', '3', '4', '5', '6', \.\.\.\) without a prediction",
        ),
        ({"1": ["x"]}, {"no_answer_probabilities": {"2": 0.5}}, r"\('1'\) without a no-answer probability"),
        ({"1": ["x"]}, {"no_answer_probabilities": {"1": float("nan")}}, r"\('1'\) without a no-answer probability"),
    ],
)
def test_invalid_scores_input(references, options, message):
    with pytest.raises(ValueError, match=message):
        squad_scores({"1": "x"}, references, **options)


@pytest.fixture
def metric(tmp_path):
    return Squad(cache_dir=str(tmp_path))


def reference_of(question: str, *texts: str) -> dict:
    return {"id": question, "answers": {"text": list(texts), "answer_start": [0] * len(texts)}, "title": "ignored"}


def test_the_metric_pairs_by_id_and_infers_the_version(metric):
    predictions = [{"id": "2", "prediction_text": ""}, {"id": "1", "prediction_text": "The Rhine"}]
    references = [reference_of("1", "Rhine", "river"), reference_of("2")]
    scores = metric.compute(predictions=predictions, references=references)
    assert (scores["exact_match"], scores["NoAns_total"], "best_f1" in scores) == (100.0, 1, False)
    one = metric.compute(predictions=predictions[1:], references=references[:1])
    assert one == {"exact_match": 100.0, "f1": 100.0, "total": 1}
    forced = metric.compute(predictions=predictions[1:], references=references[:1], version_2=True)
    assert forced["HasAns_total"] == 1


def test_the_metric_in_batches_with_probabilities(metric):
    first = {"id": "1", "prediction_text": "x", "no_answer_probability": 0.75}
    second = {"id": "2", "prediction_text": "x", "no_answer_probability": 0.25}
    metric.add(prediction=first, reference=reference_of("1"))
    metric.add_batch(predictions=[second], references=[reference_of("2", "x")])
    scores = metric.compute(no_answer_threshold=0.5)
    assert (scores["exact_match"], scores["best_f1"], scores["best_f1_thresh"]) == (100.0, 100.0, 0.25)


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([{"id": "1"}], [reference_of("1")], r"predictions\[0\] is \{'id': '1'\}; .*prediction_text"),
        (["Rhine"], [reference_of("1")], r"predictions\[0\] is 'Rhine'"),
        ([{"id": "1", "prediction_text": ""}], [{"id": "1", "answers": "x"}], r"references\[0\] is .*\"text\""),
        ([{"id": "1", "prediction_text": ""}], [reference_of("1"), reference_of("2")], "Mismatch in the number"),
        ([{"id": "1", "prediction_text": ""}] * 2, [reference_of("1")] * 2, "more than one prediction with the id '1'"),
        (
            [{"id": n, "prediction_text": "", "no_answer_probability": p} for n, p in (("1", 0.5), ("2", None))],
            [reference_of("1"), reference_of("2")],
            r"\('2'\) without a no-answer probability",
        ),
        ([], [], "there is no question to score"),
    ],
)
def test_invalid_metric_input(metric, predictions, references, message):
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references)
    scores = metric.compute(predictions=[{"id": "1", "prediction_text": ""}], references=[reference_of("1")])
    assert scores["total"] == 1
