"""What a model attends to: the numbers of the drawings are those that the model computes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from clozeformers import AlbertWithWNDuma, BertWithWNDuma, RobertaWithWNDuma, XLNetWithWNDuma
from clozeformers.abstract_cloze.drawing import article_attentions
from clozeformers.abstract_cloze.encoding import article_spans, encode_questions
from clozeformers.abstract_cloze.questions import cloze_question_of
from clozeformers.negation_scope import drawing
from clozeformers.negation_scope.drawing import cue_attentions
from clozeformers.question_answering.drawing import word_ends

from ..cloze_models import ARTICLE, OPTIONS, QUESTION
from ..hub_models import tiny_pipeline, tiny_word_reader
from ..page.pipelines import INPUTS, tiny_cloze

LONG = "I do not see the man , " * 12 + "and nobody can see him ."
DUMAS = [BertWithWNDuma, AlbertWithWNDuma, RobertaWithWNDuma, XLNetWithWNDuma]


@pytest.mark.parametrize("fields", [{}, {"attention_variant": "trilinear"}, {"cue_token": "[CUE]"}])
def test_what_words_read_is_what_the_model_computes(fields: dict[str, Any]) -> None:
    negation = tiny_pipeline("bert", **fields)
    text = "no man is unknown"
    cues = negation({"text": text, "cues": ["no", "un"]}, return_words=True)
    found = cue_attentions(negation, text, cues)
    assert not isinstance(found, str)
    for cue, reading in zip(cues, found, strict=True):
        given = {"text": text, "cues": [[cue["cue"]["start"], cue["cue"]["end"]]]}
        [row] = negation.preprocess(given)["features"]
        word_ids = negation.preprocess(given)["windows"][0].word_ids
        batch = negation.collate([row])
        with torch.no_grad():
            output = negation.model.set_attn_implementation("eager") or negation.model(**batch, output_attentions=True)
        expected = torch.stack(output.orthogonal_attentions).mean((0, 2))[0]
        assert len(reading.pieces) == sum(row["cue_mask"])
        for word, weights in enumerate(reading.weights):
            own = [place for place, number in enumerate(word_ids) if number == word]
            assert weights == pytest.approx(expected[own].mean(0).tolist(), abs=1e-5)
            assert sum(weights) == pytest.approx(1, abs=1e-5)
    assert found[0].pieces == ["no"]
    assert min(found[0].lengths) > 0
    assert found[0].lengths != found[1].lengths
    assert not any(block.attention_projection._forward_hooks for block in negation.model.attention_stack.blocks)


def test_what_words_of_long_sentences_read(monkeypatch: pytest.MonkeyPatch) -> None:
    negation = tiny_pipeline("bert")
    cues = negation(LONG, return_words=True)
    found = cue_attentions(negation, LONG, cues)
    monkeypatch.setattr(drawing, "_BATCH_SIZE", 1)
    again = cue_attentions(negation, LONG, cues)
    for cue, reading, other in zip(cues, found, again, strict=True):
        assert len(reading.lengths) == len(reading.weights) == len(cue["words"])
        assert reading.lengths == pytest.approx(other.lengths, abs=1e-4)
    assert 0.0 in found[0].lengths, "a word that no window reaches"


@pytest.mark.parametrize("kind", ["bidaf", "qanet"])
def test_probabilities_of_the_ends(kind: str) -> None:
    reader = tiny_word_reader(kind)
    question, passage, _ = INPUTS["question"]
    words, windows = word_ends(reader, question, passage)
    assert windows == 1
    assert [passage[word.start : word.end] for word in words] == re.findall(r"\w+|[^\w\s]", passage)
    best = reader(question, passage)
    [first] = [word for word in words if word.start == best["start"]]
    [last] = [word for word in words if word.end == best["end"]]
    assert first.begins * last.ends == pytest.approx(best["score"], abs=1e-6)
    assert 0 < sum(word.begins for word in words) < 1, "the rest is that of no answer"
    words, windows = word_ends(reader, question, passage * 12)
    assert windows > 1
    assert [word.start for word in words] == sorted({word.start for word in words})


@pytest.mark.parametrize("model_class", DUMAS)
@pytest.mark.parametrize("which", ["first", "similar"])
def test_attention_to_the_article(model_class: Any, which: str) -> None:
    cloze = tiny_cloze(model_class, article_sentences=which)
    cloze._preprocess_params["max_option_length"] = 60
    for article in (ARTICLE, f"  {ARTICLE} " * 5):
        found = article_attentions(cloze, article, QUESTION, OPTIONS)
        assert not isinstance(found, str)
        for spans in found:
            assert [span[:2] for span in spans] == sorted({span[:2] for span in spans})
            assert all(re.fullmatch(r"\w+|\W", article[start:end]) for start, end, _ in spans)
            assert 0 < sum(span.value for span in spans) < 1 + 1e-5, "the rest is on the class token"
        assert [spans[0].value for spans in found] != [found[0][0].value] * 3


@pytest.mark.parametrize("model_class", DUMAS)
@pytest.mark.parametrize("which", ["first", "similar"])
def test_pieces_of_the_article_are_where_they_are_said_to_be(model_class: Any, which: str) -> None:
    cloze = tiny_cloze(model_class)
    asked = cloze_question_of({"article": f" {ARTICLE} " * 3, "question": QUESTION, "options": OPTIONS})
    empty = [[()] * len(OPTIONS)]
    [encoded] = encode_questions(cloze.tokenizer, [asked], empty, 60, ["x"], article_sentences=which)
    for option in encoded:
        first = len(cloze.layout.before)
        count = option.token_type_ids.count(0) - first - len(cloze.layout.between)
        spans = article_spans(cloze.tokenizer, asked, count, article_sentences=which)
        pieces = [cloze.tokenizer.decode([piece]) for piece in option.input_ids[first : first + count]]
        assert len(spans) == count > 5
        said = [asked.article[start:end].strip().lower() for start, end in spans]
        # A piece that is only the space before a word has the word's first character.
        read = [piece.strip().removeprefix("##").lower() for piece in pieces]
        assert [each if piece else "" for each, piece in zip(said, read, strict=True)] == read
