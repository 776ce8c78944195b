"""`python -m clozeformers.demo`: train a small model from nothing in about a minute, and show what it reads.

No download: the corpus is generated, the vocabulary and the weights are made here. The steps are those of a real
fine-tuning, through the same functions: corpus files, tokenizer, encoder, training, scores, pipeline.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, pipeline, set_seed

from .cli import show_scopes, terminal_has_colour
from .negation_scope.arguments import NegationDataArguments, NegationModelArguments, NegationTrainingArguments
from .negation_scope.corpora.jsonl import write_negation_jsonl
from .negation_scope.corpora.schema import NegationRow
from .negation_scope.demo_corpus import DEMO_SENTENCES, generate_demo_corpus
from .negation_scope.runs import run_negation_scope
from .training.recipe import parse_recipe

TRAINING_SENTENCES = 8_000
TEST_SENTENCES = 2_000
SEED = 1
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
RECIPE = """
--attention_variant OA-CA --num_block_heads 8 --head_dropout 0.1 --max_length 64
--per_device_train_batch_size 64 --per_device_eval_batch_size 128 --num_train_epochs 3
--learning_rate 1e-3 --head_learning_rate 1e-3 --warmup_steps 0.1 --lr_scheduler_type linear
--save_strategy no --logging_strategy epoch --log_level error --seed 1
"""


def main(arguments: list[str] | None = None) -> None:
    """Run the demo; `--folder` says where its files go."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".demo"), help="where the files go (default: .demo)")
    parser.add_argument("--sentences", type=int, default=TRAINING_SENTENCES, help="training sentences to generate")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # matrices this small gain nothing from a second thread, and lose much on a busy machine
    model_folder = train(options.folder, options.sentences)
    show(model_folder)


def train(folder: Path, sentences: int) -> Path:
    """Generate the corpora, train, score, and return the folder of the trained model."""
    training = generate_demo_corpus(sentences, seed=SEED)
    seen = {tuple(row["tokens"]) for row in training}
    held_out = [row for row in generate_demo_corpus(TEST_SENTENCES, seed=SEED + 1) if tuple(row["tokens"]) not in seen]
    folder.mkdir(parents=True, exist_ok=True)
    write_negation_jsonl(training, folder / "train.jsonl")
    write_negation_jsonl(held_out, folder / "held-out.jsonl")
    print(f"{len(training)} cues to train on, {len(held_out)} held out, in {folder}/*.jsonl")
    save_untrained_encoder(folder / "encoder", training)
    command = (
        f"--model_name_or_path {folder}/encoder --train_file {folder}/train.jsonl --test_file {folder}/held-out.jsonl "
        f"--output_dir {folder}/model {RECIPE}"
    ).split()
    # A demo starts afresh: what an earlier one measured is not this one's result.
    for old in (folder / "model").glob("*results.json"):
        old.unlink()
    classes = (NegationModelArguments, NegationDataArguments, NegationTrainingArguments)
    model_args, data_args, training_args = parse_recipe(classes, command)
    training_args.disable_tqdm = not sys.stderr.isatty()
    print(run_negation_scope(model_args, data_args, training_args, command))
    return folder / "model"


def save_untrained_encoder(folder: Path, rows: list[NegationRow]) -> None:
    """Save a small BERT with random weights, and a lower-case word-piece tokenizer of the corpus."""
    set_seed(SEED)
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    texts = (normalizer.normalize_str(" ".join(row["tokens"])) for row in rows)
    words = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(text))
    # Not trained: the trainer breaks ties differently in every run, and with it the model that the demo prints.
    characters = sorted({character for word in words for character in word})
    pieces = [*SPECIAL_TOKENS, *characters, *(f"##{character}" for character in characters)]
    pieces += sorted(word for word, count in words.items() if count > 1 and len(word) > 1)
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, splitter, decoders.WordPiece()
    cls, sep = (SPECIAL_TOKENS.index(token) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    names: dict[str, Any] = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL_TOKENS, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    BertModel(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=128,
            hidden_dropout_prob=0.1,
        ),
        add_pooling_layer=False,
    ).save_pretrained(folder)


def show(model_folder: Path) -> None:
    """Load the model again, by name, and print the scopes of sentences that no grammar made."""
    negation = pipeline("negation-scope", model=str(model_folder))
    print("\nRead by pipeline('negation-scope'), cue and scope marked:\n")
    for sentence in DEMO_SENTENCES:
        print(show_scopes(sentence, negation(sentence), colour=terminal_has_colour()))


if __name__ == "__main__":
    main()
