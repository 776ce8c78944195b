"""Tiny data, encoders and command lines of each task, for the tests of training scripts: nothing is downloaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, XLNetConfig, XLNetModel, set_seed

from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.tasks import task_named

from .cloze_corpora import recam_rows, save_encoder, write_dictionary, write_recam
from .conftest import SPECIAL_TOKENS
from .negation_rows import negation_rows
from .qa_corpora import write_squad, write_vectors

QUIET = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--logging_steps", "1"]
LAST = ["--eval_strategy", "no", "--load_best_model_at_end", "false", "--save_strategy", "no"]
TINY_BIDAF = '{"hidden_size": 16, "num_attention_heads": 2, "num_char_filters": 8, "dropout": 0.1}'


@dataclass
class TinyTask:
    """A task with data to train and score on.

    Attributes:
        name: of the task.
        files: `train`, `dev`, `test`.
        arguments: of the model, without dropout, and of the learning rate.
        environment: variables that the script needs.
    """

    name: str
    files: dict[str, Path]
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def data(self, *names: str) -> list[str]:
        """The arguments that name files."""
        options = {"train": "--train_file", "dev": "--validation_file", "test": "--test_file"}
        return [word for name in names for word in (options[name], str(self.files[name]))]

    def run(self, folder: Path, *arguments: str, recipe: str | None = None) -> dict[str, Any]:
        """Run the script in this process, and return the record that it has written.

        With a recipe, `arguments` replace those of the task.
        """
        first = [recipe] if recipe else self.arguments
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            record = task_named(self.name).main([*first, *QUIET, *arguments, "--output_dir", str(folder)])
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        assert record == json.loads((folder / "results.json").read_text())
        return record

    def command(self, folder: Path, *arguments: str, processes: int = 1) -> list[str]:
        """The command line that runs the script in a process of its own, or in several."""
        launch = ["-m", f"clozeformers.run_glue_style.{task_named(self.name).script}"]
        several = []
        if processes > 1:
            # accelerate's own --cpu needs MPI; --multi_gpu starts processes through torchrun, and --use_cpu keeps them
            # off the GPU.
            launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
            launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--module"]
            launch += [f"clozeformers.run_glue_style.{task_named(self.name).script}"]
            several = ["--ddp_backend", "gloo"]
        return [sys.executable, *launch, *self.arguments, *QUIET, *arguments, *several, "--output_dir", str(folder)]

    def environ(self) -> dict[str, str]:
        """The environment of such a process."""
        quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
        return {**os.environ, **quiet, **self.environment}

    def start(self, *command: str) -> None:
        """Run a command line to its end."""
        subprocess.run(command, check=True, env=self.environ(), capture_output=True)


def tiny_negation_scope(folder: Path) -> TinyTask:
    """Generated sentences, and BERT with OA-EMB."""
    files = {}
    for seed, (name, size) in enumerate({"train": 68, "dev": 12, "test": 24}.items()):
        files[name] = folder / f"{name}.jsonl"
        write_negation_jsonl(negation_rows(size, seed), files[name])
    arguments = ["--model_name_or_path", str(save_word_encoder(folder / "bert", "bert")), "--num_block_heads", "6"]
    arguments += ["--attention_variant", "OA-EMB", "--head_dropout", "0", "--max_length", "48"]
    return TinyTask("negation_scope", files, [*arguments, "--learning_rate", "1e-3", "--head_learning_rate", "1e-3"])


def tiny_question_answering(folder: Path) -> TinyTask:
    """Questions about who does what, and a new BiDAF."""
    sizes = {"train": 64, "dev": 16, "test": 16}
    files = {name: write_squad(folder / f"{name}.json", size, seed) for seed, (name, size) in enumerate(sizes.items())}
    files["vectors"] = write_vectors(folder / "vectors.txt")
    config = TINY_BIDAF.replace('"dropout": 0.1', '"dropout": 0, "word_dropout": 0, "char_dropout": 0')
    arguments = ["--model_type", "bidaf", "--model_config", config, "--max_length", "60"]
    arguments += ["--max_question_length", "20", "--doc_stride", "16", "--learning_rate", "1e-3"]
    return TinyTask("question_answering", files, arguments)


def tiny_abstract_cloze(folder: Path) -> TinyTask:
    """Questions about the weather, and BERT with WN-DUMA."""
    rows = {"train": recam_rows(64, 0), "dev": recam_rows(24, 1), "test": recam_rows(23, 2, options=(5, 2, 3))}
    files = {name: write_recam(folder / f"{name}.jsonl", some) for name, some in rows.items()}
    arguments = ["--model_name_or_path", str(save_encoder(folder / "bert", "bert", num_layers=2))]
    arguments += ["--num_co_attention_heads", "2", "--co_attention_head_size", "8", "--max_length", "72"]
    arguments += ["--co_attention_dropout", "0", "--learning_rate", "1e-3", "--per_device_train_batch_size", "8"]
    home = {"CLOZEFORMERS_HOME": str(write_dictionary(folder / "home"))}
    return TinyTask("abstract_cloze", files, arguments, home)


TINY_TASKS: dict[str, Callable[[Path], TinyTask]] = {
    "negation_scope": tiny_negation_scope,
    "question_answering": tiny_question_answering,
    "abstract_cloze": tiny_abstract_cloze,
}


def save_word_encoder(folder: Path, kind: str) -> Path:
    """Save an untrained `bert` (hidden size 24) or `xlnet` (32) without dropout, and a tokenizer of generated words."""
    set_seed(0)
    words = sorted(
        {word for row in negation_rows(500, 0) for word in row["tokens"]}.union(["it", "is", "here", "impossible"])
    )
    vocabulary = {word: number for number, word in enumerate([*SPECIAL_TOKENS.values(), *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    sizes: dict[str, Any] = {"vocab_size": len(vocabulary)}
    if kind == "bert":
        sizes |= {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        BertModel(BertConfig(**sizes, **dropout, pad_token_id=0)).save_pretrained(folder)
    else:
        XLNetModel(XLNetConfig(**sizes, d_model=32, n_head=2, n_layer=1, d_inner=32, dropout=0.0)).save_pretrained(
            folder
        )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL_TOKENS).save_pretrained(folder)
    return folder
