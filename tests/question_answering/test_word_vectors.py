"""Word vectors out of text, fastText models and encoders, and into models."""

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
from transformers import BertConfig, BertModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from clozeformers.modeling.tokenization_word_char import WordCharTokenizer
from clozeformers.question_answering.word_vectors import extend_vocabulary, read_word_vectors

GLOVE = "the 0.5 -1 2e-1\nat name@domain.com 1 2 3\nnaïve 4 5 6\n. . . 7 8 9\nthe 9 9 9\n5 1 1 1\n"
FASTTEXT_TEXT = "3 2\nthe 1 2 \ncat 3 4 \n5 6 7 \n"


def write(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_dict(source: Any, words: Any, **kwargs: Any) -> dict[str, list[float]]:
    found, vectors = read_word_vectors(source, words, **kwargs)
    assert vectors.dtype == np.float32
    assert vectors.ndim == 2
    return dict(zip(found, vectors.tolist(), strict=True))


def test_text_is_read_in_its_order(tmp_path):
    path = write(tmp_path, GLOVE)
    found, vectors = read_word_vectors(path, {"absent", ". . .", "naïve", "the", "at name@domain.com", "5"}, 3)
    assert found == ["the", "at name@domain.com", "naïve", ". . .", "5"]
    np.testing.assert_array_equal(
        vectors, np.array([[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]], np.float32)
    )
    assert vectors.dtype == np.float32
    assert as_dict(str(path), ["naïve"]) == {"naïve": [4, 5, 6]}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_with_its_sizes_first(tmp_path, compress, end):
    path = write(tmp_path, compress(FASTTEXT_TEXT.replace("\n", end).encode()))
    assert as_dict(path, ["cat", "5", "3"]) == {"cat": [3, 4], "5": [6, 7]}


def test_no_more_is_read_than_asked_for(tmp_path):
    path = write(tmp_path, GLOVE + "broken\n")
    assert as_dict(path, ["the", "naïve"]).keys() == {"the", "naïve"}


def test_a_blank_line_may_end_the_file(tmp_path):
    assert as_dict(write(tmp_path, GLOVE + "\n"), ["the", "absent"]).keys() == {"the"}


def test_the_bar_counts_bytes(tmp_path, capsys):
    path = write(tmp_path, GLOVE)
    read_word_vectors(path, ["absent", "5"], progress_bar=True)
    assert f"{path.stat().st_size:.1f}/{path.stat().st_size:.1f}" in capsys.readouterr().err
    read_word_vectors(path, ["5"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("content", "dimension", "message"),
    [
        ("", None, "line 1: the file is empty"),
        (gzip.compress(b"", mtime=0), None, "line 1: the file is empty"),
        (GLOVE, 2, "line 1: 3 numbers after 'the'; a line should hold a word and 2 numbers"),
        (GLOVE, 4, "line 1: 3 numbers after 'the'; a line should hold a word and 4 numbers"),
        (FASTTEXT_TEXT, 3, "line 1: the vectors have 2 numbers, not 3"),
        (GLOVE + "few 1 2\n", None, "line 7: 2 numbers after 'few'; a line should hold a word and 3 numbers"),
        (GLOVE + "many 1 2 3 4\n", None, "line 7: 4 numbers after 'many'"),
        (GLOVE + "word 1 2 x3\n", None, "line 7: 'x3' is no number"),
        (GLOVE + "word 1 nan 3\n", None, "line 7: 'nan' is no finite number"),
        (GLOVE + "word 1 2 -inf\n", None, "line 7: '-inf' is no finite number"),
        (GLOVE + "word 1 1e39 2\n", None, "line 7: '1e39' is no finite number of 32 bits"),
        ("a text\n", None, "line 1: 'text' is no number"),
        ("text\n", None, "line 1: 0 numbers after 'text'"),
        (FASTTEXT_TEXT.replace("3 2", "4 2"), None, "line 4: the file ends here, with 3 words; .* there are 4"),
        (FASTTEXT_TEXT[:-5], None, "line 4: 0 numbers after '5'"),
        (gzip.compress(GLOVE.encode(), mtime=0)[:-12], None, "compressed file is cut off or damaged"),
        (b"PK\x03\x04\x00\x00 \xff\n", None, "line 1: .*; the file is binary: unpack it"),
        (b"3 2\nword \x00\x01\x02\xff\n", None, "line 2: .*; the file is binary"),
        (GLOVE, None, "no vector for any of the 1 words that are asked for, such as 'word'"),
    ],
)
def test_text_that_cannot_be_read(tmp_path, content, dimension, message):
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_word_vectors(path, ["word"], dimension)
    assert str(path) in str(caught.value)


def test_sources_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-file does not exist; give a file of word vectors"):
        read_word_vectors(tmp_path / "no-file", ["word"])
    with pytest.raises(IsADirectoryError, match=f"is a folder; .* write encoder:{tmp_path}"):
        read_word_vectors(tmp_path, ["word"])
    with pytest.raises(OSError, match="no-encoder"):
        read_word_vectors(f"encoder:{tmp_path}/no-encoder", ["word"])


def test_words_that_are_none(tmp_path):
    path = write(tmp_path, GLOVE)
    with pytest.raises(TypeError, match="words is one string, 'the'"):
        read_word_vectors(path, "the")
    with pytest.raises(ValueError, match="no words are asked for"):
        read_word_vectors(path, [])


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
    quantised: bool = False
    matrix: dict[int, float] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        magic = bytes([0xBA, 0x16, 0x4F, 0x2F])
        arguments = [self.dimension, 5, 5, 1, 5, 1, 2, 2, self.buckets, self.shortest, self.longest, 100]
        parts = [magic, struct.pack("<i", self.version), struct.pack("<12i", *arguments), struct.pack("<d", 1e-4)]
        entries = [(word, 0) for word in self.words] + [(label, 1) for label in self.labels]
        parts.append(struct.pack("<iii", len(entries), len(self.words), len(self.labels)))
        parts.append(struct.pack("<qq", 1000, self.pruned))
        parts += [word.encode() + b"\0" + struct.pack("<q", 7) + bytes([kind]) for word, kind in entries]
        parts.append(bytes([self.quantised]))
        rows = len(self.words) + self.buckets
        parts.append(struct.pack("<qq", rows, self.dimension))
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


def test_hash_is_that_of_the_published_test_vectors():
    # Of the FNV reference: ASCII only, where signed and unsigned bytes do not differ.
    assert fnv1a_of_signed_bytes(b"") == 0x811C9DC5
    assert fnv1a_of_signed_bytes(b"a") == 0xE40C292C
    assert fnv1a_of_signed_bytes(b"foobar") == 0xBF9CF968


@pytest.mark.parametrize(
    ("shortest", "ngrams"),
    [
        (
            2,
            {
                "the": ["<t", "<th", "th", "the", "he", "he>", "e>"],
                "caf\u00e9": ["<c", "<ca", "ca", "caf", "af", "af\u00e9", "f\u00e9", "f\u00e9>", "\u00e9>"],
                "\u00e9a": ["<\u00e9", "<\u00e9a", "\u00e9a", "\u00e9a>", "a>"],
                "at": ["<a", "<at", "at", "at>", "t>"],
                "</s>": [],
            },
        ),
        (1, {"ab": ["<a", "<ab", "a", "ab", "ab>", "b", "b>"]}),
    ],
)
def test_fasttext_models(tmp_path, shortest, ngrams):
    model = FastTextModel(shortest=shortest)
    read = as_dict(write(tmp_path, model.to_bytes(), "model.bin"), ngrams)
    assert list(read) == list(ngrams)
    for word, vector in read.items():
        value = expected_row(model, word, ngrams[word])
        assert vector == pytest.approx([value, value + 100], rel=1e-6), word


def test_fasttext_models_without_ngrams_know_their_words_only(tmp_path):
    model = FastTextModel(longest=0, shortest=0, buckets=0)
    path = write(tmp_path, model.to_bytes())
    assert as_dict(path, ["a", "caf\u00e9", "__label__cat", "the"]) == {"caf\u00e9": [1, 101], "the": [0, 100]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantised": True}, "the model is quantised .* give the .bin file"),
        ({"pruned": 0}, "the model is quantised"),
        ({"version": 11}, "the format has version 11, and only 12"),
        ({"dimension": 3}, "has vectors of 3 numbers, not of 2; .* dimension=3"),
        ({"matrix": {0: float("nan")}}, "the vector of 'the' is not finite"),
    ],
)
def test_fasttext_models_that_cannot_be_read(tmp_path, changes, message):
    path = write(tmp_path, FastTextModel(**changes).to_bytes())
    with pytest.raises(ValueError, match=message) as caught:
        read_word_vectors(path, ["the"], 2)
    assert str(path) in str(caught.value)


def test_fasttext_models_that_are_cut_off(tmp_path):
    model = FastTextModel(buckets=3)
    whole = model.to_bytes()
    end_of_matrix = len(whole) - 17
    for length in range(4, end_of_matrix):
        with pytest.raises(ValueError, match=f"cut off after {length} bytes"):
            read_word_vectors(write(tmp_path, whole[:length]), ["the"])
    assert as_dict(write(tmp_path, whole[:end_of_matrix]), ["the"]) == as_dict(write(tmp_path, whole), ["the"])


def test_fasttext_models_with_a_matrix_of_another_size(tmp_path):
    whole = FastTextModel().to_bytes()
    path = write(tmp_path, whole.replace(struct.pack("<qq", 53, 2), struct.pack("<qq", 52, 2)))
    with pytest.raises(ValueError, match="input matrix is 52 x 2, but there are 3 words and 50 n-gram buckets"):
        read_word_vectors(path, ["the"])


@pytest.fixture(scope="module")
def encoder(tiny_tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    config = BertConfig(
        vocab_size=len(tiny_tokenizer), hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4
    )
    BertModel(config).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


def test_encoders(encoder, tiny_tokenizer, monkeypatch):
    # So that the words fill several batches.
    monkeypatch.setattr("clozeformers.question_answering.encoder_vectors._WORDS_AT_ONCE", 2)
    weight = BertModel.from_pretrained(encoder).get_input_embeddings().weight.detach()
    pieces = {"knows": ["know", "##s"], "Man": ["man"], "do": ["do"], "ab": ["a", "##b"]}
    read = as_dict(f"encoder:{encoder}", ["knows", "\U0001f600", "Man", "[SEP]", "do", "ab", "\u6771"], dimension=4)
    assert list(read) == list(pieces)
    for word, its_pieces in pieces.items():
        expected = weight[tiny_tokenizer.convert_tokens_to_ids(its_pieces)].mean(0)
        torch.testing.assert_close(torch.tensor(read[word]), expected)


def test_encoders_that_cut_bytes_read_words_inside_a_sentence(tmp_path):
    vocab = {"<unk>": 0, "a": 1, "\u0120a": 2, "\u0120": 3}
    backend = Tokenizer(BPE(vocab, [("\u0120", "a")], unk_token="<unk>"))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>").save_pretrained(tmp_path)
    config = BertConfig(vocab_size=4, hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=2)
    model = BertModel(config)
    model.save_pretrained(tmp_path)
    expected = model.get_input_embeddings().weight[2].tolist()
    assert as_dict(f"encoder:{tmp_path}", ["a"])["a"] == pytest.approx(expected)


def test_encoders_of_another_dimension(encoder):
    with pytest.raises(ValueError, match="has vectors of 4 numbers, not of 5"):
        read_word_vectors(f"encoder:{encoder}", ["do"], 5)
    with pytest.raises(ValueError, match="no vector for any of the 1 words"):
        read_word_vectors(f"encoder:{encoder}", ["\U0001f600"])


class ReaderConfig(PreTrainedConfig):
    model_type = "word-vector-test"
    vocab_size = 4
    hidden_size = 3


class Reader(PreTrainedModel):
    """Stands in for a model that reads fixed word vectors."""

    config_class = ReaderConfig

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__(config)
        self.words = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.output = torch.nn.Linear(config.hidden_size, 1)
        self.words.weight.requires_grad_(False)
        self.post_init()

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.words

    def set_input_embeddings(self, value: torch.nn.Module) -> None:
        self.words = value

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.output(self.words(input_ids))


@pytest.fixture
def reader() -> tuple[Reader, WordCharTokenizer]:
    tokenizer = WordCharTokenizer.train_from_texts(["the cat"], lowercase=True)
    return Reader(ReaderConfig(vocab_size=len(tokenizer))), tokenizer


@pytest.mark.parametrize("is_trained", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_model_learns_words(reader, tmp_path, is_trained, dtype):
    model, tokenizer = reader
    model.to(dtype).words.weight.requires_grad_(is_trained)
    source = write(tmp_path, GLOVE + "york 0.1 0.2 0.3\n")
    known = tokenizer("the cat", return_tensors="pt")["input_ids"]
    before = model(known)
    assert extend_vocabulary(model, tokenizer, source, ["The", "New York", "na\u00efve", "york"]) == 2
    torch.testing.assert_close(model(known), before, rtol=0, atol=0)
    assert model.config.vocab_size == len(tokenizer) == 8
    weight = model.get_input_embeddings().weight
    assert (weight.requires_grad, weight.dtype) == (is_trained, dtype)
    vectors = weight[tokenizer.convert_tokens_to_ids(["york", "na\u00efve"])].float()
    torch.testing.assert_close(vectors, torch.tensor([[0.1, 0.2, 0.3], [4, 5, 6]]), rtol=1e-3, atol=0)
    assert extend_vocabulary(model, tokenizer, source, ["the", "New York", "na\u00efve"]) == 0
    model.save_pretrained(tmp_path / "model")
    loaded = Reader.from_pretrained(tmp_path / "model")
    torch.testing.assert_close(loaded.words.weight.to(dtype), weight, check_stride=False)


def test_a_model_is_left_as_it_was(reader, tmp_path):
    model, tokenizer = reader
    with pytest.raises(ValueError, match="line 1: the vectors have 2 numbers, not 3"):
        extend_vocabulary(model, tokenizer, write(tmp_path, FASTTEXT_TEXT), ["five"])
    assert (len(tokenizer), len(model.words.weight)) == (6, 6)
    model.words = torch.nn.Linear(3, 6)
    with pytest.raises(TypeError, match="Reader are a Linear, which cannot be extended"):
        extend_vocabulary(model, tokenizer, write(tmp_path, GLOVE), ["na\u00efve"])
    tokenizer.add_words(["five"])
    model.words = torch.nn.Embedding(6, 3)
    with pytest.raises(ValueError, match="vectors of 6 words and the tokenizer 7 words"):
        extend_vocabulary(model, tokenizer, write(tmp_path, GLOVE), ["na\u00efve"])
