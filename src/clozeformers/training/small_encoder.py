"""Cut a smaller encoder out of a BERT: fewer layers, and the word pieces of a corpus.

    python -m clozeformers.training.small_encoder sentence-transformers/all-MiniLM-L6-v2 --layers 0 1 3 5 \
        --vocab_size 8000 --steps 2000 --texts articles.txt reviews.txt --output_dir small-minilm

With `--steps`, what is left learns the states of the whole encoder on the texts. Training for a task goes on from the
result as from any encoder. A model that answers questions keeps its head.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer, BertTokenizer

from ..errors import run_script
from ..files import atomic_folder, read_text
from .encoder_distillation import distill_encoder
from .pretrained import loading

# Latin letters and marks, Greek, general punctuation: no word of these scripts becomes unknown.
_KEPT_CHARACTERS = (range(0x250), range(0x370, 0x400), range(0x2000, 0x2070))
_TOKENIZER_ARGUMENTS = ("do_lower_case", "tokenize_chinese_chars", "strip_accents", "model_max_length")


def frequent_pieces(tokenizer: Any, texts: Iterable[str], size: int) -> list[str]:
    """Choose word pieces, in the order of the vocabulary.

    Args:
        tokenizer: of word pieces.
        texts: of the kind that will be read.
        size: of the vocabulary.

    Raises:
        ValueError: special tokens and single characters alone are more than `size`.
    """
    numbers = tokenizer.get_vocab()
    kept = {token.content for token in tokenizer.added_tokens_decoder.values()}
    kept |= {piece for piece in numbers if _is_kept_character(piece.removeprefix("##"))}
    if len(kept) > size:
        raise ValueError(f"vocab_size is {size}; special tokens and single characters are {len(kept)} pieces already")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenizer.tokenize(text))
    others = [piece for piece, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0])) if piece not in kept]
    return sorted({*kept, *others[: size - len(kept)]}, key=numbers.__getitem__)


def _is_kept_character(piece: str) -> bool:
    return len(piece) == 1 and any(ord(piece) in block for block in _KEPT_CHARACTERS)


@torch.no_grad()
def cut_vocabulary(model: Any, tokenizer: Any, pieces: Sequence[str]) -> BertTokenizer:
    """Leave a model the input embeddings of some word pieces, and return the tokenizer of these."""
    numbers = tokenizer.get_vocab()
    weight = model.get_input_embeddings().weight[[numbers[piece] for piece in pieces]].clone()
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    padding = vocabulary[tokenizer.pad_token]
    model.set_input_embeddings(nn.Embedding.from_pretrained(weight, freeze=False, padding_idx=padding))
    model.config.vocab_size, model.config.pad_token_id = len(pieces), padding
    options = {name: tokenizer.init_kwargs[name] for name in _TOKENIZER_ARGUMENTS if name in tokenizer.init_kwargs}
    return BertTokenizer(vocab=vocabulary, **options | tokenizer.special_tokens_map)


def keep_layers(model: Any, layers: Sequence[int]) -> None:
    """Leave an encoder some of its layers, by number from 0, in this order.

    Raises:
        ValueError: there is no such layer, or none is left.
    """
    encoder = model.base_model.encoder
    count = len(encoder.layer)
    if not layers or not all(0 <= number < count for number in layers):
        raise ValueError(f"layers are {' '.join(map(str, layers))}; this encoder has the layers 0 to {count - 1}")
    encoder.layer = nn.ModuleList(encoder.layer[number] for number in layers)
    model.config.num_hidden_layers = len(layers)


def main(arguments: list[str]) -> None:
    """Cut an encoder, and print its size."""
    parser = argparse.ArgumentParser(prog="small_encoder", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("encoder", help="a BERT: a name on the Hub or a folder")
    parser.add_argument("--layers", nargs="+", type=int, help="layers to keep, from 0; all without it")
    parser.add_argument("--vocab_size", type=int, help="word pieces to keep; all without it")
    parser.add_argument("--steps", type=int, default=0, help="train this many steps to give the states of the whole")
    parser.add_argument(
        "--texts", nargs="+", default=[], help="text files: frequent word pieces are kept, states learnt"
    )
    parser.add_argument("--output_dir", required=True, help="folder of the new encoder")
    given = parser.parse_args(arguments)
    if bool(given.vocab_size or given.steps) != bool(given.texts):
        raise ValueError(
            "--texts belongs to --vocab_size, which keeps its frequent pieces, and to --steps, which read it"
        )
    with loading(given.encoder):
        config = AutoConfig.from_pretrained(given.encoder)
        answers = "BertForQuestionAnswering" in (config.architectures or ())
        model = (AutoModelForQuestionAnswering if answers else AutoModel).from_pretrained(given.encoder)
        tokenizer: Any = AutoTokenizer.from_pretrained(given.encoder)
    if model.config.model_type != "bert" or not isinstance(tokenizer, BertTokenizer):
        raise ValueError(f"{given.encoder} is a {model.config.model_type}; only BERT with its tokenizer can be cut")
    lines = [line for path in given.texts for line in read_text(path).splitlines()]
    if given.layers is not None:
        keep_layers(model, given.layers)
    if given.steps:
        with loading(given.encoder):
            teacher = AutoModel.from_pretrained(given.encoder)
        error = distill_encoder(model.base_model, teacher, tokenizer, lines, steps=given.steps)
        print(f"mean squared error of the states: {error:.4f}")
    if given.vocab_size:
        tokenizer = cut_vocabulary(model, tokenizer, frequent_pieces(tokenizer, lines, given.vocab_size))
    with atomic_folder(Path(given.output_dir)) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    print(
        f"{given.output_dir}: {model.config.num_hidden_layers} layers, {len(tokenizer):,} word pieces, "
        f"{model.num_parameters():,} parameters"
    )


if __name__ == "__main__":
    sys.exit(run_script(main))
