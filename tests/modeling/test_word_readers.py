"""QANet, BiDAF and their layers against the literal versions, alone and in batches."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import AutoConfig

from clozeformers.modeling.configuration_bidaf import BiDAFConfig
from clozeformers.modeling.configuration_qanet import QANetConfig
from clozeformers.modeling.context_query_attention import build_attention
from clozeformers.modeling.embeddings import CharacterConvolution, Highway, distinct_rows
from clozeformers.modeling.modeling_bidaf import BiDAFForQuestionAnswering
from clozeformers.modeling.modeling_qanet import EncoderStack, QANetForQuestionAnswering
from clozeformers.modeling.recurrent import BidirectionalRNN
from clozeformers.modeling.tokenization_word_char import WordCharTokenizer
from clozeformers.question_answering.word_vectors import extend_vocabulary

from . import literal
from .tiny_readers import BIDAFS, QANETS, TINY, batch, build, every_model, example, randomise

TOLERANCE = {"atol": 1e-10, "rtol": 0}
# -------------------------------------------------------------------------------------------------------------- layers


@given(
    rows=st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=1, max_size=30)
    )
)
@settings(max_examples=60, deadline=None)
def test_distinct_rows(rows: list[list[int]]) -> None:
    matrix = torch.tensor(rows)
    distinct, inverse = distinct_rows(matrix)
    assert torch.equal(distinct[inverse], matrix)
    assert len(distinct) == len({tuple(row) for row in rows})


def test_distinct_rows_with_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose hashes collide are still distinct."""
    monkeypatch.setattr(torch, "randint", lambda *_, **__: torch.zeros(2, dtype=torch.long))
    matrix = torch.tensor([[1, 2], [2, 1], [1, 2], [0, 3]])
    distinct, inverse = distinct_rows(matrix)
    assert len(distinct) == 3
    assert torch.equal(distinct[inverse], matrix)


def test_character_convolution() -> None:
    module = CharacterConvolution(12, 3, 5, 3, 0.0).double()
    randomise(module)
    words = [[1, 2, 3, 4], [5], [], [11, 7]]
    ids = torch.zeros(4, 9, dtype=torch.long)
    for row, word in zip(ids, words, strict=True):
        row[: len(word)] = torch.tensor(word, dtype=torch.long)
    expected = [literal.characters(module, word) if word else torch.zeros(5, dtype=torch.float64) for word in words]
    torch.testing.assert_close(module(ids), torch.stack(expected), **TOLERANCE)
    torch.testing.assert_close(module(ids[:, :4]), torch.stack(expected), **TOLERANCE)


def test_highway() -> None:
    module = Highway(5, 3).double()
    randomise(module)
    inputs = torch.randn(2, 3, 5, dtype=torch.float64)
    expected = torch.stack([torch.stack([literal.highway(module, x) for x in row]) for row in inputs])
    torch.testing.assert_close(module(inputs), expected, **TOLERANCE)


