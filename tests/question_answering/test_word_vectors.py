"""Word vectors from text, fastText models and encoders, and their addition to models."""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from clozeformers.modeling.tokenization_word_char import WordCharTokenizer
from clozeformers.question_answering.word_vectors import extend_vocabulary, read_word_vectors

GLOVE = "the 0.5 -1 2e-1\nat name@domain.com 1 2 3\nnaïve 4 5 6\n. . . 7 8 9\nthe 9 9 9\n5 1 1 1\n"
FASTTEXT_TEXT = "3 2\nthe 1 2 \ncat 3 4 \n5 6 7 \n"


def write(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_dict(source: Any, words: Any) -> dict[str, list[float]]:
    found, vectors = read_word_vectors(source, words)
    assert vectors.dtype == np.float32
    assert vectors.ndim == 2
    return dict(zip(found, vectors.tolist(), strict=True))


def test_text_is_read_in_its_order(tmp_path):
    path = write(tmp_path, GLOVE)
    found, vectors = read_word_vectors(path, ["absent", ". . .", "naïve", "the", "at name@domain.com", "5"])
    assert found == ["the", "at name@domain.com", "naïve", ". . .", "5"]
    expected = [[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]]
    np.testing.assert_array_equal(vectors, np.array(expected, np.float32))
    assert as_dict(str(path), ["naïve"]) == {"naïve": [4, 5, 6]}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_with_its_sizes_first(tmp_path, compress, end):
    path = write(tmp_path, compress(FASTTEXT_TEXT.replace("\n", end).encode()))
    assert as_dict(path, ["cat", "5", "3"]) == {"cat": [3, 4], "5": [6, 7]}


def test_reading_stops_at_the_last_word(tmp_path):
    path = write(tmp_path, GLOVE + "\nbroken\n")
    assert as_dict(path, ["the", "naïve"]).keys() == {"the", "naïve"}
    with pytest.raises(ValueError, match="line 8: 0 numbers"):
        read_word_vectors(path, ["the", "absent"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: the file is empty"),
        (gzip.compress(b"", mtime=0), "line 1: the file is empty"),
        (GLOVE + "few 1 2\n", "line 7: 2 numbers after b'few'; a line must hold a word and 3 numbers"),
        (GLOVE + "many 1 2 3 4\n", "line 7: 4 numbers after b'many'"),
        (GLOVE + "word 1 2 x3\n", "line 7: .*b'x3'"),
        (GLOVE + "word 1 nan 3\n", "line 7: b'nan' is not a finite 32-bit number"),
        (GLOVE + "word 1 2 -inf\n", "line 7: b'-inf' is not a finite"),
        (GLOVE + "word 1 1e39 2\n", "line 7: b'1e39' is not a finite"),
        ("a text\n", "line 1: .*b'text'"),
        ("text\n", "line 1: 0 numbers after b'text'"),
        (FASTTEXT_TEXT.replace("3 2", "4 2"), "line 4: the file is truncated: it has 3 of the 4 words"),
        (FASTTEXT_TEXT[:-5], "line 4: 0 numbers after b'5'"),
        (gzip.compress(GLOVE.encode(), mtime=0)[:-12], "compressed file is truncated or damaged"),
        (b"PK\x03\x04\x00\x00 \xff\n", "line 1: .*; the file is binary: unpack it"),
        (b"3 2\nword \x00\x01\x02\xff\n", "line 2: .*; the file is binary"),
        (GLOVE, "no vector for any of the 1 words, such as 'word'"),
    ],
)
def test_damaged_text(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_word_vectors(path, ["word"])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("{}/absent", FileNotFoundError, "absent does not exist; give a file of word vectors"),
        ("{}", IsADirectoryError, "encoder:NAME"),
        ("encoder:{}/absent", OSError, "absent"),
    ],
)
def test_missing_sources(tmp_path, source, error, message):
    with pytest.raises(error, match=message):
        read_word_vectors(source.format(tmp_path), ["word"])


