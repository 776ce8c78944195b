"""Smaller encoders out of larger ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForQuestionAnswering, BertModel, BertTokenizer

from clozeformers.training.encoder_distillation import distill_encoder
from clozeformers.training.small_encoder import main

LETTERS = [prefix + letter for letter in "abcdefghijklmnopqrstuvwxyz." for prefix in ("", "##")]
WORDS = ["the", "patient", "denies", "fever", "un", "##happy", "seldom"]
PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "seldom2", *LETTERS, *WORDS, "語"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(PIECES), pad_token_id=0, **sizes)).save_pretrained(folder)
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=64).save_pretrained(folder)
    (folder / "texts.txt").write_text("The patients denies fever.\nfever fever the patient\nunhappy unhappy\n")
    return folder


def states(folder: Path, text: str) -> Any:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states


def test_a_vocabulary_is_cut(encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = len(LETTERS) + 5 + 5
    files = ["--texts", str(encoder / "texts.txt"), "--output_dir", str(tmp_path / "small")]
    main([str(encoder), "--vocab_size", str(size), *files])
    assert f"3 layers, {size} word pieces" in capsys.readouterr().out
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "small")
    kept = set(PIECES) - set(tokenizer.get_vocab())
    assert kept == {"[unused0]", "seldom2", "seldom", "語", "denies"}, "the five most frequent pieces stay"
    assert tokenizer.model_max_length == 64
    text = "the patient: unhappy, FEVER"
    for ours, theirs in zip(states(tmp_path / "small", text), states(encoder, text), strict=True):
        assert torch.equal(ours, theirs), "the same pieces, hence the same states"
    assert tokenizer.tokenize("seldom denies") == [
        "s",
        "##e",
        "##l",
        "##d",
        "##o",
        "##m",
        "d",
        "##e",
        "##n",
        "##i",
        "##e",
        "##s",
    ]
    model = AutoModel.from_pretrained(tmp_path / "small")
    assert model.config.vocab_size == model.get_input_embeddings().num_embeddings == size
    assert tokenizer.pad_token_id == model.config.pad_token_id == model.get_input_embeddings().padding_idx


def test_layers_are_kept(encoder: Path, tmp_path: Path) -> None:
    main([str(encoder), "--layers", "0", "2", "--output_dir", str(tmp_path / "small")])
    whole, small = (AutoModel.from_pretrained(folder) for folder in (encoder, tmp_path / "small"))
    assert small.config.num_hidden_layers == len(small.encoder.layer) == 2
    for ours, theirs in zip(small.encoder.layer, [whole.encoder.layer[0], whole.encoder.layer[2]], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    assert torch.equal(states(tmp_path / "small", "the patient")[1], states(encoder, "the patient")[1])


def test_a_reader_keeps_its_head(encoder: Path, tmp_path: Path) -> None:
    config = BertConfig.from_pretrained(encoder)
    whole, tokenizer = BertForQuestionAnswering(config).eval(), AutoTokenizer.from_pretrained(encoder)
    for saved in (whole, tokenizer):
        saved.save_pretrained(tmp_path / "reader")
    texts = ["--texts", str(encoder / "texts.txt"), "--output_dir", str(tmp_path / "small")]
    main([str(tmp_path / "reader"), "--vocab_size", str(len(LETTERS) + 11), *texts])
    small = BertForQuestionAnswering.from_pretrained(tmp_path / "small")
    asked = ("fever", "the patient")
    with torch.no_grad():
        ours = small(**AutoTokenizer.from_pretrained(tmp_path / "small")(*asked, return_tensors="pt"))
        theirs = whole(**tokenizer(*asked, return_tensors="pt"))
    assert torch.equal(ours.start_logits, theirs.start_logits)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--layers", "3"], "layers are 3; this encoder has the layers 0 to 2"),
        (["--vocab_size", "100"], "--texts belongs to --vocab_size"),
        (["--texts", "{texts}"], "--texts belongs to --vocab_size"),
        (["--vocab_size", "10", "--texts", "{texts}"], "vocab_size is 10; special tokens and single characters are"),
    ],
)
def test_wrong_options(options: list[str], error: str, encoder: Path, tmp_path: Path) -> None:
    given = [option.format(texts=encoder / "texts.txt") for option in options]
    with pytest.raises(ValueError, match=error):
        main([str(encoder), *given, "--output_dir", str(tmp_path / "small")])
    assert not (tmp_path / "small").exists()


def test_other_encoders_are_refused(encoder: Path, tmp_path: Path) -> None:
    from transformers import DistilBertConfig, DistilBertModel

    sizes = {"dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 8}
    DistilBertModel(DistilBertConfig(vocab_size=9, **sizes)).save_pretrained(tmp_path / "other")
    AutoTokenizer.from_pretrained(encoder).save_pretrained(tmp_path / "other")
    with pytest.raises(ValueError, match="is a distilbert; only BERT"):
        main([str(tmp_path / "other"), "--layers", "0", "--output_dir", str(tmp_path / "small")])


def test_what_is_left_learns_the_states_of_the_whole(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole_encoder = tmp_path / "whole"  # whose layers make a difference
    shutil.copytree(encoder, whole_encoder)
    model = AutoModel.from_pretrained(encoder)
    with torch.no_grad():
        for weight in model.encoder.parameters():
            weight.mul_(20)
    model.save_pretrained(whole_encoder)
    encoder = whole_encoder
    files = ["--texts", str(encoder / "texts.txt"), "--layers", "0", "2"]
    text, errors = "the patient denies fever", {}
    for steps in ("0", "200"):
        arguments = files[2:] if steps == "0" else [*files, "--steps", steps]
        main([str(encoder), *arguments, "--output_dir", str(tmp_path / steps)])
        own, whole = states(tmp_path / steps, text)[-1], states(encoder, text)[-1]
        errors[steps] = float((own - whole).square().mean())
    assert errors["200"] < errors["0"] / 2
    assert "mean squared error of the states: " in capsys.readouterr().out
    main([str(encoder), *files, "--steps", "200", "--output_dir", str(tmp_path / "again")])
    assert torch.equal(states(tmp_path / "again", text)[-1], states(tmp_path / "200", text)[-1])


def test_texts_without_words_teach_nothing(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text("\n \n")
    files = ["--texts", str(tmp_path / "blank.txt"), "--output_dir", str(tmp_path / "x")]
    with pytest.raises(ValueError, match=r"blank\.txt, line 1: the file is empty"):
        main([str(encoder), "--steps", "1", *files])
    with pytest.raises(ValueError, match="there is no text to learn from"):
        distill_encoder(
            torch.nn.Linear(1, 1), torch.nn.Linear(1, 1), AutoTokenizer.from_pretrained(encoder), ["", " "], steps=1
        )