@pytest.mark.parametrize("name", literal.ATTENTIONS)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=3),
    seed=st.integers(0, 2**20),
)
@settings(max_examples=10, deadline=None)
def test_attentions(name: str, lengths: list[tuple[int, int]], seed: int) -> None:
    module = build_attention(name, 6, num_heads=2, rnn_size=3, rnn="gru" if seed % 2 else "lstm").double().eval()
    randomise(module, seed)
    generator = torch.Generator().manual_seed(seed)
    context = torch.randn(len(lengths), 6, 6, dtype=torch.float64, generator=generator)
    query = torch.randn(len(lengths), 5, 6, dtype=torch.float64, generator=generator)
    masks = [torch.arange(size) < torch.tensor([[pair[side]] for pair in lengths]) for side, size in ((0, 6), (1, 5))]
    context.requires_grad_()
    query.requires_grad_()
    out = module(context, query, *masks)
    total = expected_total = torch.zeros((), dtype=torch.float64)
    for number, (m, n) in enumerate(lengths):
        expected = literal.ATTENTIONS[name](module, context[number, :m], query[number, :n])
        torch.testing.assert_close(out[number, :m], expected, **TOLERANCE)
        total, expected_total = total + out[number, :m].sin().sum(), expected_total + expected.sin().sum()
    parameters = [context, query, *module.parameters()]
    got, wanted = (
        torch.autograd.grad(x, parameters, allow_unused=True, retain_graph=True) for x in (total, expected_total)
    )
    for one, other in zip(got, wanted, strict=True):
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, **TOLERANCE)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_bidirectional_rnn(kind: Any, grad: bool) -> None:
    module = BidirectionalRNN(kind, 4, 3, num_layers=2).double().eval()
    randomise(module)
    inputs = torch.randn(4, 5, 4, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [0, 1, 0, 1, 1], [0] * 5], dtype=torch.bool)
    with torch.set_grad_enabled(grad), torch.profiler.profile() as profile:
        out = module(inputs, mask)
    assert sum(event.name == f"aten::{kind}" for event in profile.events()) == (4 if grad else 1)
    for number in range(3):
        real = mask[number]
        torch.testing.assert_close(out[number, real], literal.bidirectional(module, inputs[number, real]), **TOLERANCE)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning", "ignore:torch.quantize")
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_changed_recurrent_layers_are_called(kind: Any) -> None:
    """A single call of all layers would pass over hooks and over what takes a layer's place."""
    module, called = BidirectionalRNN(kind, 4, 3).eval(), []
    inputs, mask = torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)
    with torch.no_grad():
        expected = module(inputs, mask)
        module.forwards[0].register_forward_hook(lambda *_: called.append(kind))
        torch.testing.assert_close(module(inputs, mask), expected, atol=1e-6, rtol=0)
        assert called == [kind]
        quantised = torch.ao.quantization.quantize_dynamic(module, {torch.nn.LSTM, torch.nn.GRU})
        torch.testing.assert_close(quantised(inputs, mask), expected, atol=0.05, rtol=0)
        assert module.bfloat16()(inputs.bfloat16(), mask).dtype == torch.bfloat16


def test_encoder_stack() -> None:
    config = QANetConfig(**TINY)
    module = EncoderStack(config, 2, 3, 5).double().eval()
    randomise(module)
    inputs = torch.randn(2, 7, 8, dtype=torch.float64)
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    out = module(inputs, mask)
    for number, length in enumerate((7, 4)):
        expected = inputs[number, :length]
        for block in module.blocks:
            expected = literal.encoder_block(block, expected)
        torch.testing.assert_close(out[number, :length], expected, **TOLERANCE)


def test_stochastic_depth_skips_in_proportion() -> None:
    config = QANetConfig(**TINY, layer_drop=0.5, dropout=0)
    module = EncoderStack(config, 2, 2, 3)
    assert torch.allclose(torch.tensor(module.skip).flatten(), torch.arange(1, 9) / 8 * 0.5)
    counts = torch.zeros(2, 4)
    for block_number, block in enumerate(module.blocks):
        for layer_number, layer in enumerate(block.layers):
            layer.register_forward_hook(
                lambda *_, at=(block_number, layer_number): counts.__setitem__(at, counts[at] + 1)
            )
    torch.manual_seed(0)
    inputs, mask = torch.randn(1, 3, 8), torch.ones(1, 3, dtype=torch.bool)
    for _ in range(150):
        module.train()(inputs, mask)
    assert ((counts / 150 - (1 - torch.tensor(module.skip))).abs() < 0.12).all()
    module.eval()
    torch.testing.assert_close(module(inputs, mask), module(inputs, mask), atol=0, rtol=0)


# -------------------------------------------------------------------------------------------------------------- models


LITERAL = [
    "qanet",
    "qanet-independent",
    "qanet-features",
    *(name for name in BIDAFS if name not in ("bidaf-oa", "bidaf-sum", "bidaf-max")),
]