@dataclass
class FastTextModel:
    """A fastText model, written byte by byte; in row k of the input matrix, column j, stands `k + 100 j`."""

    words: tuple[str, ...] = ("the", "caf\u00e9", "</s>")
    labels: tuple[str, ...] = ("__label__cat",)
    shortest: int = 2
    longest: int = 3
    buckets: int = 50
    dimension: int = 2
    version: int = 12
    pruned: int = -1
    quantized: bool = False
    missing_rows: int = 0
    matrix: dict[int, float] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        magic = bytes([0xBA, 0x16, 0x4F, 0x2F])
        arguments = [self.dimension, 5, 5, 1, 5, 1, 2, 2, self.buckets, self.shortest, self.longest, 100]
        parts = [magic, struct.pack("<i", self.version), struct.pack("<12i", *arguments), struct.pack("<d", 1e-4)]
        entries = [(word, 0) for word in self.words] + [(label, 1) for label in self.labels]
        parts.append(struct.pack("<iii", len(entries), len(self.words), len(self.labels)))
        parts.append(struct.pack("<qq", 1000, self.pruned))
        parts += [word.encode() + b"\0" + struct.pack("<q", 7) + bytes([kind]) for word, kind in entries]
        parts.append(bytes([self.quantized]))
        rows = len(self.words) + self.buckets
        parts.append(struct.pack("<qq", rows - self.missing_rows, self.dimension))
        for number in range(rows):
            start = self.matrix.get(number, float(number))
            parts.append(struct.pack(f"<{self.dimension}f", *(start + 100 * k for k in range(self.dimension))))
        return b"".join([*parts, b"\0", struct.pack("<qq", 0, self.dimension)])


def fnv1a_of_signed_bytes(data: bytes) -> int:
    value = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in np.frombuffer(data, dtype=np.int8):
            value = (value ^ np.uint32(byte.astype(np.int32).view(np.uint32))) * np.uint32(16777619)
    return int(value)


def expected_row(model: FastTextModel, word: str, ngrams: list[str]) -> float:
    rows = [model.words.index(word)] if word in model.words else []
    rows += [len(model.words) + fnv1a_of_signed_bytes(ngram.encode()) % model.buckets for ngram in ngrams]
    return sum(rows) / len(rows)


def test_hash_equals_the_test_vectors_of_the_fnv_reference():
    # ASCII only, for which signed and unsigned bytes are equal.
    for text, value in ((b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)):
        assert fnv1a_of_signed_bytes(text) == value


NGRAMS = {
    "the": "<t <th th the he he> e>",
    "caf\u00e9": "<c <ca ca caf af af\u00e9 f\u00e9 f\u00e9> \u00e9>",
    "\u00e9a": "<\u00e9 <\u00e9a \u00e9a \u00e9a> a>",
    "at": "<a <at at at> t>",
    "</s>": "",
}


@pytest.mark.parametrize(("shortest", "ngrams"), [(2, NGRAMS), (1, {"ab": "<a <ab a ab ab> b b>"})])
def test_fasttext_models(tmp_path, shortest, ngrams):
    model = FastTextModel(shortest=shortest)
    read = as_dict(write(tmp_path, model.to_bytes(), "model.bin"), ngrams)
    assert list(read) == list(ngrams)
    for word, vector in read.items():
        value = expected_row(model, word, ngrams[word].split())
        assert vector == pytest.approx([value, value + 100], rel=1e-6), word


def test_fasttext_models_without_ngrams_have_known_words_only(tmp_path):
    model = FastTextModel(longest=0, shortest=0, buckets=0)
    path = write(tmp_path, model.to_bytes())
    assert as_dict(path, ["a", "caf\u00e9", "__label__cat", "the"]) == {"caf\u00e9": [1, 101], "the": [0, 100]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantized": True}, "the model is quantized.* give the .bin file"),
        ({"pruned": 0}, "the model is quantized"),
        ({"version": 11}, "the format has version 11; only 12 is supported"),
        ({"matrix": {0: float("nan")}}, "the vector of 'the' is not finite"),
        ({"missing_rows": 1}, "input matrix is 52 x 2, for 3 words and 50 n-gram buckets"),
    ],
)
def test_fasttext_models_that_cannot_be_read(tmp_path, changes, message):
    path = write(tmp_path, FastTextModel(**changes).to_bytes())
    with pytest.raises(ValueError, match=message) as caught:
        read_word_vectors(path, ["the"])
    assert str(path) in str(caught.value)


def test_truncated_fasttext_models(tmp_path):
    whole = FastTextModel(buckets=3).to_bytes()
    end_of_matrix = len(whole) - 17
    for length in range(4, end_of_matrix, 3):
        with pytest.raises(ValueError, match=f"truncated after {length} bytes"):
            read_word_vectors(write(tmp_path, whole[:length]), ["the"])
    assert as_dict(write(tmp_path, whole[:end_of_matrix]), ["the"]) == as_dict(write(tmp_path, whole), ["the"])


