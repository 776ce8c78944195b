"""Speed and memory of QANet and BiDAF, compared to a straightforward implementation.

    python benchmarks/extractive_qa.py --output benchmarks/extractive_qa.json

Training (forward and backward pass) and inference at batch size 32 on contexts of SQuAD's lengths: the library's models
in batches grouped by length in training and sorted by length in inference, beside the straightforward ones of
`straightforward_qa.py`: a QANet padded to 400 words, and a BiDAF over words in batches sorted by length, with the sizes
of the library's. Both run alternately in one process with the same number of threads; a ratio is the median over the
repeats. Peak memory is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from straightforward_qa import (
    CHARACTERS,
    StraightforwardBiDAF,
    StraightforwardQANet,
    loss,
    padded_inputs,
    sorted_batches,
)
from torch import Tensor

from clozeformers import BiDAFConfig, BiDAFForQuestionAnswering, QANetConfig, QANetForQuestionAnswering
from clozeformers.files import write_json
from clozeformers.question_answering.collator import QuestionAnsweringCollator
from clozeformers.training.cpu_steps import CPUSteps
from clozeformers.training.results import environment
from clozeformers.training.sampling import EpochLengthGroupedSampler

BATCH, VOCABULARY = 32, 20_000
OURS: dict[str, Any] = {
    "QANet-128": (QANetForQuestionAnswering, QANetConfig, {}),
    "BiDAF-100": (BiDAFForQuestionAnswering, BiDAFConfig, {"hidden_size": 100, "num_char_filters": 0}),
}
PLAIN = {"QANet-128": StraightforwardQANet, "BiDAF-100": StraightforwardBiDAF}
Batch = dict[str, Tensor]


def examples(number: int) -> list[tuple[Tensor, Tensor]]:
    """Contexts and questions with SQuAD's lengths (137 and 11 tokens on average) and Zipf-distributed words."""
    generator = torch.Generator().manual_seed(0)
    frequencies = 1 / torch.arange(1, VOCABULARY - 3)

    def words(mean: float, spread: float, most: int) -> Tensor:
        length = int((torch.randn((), generator=generator) * spread).exp() * mean)
        return 4 + torch.multinomial(frequencies, min(max(length, 5), most), replacement=True, generator=generator)

    return [(words(126, 0.42, 400), words(10.5, 0.35, 50)) for _ in range(number)]


def characters() -> Tensor:
    """Random characters of each word, ``[V, 16]``, five per word on average."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 10, (VOCABULARY, 1), generator=generator)
    chars = torch.randint(1, 128, (VOCABULARY, CHARACTERS), generator=generator) * (torch.arange(CHARACTERS) < lengths)
    chars[:4] = 0
    return chars


def our_batches(data: list[tuple[Tensor, Tensor]], chars: Tensor, training: bool) -> list[Batch]:
    """Batches grouped by length in random order, as in training, or sorted by length, as in evaluation."""
    features = []
    for context, question in data:
        ids = torch.cat([torch.tensor([2]), question, torch.tensor([3]), context, torch.tensor([3])])
        types = torch.arange(len(ids)) >= len(question) + 2
        place = len(question) + 2 + len(context) // 2
        features.append(
            {
                "input_ids": ids.numpy(),
                "token_type_ids": types.long().numpy(),
                "char_ids": chars[ids].numpy(),
                "start_positions": place,
                "end_positions": place,
            }
        )
    lengths = [len(feature["input_ids"]) for feature in features]
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    if training:
        order = list(EpochLengthGroupedSampler(BATCH, lengths, seed=0))
    collate = QuestionAnsweringCollator(pad_token_id=0)
    return [collate([features[n] for n in order[first : first + BATCH]]) for first in range(0, len(order), BATCH)]


def our_step(name: str) -> tuple[torch.nn.Module, Callable[[Batch], Any]]:
    """The library's model and the function that runs a batch."""
    torch.manual_seed(0)
    model_class, config_class, sizes = OURS[name]
    model = model_class(config_class(vocab_size=VOCABULARY, **sizes))

    def step(batch: Batch) -> None:
        if model.training:
            with CPUSteps():  # as the library's Trainer
                model(**batch).loss.backward()
            model.zero_grad()
        else:
            with torch.inference_mode():
                model(**{key: value for key, value in batch.items() if not key.endswith("positions")})

    return model, step