@pytest.mark.parametrize("name", LITERAL)
def test_models_against_the_literal_version(name: str) -> None:
    model = build(name)
    examples = [example(1, 3, 6), example(2, 5, 2)]
    with torch.no_grad():
        out = model(**batch(examples, padding=2))
        for number, (question, context, chars) in enumerate(examples):
            parts = [[2, *context], question]
            vectors = [
                torch.stack([literal.word(model.embeddings, n, chars.get(n, [])) for n in part]) for part in parts
            ]
            if model.config.word_features:
                extra = [
                    literal.word_features(model, part, other) for part, other in zip(parts, parts[::-1], strict=True)
                ]
                vectors = [torch.cat(pair, dim=1) for pair in zip(vectors, extra, strict=True)]
            run: Callable[..., tuple[Tensor, Tensor]] = literal.qanet if name in QANETS else literal.bidaf
            start, end = run(model, *vectors)
            slots = [0, *range(len(question) + 2, len(question) + 2 + len(context))]
            torch.testing.assert_close(out.start_logits[number, slots], start, **TOLERANCE)
            torch.testing.assert_close(out.end_logits[number, slots], end, **TOLERANCE)
            elsewhere = [place for place in range(out.start_logits.size(1)) if place not in slots]
            assert (out.start_logits[number, elsewhere] == torch.finfo(torch.float64).min).all()


@every_model
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@given(
    lengths=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 7)), min_size=1, max_size=4), padding=st.integers(0, 5)
)
@settings(max_examples=5, deadline=None)
def test_padding_and_neighbours_change_nothing(
    name: str, dtype: torch.dtype, tolerance: float, lengths: list[tuple[int, int]], padding: int
) -> None:
    # Random weights of this size make numbers that float32 cannot hold to the tolerance.
    model = build(name, random=dtype == torch.float64).to(dtype)
    examples = [example(seed, *pair) for seed, pair in enumerate(lengths)]
    with torch.no_grad():
        together = model(**batch(examples, padding))
        for number, one in enumerate(examples):
            inputs = batch([one])
            alone = model(**inputs)
            length = inputs["input_ids"].size(1)
            for field in ("start_logits", "end_logits"):
                got, expected = getattr(together, field)[number, :length], getattr(alone, field)[0]
                assert not getattr(together, field).isnan().any()
                torch.testing.assert_close(got, expected, atol=tolerance, rtol=0)


@every_model
def test_masks_may_be_left_out(name: str) -> None:
    model = build(name)
    inputs = batch([example(1, 3, 6), example(2, 5, 2)], padding=2)
    with torch.no_grad():
        full = model(**inputs)
        bare = model(input_ids=inputs["input_ids"], char_ids=inputs["char_ids"])
    torch.testing.assert_close(bare.start_logits, full.start_logits, atol=0, rtol=0)


@every_model
def test_loss_and_gradients(name: str) -> None:
    model = build(name)
    inputs = batch([example(1, 3, 6), example(2, 5, 2), example(3, 2, 4)])
    # Position 3 of the third example is its separator, position 1 a question word: both labels are ignored.
    starts, ends = torch.tensor([5, 0, 3]), torch.tensor([7, 0, 1])
    out = model(**inputs, start_positions=starts, end_positions=ends)
    model.rescore = lambda start, end, mask: (start, end)  # the loss is that of the logits before rescoring
    plain = model(**inputs)
    start, end = (x.float().log_softmax(-1) for x in (plain.start_logits, plain.end_logits))
    assert plain.start_logits[2, 3] == plain.end_logits[2, 1] == torch.finfo(torch.float64).min
    torch.testing.assert_close(out.loss, -(start[0, 5] + start[1, 0] + end[0, 7] + end[1, 0]) / 4)
    out.loss.backward()
    trained = {key: p for key, p in model.named_parameters() if p.requires_grad}
    assert "embeddings.word_vectors.weight" not in trained
    for key, parameter in trained.items():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key


@every_model
def test_training_starts_from_even_guesses(name: str) -> None:
    # The paper's sizes: the encoders' sums grow with them.
    sizes = {"hidden_size": 64, "word_embedding_size": 64, "vocab_size": 100}
    torch.manual_seed(0)
    if name in QANETS:
        model: Any = QANetForQuestionAnswering(QANetConfig(**TINY | {"num_attention_heads": 4} | QANETS[name] | sizes))
    else:
        model = BiDAFForQuestionAnswering(BiDAFConfig(**TINY | {"num_attention_heads": 16} | BIDAFS[name] | sizes))
    inputs = batch([example(seed, 10, 120) for seed in range(8)])
    positions = torch.randint(12, 132, (2, 8))
    loss = model.eval()(**inputs, start_positions=positions[0], end_positions=positions[1]).loss
    assert abs(loss.item() - math.log(121)) < 0.3