def tiny_bert(vocabulary: int, size: int) -> BertModel:
    one = {"num_hidden_layers": 1, "num_attention_heads": 1, "max_position_embeddings": 32}
    return BertModel(BertConfig(vocab_size=vocabulary, hidden_size=size, intermediate_size=size, **one))


@pytest.fixture(scope="module")
def encoder(tiny_tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    tiny_bert(len(tiny_tokenizer), 4).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


def test_encoders(encoder, tiny_tokenizer):
    model = BertModel.from_pretrained(encoder)
    pieces = {"knows": ["know", "##s"], "Man": ["man"], "do": ["do"], "ab": ["a", "##b"]}
    vectors = as_dict(f"encoder:{encoder}", ["knows", "\U0001f600", "Man", "[SEP]", "do", "ab", "\u6771"])
    assert list(vectors) == list(pieces)
    with pytest.raises(ValueError, match="no vector for any of the 1 words"):
        read_word_vectors(f"encoder:{encoder}", ["\U0001f600"])
    for word, its_pieces in pieces.items():
        ids = tiny_tokenizer.convert_tokens_to_ids(["[CLS]", *its_pieces, "[SEP]"])
        expected = model(torch.tensor([ids])).last_hidden_state[0, 1:-1].mean(0)
        torch.testing.assert_close(torch.tensor(vectors[word]), expected)
    cut = as_dict(f"encoder:{encoder}", ["ab" * 49])
    assert np.isfinite([*cut.values()]).all()


def test_byte_level_encoders_tokenize_words_after_a_space(tmp_path):
    vocab = {"<unk>": 0, "a": 1, "\u0120a": 2, "\u0120": 3}
    backend = Tokenizer(BPE(vocab, [("\u0120", "a")], unk_token="<unk>"))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>").save_pretrained(tmp_path)
    model = tiny_bert(4, 2)
    model.save_pretrained(tmp_path)
    expected = model(torch.tensor([[2]])).last_hidden_state[0, 0].tolist()
    assert as_dict(f"encoder:{tmp_path}", ["a"])["a"] == pytest.approx(expected)


@pytest.fixture
def reader() -> tuple[BertModel, WordCharTokenizer]:
    """A small model with fixed word vectors of dimension 3."""
    tokenizer = WordCharTokenizer.train_from_texts(["the cat"], lowercase=True)
    model = tiny_bert(len(tokenizer), 3).eval()
    model.get_input_embeddings().weight.requires_grad_(False)
    return model, tokenizer


@pytest.mark.parametrize(("is_trained", "dtype"), [(False, torch.float32), (True, torch.float16)])
def test_words_are_added_to_a_model(reader, tmp_path, is_trained, dtype):
    model, tokenizer = reader
    model.to(dtype).get_input_embeddings().weight.requires_grad_(is_trained)
    source = write(tmp_path, GLOVE + "york 0.1 0.2 0.3\n")
    known = tokenizer("the cat", return_tensors="pt")["input_ids"]
    before = model(known).last_hidden_state
    assert extend_vocabulary(model, tokenizer, source, ["The", "New York", "na\u00efve", "york"]) == 2
    torch.testing.assert_close(model(known).last_hidden_state, before, rtol=0, atol=0)
    assert model.config.vocab_size == len(tokenizer) == 8
    weight = model.get_input_embeddings().weight
    assert (weight.requires_grad, weight.dtype) == (is_trained, dtype)
    vectors = weight[tokenizer.convert_tokens_to_ids(["york", "na\u00efve"])].float()
    torch.testing.assert_close(vectors, torch.tensor([[0.1, 0.2, 0.3], [4, 5, 6]]), rtol=1e-3, atol=0)
    assert extend_vocabulary(model, tokenizer, source, ["the", "New York", "na\u00efve"]) == 0


def test_errors_leave_the_model_unchanged(reader, tmp_path):
    model, tokenizer = reader
    with pytest.raises(ValueError, match="has vectors of dimension 2, but the model's have 3"):
        extend_vocabulary(model, tokenizer, write(tmp_path, FASTTEXT_TEXT), ["5"])
    assert len(tokenizer) == len(model.get_input_embeddings().weight) == 6
    tokenizer.add_words(["five"])
    with pytest.raises(ValueError, match="vectors of 6 words and the tokenizer 7 words"):
        extend_vocabulary(model, tokenizer, write(tmp_path, GLOVE), ["na\u00efve"])
