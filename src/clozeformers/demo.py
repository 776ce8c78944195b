"""Train a small negation scope model from scratch in about a minute and print the scopes it predicts.

Nothing is downloaded: the corpus is generated, the encoder is initialized with random weights. The remaining steps are
those of a real fine-tuning: corpus files, tokenizer, training script, pipeline.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizer, pipeline, set_seed

from .cli.drawing import show_scopes, terminal_has_colour
from .files import atomic_folder
from .negation_scope.corpora.jsonl import write_negation_jsonl
from .negation_scope.corpora.schema import NegationRow
from .negation_scope.demo_corpus import DEMO_SENTENCES, generate_demo_corpus
from .run_glue_style.run_negation_scope import main as run_negation_scope

SEED = 1
RECIPE = """
--attention_variant OA-CA --num_attention_blocks 1 --num_block_heads 8 --head_dropout 0.1 --max_length 64
--per_device_train_batch_size 32 --per_device_eval_batch_size 128 --num_train_epochs 3
--learning_rate 2e-3 --head_learning_rate 2e-3 --warmup_steps 0.1 --lr_scheduler_type linear
--save_strategy no --logging_strategy epoch --log_level error --seed 1
"""


def main(arguments: list[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".demo"), help="output folder (default: .demo)")
    parser.add_argument("--sentences", type=int, default=5000, help="number of training sentences")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    torch.set_num_threads(1)  # a second thread does not speed up matrices this small
    training = generate_demo_corpus(options.sentences, SEED)
    seen = {tuple(row["tokens"]) for row in training}
    held_out = [row for row in generate_demo_corpus(1000, SEED + 1) if tuple(row["tokens"]) not in seen]
    shutil.rmtree(folder / "model", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_negation_jsonl(training, folder / "train.jsonl")
    write_negation_jsonl(held_out, folder / "held-out.jsonl")
    with atomic_folder(folder / "encoder") as encoder:
        save_untrained_encoder(encoder, training)
    run_negation_scope(
        [
            *("--model_name_or_path", f"{folder}/encoder", "--output_dir", f"{folder}/model"),
            *("--train_file", f"{folder}/train.jsonl", "--test_file", f"{folder}/held-out.jsonl"),
            *("--disable_tqdm", str(not sys.stderr.isatty()), *RECIPE.split()),
        ]
    )
    negation = pipeline("negation-scope", model=f"{folder}/model")
    for sentence in DEMO_SENTENCES:
        print(show_scopes(sentence, negation(sentence), colour=terminal_has_colour()))


def save_untrained_encoder(folder: Path, rows: list[NegationRow]) -> None:
    """Save a two-layer BERT with random weights and a word-piece tokenizer."""
    set_seed(SEED)
    counts = Counter(word.lower() for row in rows for word in row["tokens"] if len(word) > 1)
    characters = sorted({character for word in counts for character in word} | set(".,;:?!-'’“”\""))
    # Every eighth word is left to the characters, so that the model learns to read words outside the vocabulary.
    words = [word for number, word in enumerate(sorted(counts)) if number % 8 or counts[word] > len(rows) / 100]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters), *words]
    BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)}).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=128,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)


if __name__ == "__main__":
    main()