def test_labels_that_are_all_ignored_give_no_nan() -> None:
    model = build("qanet")
    outside = torch.tensor([99])
    loss = model(**batch([example(1, 3, 6)]), start_positions=outside, end_positions=outside).loss
    assert loss.item() == 0


@pytest.mark.parametrize("name", ["qanet", "bidaf-max"])
def test_the_vocabulary_can_be_extended(name: str, tmp_path: Path) -> None:
    """Old words give the same logits as before; a new word is no longer the unknown one."""
    tokenizer = WordCharTokenizer.train_from_texts(["Who saw the cat ? The cat saw the dog ."], lowercase=True)
    torch.manual_seed(0)
    fields = TINY | {"vocab_size": len(tokenizer), "char_vocab_size": tokenizer.character_vocab_size}
    if name == "qanet":
        model: Any = QANetForQuestionAnswering(QANetConfig(**fields, num_model_blocks=1)).eval()
    else:
        model = BiDAFForQuestionAnswering(BiDAFConfig(**fields, word_features=True)).eval()
        model.set_word_features(tokenizer.get_vocab(), [tokenizer("the cat saw the dog")["input_ids"]])
    known = tokenizer("Who saw the cat?", "The dog saw the cat.", return_tensors="pt")
    unknown = ("Who saw the horse?", "The dog saw the horse.")
    with torch.no_grad():
        before = [model(**known).start_logits, model(**tokenizer(*unknown, return_tensors="pt")).start_logits]
        (tmp_path / "vectors.txt").write_text("horse 1 -1 2 0.5 -0.5 3\ncat 9 9 9 9 9 9\n")
        assert extend_vocabulary(model, tokenizer, tmp_path / "vectors.txt", ["horse", "cat", "zebra"]) == 1
        after = [model(**known).start_logits, model(**tokenizer(*unknown, return_tensors="pt")).start_logits]
    torch.testing.assert_close(after[0], before[0], atol=0, rtol=0)
    assert (after[1] - before[1]).abs().max() > 1e-4
    assert not model.get_input_embeddings().weight.requires_grad
    model.save_pretrained(tmp_path / "model")
    again = type(model).from_pretrained(tmp_path / "model")
    with torch.no_grad():
        torch.testing.assert_close(again(**known).start_logits, after[0], atol=1e-5, rtol=0)


LENGTHS = ("max_question_length", "max_answer_length", "max_input_length", "doc_stride")


def test_lengths_are_recorded(tmp_path: Path) -> None:
    assert all(getattr(QANetConfig(), name) is None for name in LENGTHS)
    BiDAFConfig(**dict(zip(LENGTHS, (50, 30, 400, 128), strict=True))).save_pretrained(tmp_path)
    assert [getattr(BiDAFConfig.from_pretrained(tmp_path), name) for name in LENGTHS] == [50, 30, 400, 128]