def plain_inputs(name: str, data: list[tuple[Tensor, Tensor]], chars: Tensor, batches: int) -> list[list[Tensor]]:
    """The batches of the straightforward model; of QANet, which is slow, only the first ones."""
    if name == "BiDAF-100":
        return sorted_batches(data, BATCH)
    return [padded_inputs(data[first : first + BATCH], chars) for first in range(0, BATCH * batches, BATCH)]


def plain_step(name: str) -> tuple[torch.nn.Module, Callable[[list[Tensor]], Any]]:
    """The straightforward model and the function that runs a batch."""
    torch.manual_seed(0)
    model = PLAIN[name](VOCABULARY)

    def step(batch: list[Tensor]) -> None:
        if model.training:
            loss(model(*batch), (batch[0] != 0).sum(1) // 2).backward()
            model.zero_grad()
        else:
            with torch.inference_mode():
                model(*batch)

    return model, step


def examples_per_second(step: Callable[[Any], Any], batches: list[Any]) -> float:
    """Throughput of one pass over all batches."""
    started = time.perf_counter()
    for batch in batches:
        step(batch)
    return BATCH * len(batches) / (time.perf_counter() - started)


def measure(name: str, batches: int, plain_batches: int, repeats: int, memory: dict[str, float]) -> dict[str, Any]:
    """One row of the table, with both implementations timed alternately."""
    data, chars = examples(BATCH * batches), characters()
    plain = plain_inputs(name, data, chars, plain_batches)
    (model, step), (other, other_step) = our_step(name), plain_step(name)
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    row: dict[str, Any] = {"model": name, "parameters": parameters, "peak_megabytes": memory}
    for mode, training in (("training", True), ("inference", False)):
        ours = our_batches(data, chars, training)
        model.train(training), other.train(training)
        step(ours[0]), other_step(plain[0])
        pairs = [(examples_per_second(step, ours), examples_per_second(other_step, plain)) for _ in range(repeats)]
        row[mode] = {
            "examples_per_second": statistics.median(fast for fast, _ in pairs),
            "straightforward": statistics.median(slow for _, slow in pairs),
            "ratio": statistics.median(fast / slow for fast, slow in pairs),
        }
    return row


def peak_memory(name: str, kind: str) -> float:
    """Peak memory of a training process in MB, less that of a process that only imports the modules."""
    sizes = [
        float(
            subprocess.run([sys.executable, __file__, "--memory", name, what], check=True, capture_output=True).stdout
        )
        for what in (kind, "nothing")
    ]
    return sizes[0] - sizes[1]


def use_memory(name: str, kind: str) -> None:
    """Train on two batches and print the peak memory in MB."""
    data, chars = examples(2 * BATCH), characters()
    if kind == "library":
        _, step = our_step(name)
        for batch in our_batches(data, chars, training=True):
            step(batch)
    elif kind == "straightforward":
        _, other_step = plain_step(name)
        for batch in plain_inputs(name, data, chars, 2):
            other_step(batch)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown table of throughput and memory, with the straightforward implementation in parentheses."""
    lines = [
        "| model | parameters trained | training, examples/s | inference, examples/s | peak memory, MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        speeds = [row[mode] for mode in ("training", "inference")]
        cells = [
            f"{speed['examples_per_second']:.1f} ({speed['straightforward']:.1f}; {speed['ratio']:.1f} times)"
            for speed in speeds
        ]
        memory = row["peak_megabytes"]
        cells.append(f"{memory['library']:,.0f} ({memory['straightforward']:,.0f})")
        lines.append(f"| {row['model']} | {row['parameters']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=8, help="batches of the library's models per repeat")
    parser.add_argument("--plain_batches", type=int, default=1, help="batches of the straightforward QANet per repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=list(OURS), default=list(OURS), help="models to measure")
    parser.add_argument("--output", type=Path, help="JSON file to write; rows of other models are kept")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        use_memory(*options.memory)
        return
    # Measured first: the peak memory of a child process includes that of its parent at the time of the fork.
    memory = {
        name: {kind: peak_memory(name, kind) for kind in ("library", "straightforward")} for name in options.models
    }
    sizes = (options.batches, options.plain_batches, options.repeats)
    rows = [measure(name, *sizes, memory[name]) for name in options.models]
    if options.output and options.output.exists():
        rows += [row for row in json.loads(options.output.read_text())["rows"] if row["model"] not in options.models]
    rows.sort(key=lambda row: list(OURS).index(row["model"]))
    print(table(rows))
    if options.output:
        write_json({"rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