@pytest.mark.parametrize(
    ("config_class", "fields", "message"),
    [
        (QANetConfig, {"hidden_size": 30, "num_attention_heads": 4}, "a multiple of num_attention_heads, 4"),
        (QANetConfig, {"model_kernel_size": 4}, "model_kernel_size is 4; it must be an odd number"),
        (QANetConfig, {"layer_drop": 1.0}, "layer_drop is 1.0"),
        (QANetConfig, {"num_model_blocks": 0}, "num_model_blocks is 0"),
        (QANetConfig, {"attention": "nothing"}, "unknown attention 'nothing'; known are OA-C, OA-CA"),
        (BiDAFConfig, {"attention": "OA-C", "num_attention_heads": 2}, "not a perfect square"),
        (BiDAFConfig, {"dropout": 1.5}, "dropout is 1.5"),
        (BiDAFConfig, {"vocab_size": 3}, "vocab_size is 3; it must be at least 4"),
        (
            QANetConfig,
            {"vocab_size": 10**12},
            "vocab_size is 1000000000000; it must be at least 4 and at",
        ),
        (BiDAFConfig, {"hidden_size": 10**12}, "hidden_size is 1000000000000; it must be at least 1 and at most 16384"),
        (QANetConfig, {"num_model_blocks": 10**12}, "num_model_blocks is 1000000000000; it must be at least 1 and at"),
        (QANetConfig, {"encoder_kernel_size": -3}, "encoder_kernel_size is -3; it must be at least 1"),
        (BiDAFConfig, {"rnn": None}, r"'rnn' expected one of \('lstm', 'gru'\), got None"),
        (BiDAFConfig, {"span_rescoring": "window"}, "'span_rescoring' expected one of .* got window"),
        (BiDAFConfig, {"word_features": "yes"}, r"'word_features' expected bool, got str \(value: 'yes'\)"),
        (BiDAFConfig, {"hidden_size": "8"}, r"'hidden_size' expected int, got str \(value: '8'\)"),
        (QANetConfig, {"num_attention_heads": None}, "'num_attention_heads' expected int"),
        (QANetConfig, {"layer_drop": "much"}, "'layer_drop' with value 'much'"),
        (BiDAFConfig, {"char_kernel_size": 2}, "char_kernel_size is 2"),
        (BiDAFConfig, {"hidden_size": 0}, "hidden_size is 0; it must be at least 1"),
        (QANetConfig, {"num_highway_layers": -1}, "num_highway_layers is -1; it must be at least 0"),
        *((QANetConfig, {name: 0}, f"{name} is 0; it must be at least 1") for name in LENGTHS),
    ],
)
def test_wrong_configs(config_class: Any, fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_class().to_dict() | fields))
    with pytest.raises(ValueError, match=message):
        AutoConfig.from_pretrained(tmp_path)
    config_class().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        AutoConfig.from_pretrained(tmp_path, **fields)


def test_wrong_inputs() -> None:
    model = build("qanet")
    inputs = batch([example(1, 3, 6)])
    with pytest.raises(ValueError, match="this model has a character CNN"):
        model(input_ids=inputs["input_ids"])
    with pytest.raises(ValueError, match="build it with word_embedding_size=5"):
        model.set_word_vectors([4], torch.zeros(1, 5))
    with pytest.raises(ValueError, match="word_features=True"):
        build("bidaf").set_word_features({}, [])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("input_ids", lambda values: values[0], r"input_ids have shape \(17,\).*unsqueeze"),
        (
            "attention_mask",
            lambda values: values[:, 1:],
            r"attention_mask has shape \(2, 16\); that of input_ids is \(2, 17\)",
        ),
        ("token_type_ids", lambda values: values[:1], "token_type_ids has shape"),
        ("inputs_embeds", lambda values: values[..., 1:], r"shape \(2, 17, 5\); it must be \(2, 17, 6\)"),
        ("char_ids", lambda values: values.flatten(1), r"char_ids must be \[\*\(2, 17\), W\], but is \(2, 102\)"),
    ],
)
def test_wrong_shapes(name: str, change: Callable[[Tensor], Tensor], message: str) -> None:
    inputs = batch([example(0, 4, 10), example(1, 3, 8)])
    inputs["inputs_embeds"] = torch.ones(2, 17, 6, dtype=torch.float64)
    with pytest.raises(ValueError, match=message):
        build("qanet")(**inputs | {name: change(inputs[name])})


@pytest.mark.parametrize("name", ["bidaf-combined", "qanet-features"])
def test_word_features_are_those_of_the_paper(name: str) -> None:
    model = build(name)
    idf = model.inverse_document_frequency
    contexts, occurrences = 2, {5: 1, 6: 1, 7: 3, 8: 1, 9: 1}
    for word, count in occurrences.items():
        assert float(idf[word]) == pytest.approx(math.log(contexts / count))
    assert float(idf[20]) == pytest.approx(math.log(contexts))
    assert model.is_question_word.nonzero().flatten().tolist() == [5, 6]
