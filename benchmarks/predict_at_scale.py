"""`clozeformers predict` over many sentences: speed by engine, peak memory, and the bytes after kills.

    python benchmarks/predict_at_scale.py --output benchmarks/predict_at_scale.json

Generated sentences, every fifth with a cue, are read with the packaged negation model: by one process with one thread,
by `accelerate launch` with two such processes, and by two workers of a local Ray cluster. A last run is killed five
times (SIGKILL), and given again each time. Times include the start of the processes. The bytes that each run wrote are
compared with those of one process.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clozeformers.files import write_json
from clozeformers.training.results import environment

SUBJECTS = [
    "the patient",
    "her brother",
    "the engine",
    "a reviewer",
    "the committee",
    "our guide",
    "the sample",
    "this hotel",
]
VERBS = ["reported", "found", "described", "wanted", "mentioned", "expected", "remembered", "needed"]
NEGATED = ["did not {}", "never {}", "had no reason why it {}", "left without a word before it {}"]
OBJECTS = [
    "pain in the chest",
    "a quiet room",
    "the second result",
    "any change",
    "the old bridge",
    "more time",
    "a clear answer",
]
ENDS = ["last week", "in the morning", "after the test", "at home", "on the first day", "as before"]

COMMAND = [sys.executable, "-m", "clozeformers.cli", "predict", "negation-scope"]
ENGINES = {
    "one process": COMMAND,
    "accelerate, 2 processes": [
        *[sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"],
        *["--module", *COMMAND[2:]],
    ],
    "ray, 2 workers": COMMAND,
}
OPTIONS = {"ray, 2 workers": ["--engine", "ray", "--ray", "workers=2", "--ray", "cpus=0.5"]}
KILLS = 5
BYTES = {None: "–", True: "the same", False: "DIFFERENT"}


def sentence(generator: random.Random, number: int) -> str:
    """A sentence; every fifth has a cue."""
    verb = generator.choice(VERBS)
    if number % 5 == 0:
        verb = generator.choice(NEGATED).format(verb)
    words = f"{generator.choice(SUBJECTS)} {verb} {generator.choice(OBJECTS)} {generator.choice(ENDS)}."
    return f"{words[0].upper()}{words[1:]}"


def run(engine: str, source: Path, folder: Path, limit: float | None = None) -> tuple[float, float, bool]:
    """Run the command, and kill it after `limit` seconds.

    Returns:
        Seconds; the largest peak memory of one process, in MB; whether it ended.
    """
    variables = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "RAY_worker_niceness": "0"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [*ENGINES[engine], str(source), str(folder), *OPTIONS.get(engine, [])],
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return limit or 0.0, 0.0, False
    if process.returncode:
        raise SystemExit(f"{engine} ended with status {process.returncode}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    return time.perf_counter() - start, peak, True


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown, one row a run."""
    lines = [
        "| run | sentences | seconds | sentences/s | ratio | peak memory, MB | bytes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "–"
        speed = f"{row['sentences'] / row['seconds']:.0f}" if row["seconds"] else "–"
        memory = f"{row['peak_mb']:.0f}" if row.get("peak_mb") else "–"
        lines.append(
            f"| {row['run']} | {row['sentences']:,} | {row['seconds']:.0f} | {speed} | {ratio} | {memory} "
            f"| {BYTES[row['same']]} |"
        )
    return "\n".join(lines)


def same(left: Path, right: Path) -> bool:
    """Whether two folders hold the same files."""
    names = sorted(path.name for path in left.iterdir())
    equal, *_ = filecmp.cmpfiles(left, right, names, shallow=False)
    return names == sorted(path.name for path in right.iterdir()) == sorted(equal)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=100_000, help="of the largest run")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    generator, count = random.Random(0), options.sentences
    lines = [sentence(generator, number) for number in range(count)]
    rows: list[dict[str, Any]] = []

    def measured(
        name: str, number: int, seconds: float, memory: float, *, is_same: bool | None = None, **more: Any
    ) -> None:
        row = {"run": name, "sentences": number, "seconds": seconds, "peak_mb": memory, "same": is_same}
        rows.append(row | more)
        print(table(rows[-1:]).splitlines()[-1], flush=True)

    with TemporaryDirectory() as place:
        small, large = Path(place, "small.txt"), Path(place, "large.txt")
        small.write_text("\n".join(lines[: count // 10]))
        large.write_text("\n".join(lines))
        # The peak of all children so far grows only: the small run comes first.
        seconds, memory, _ = run("one process", small, Path(place, "small"))
        measured("one process", count // 10, seconds, memory)
        whole = Path(place, "whole")
        alone, memory, _ = run("one process", large, whole)
        measured("one process", count, alone, memory, ratio=1.0)
        for engine in list(ENGINES)[1:]:
            seconds, _, _ = run(engine, large, Path(place, engine))
            measured(engine, count, seconds, 0.0, is_same=same(whole, Path(place, engine)), ratio=alone / seconds)
            shutil.rmtree(Path(place, engine))
        killed, total, kills = Path(place, "killed"), 0.0, 0
        while kills < KILLS:
            seconds, _, has_ended = run("one process", large, killed, alone * generator.uniform(0.15, 0.3))
            kills, total = kills + (not has_ended), total + seconds
            if has_ended:
                raise SystemExit(f"the run ended after {kills} kills; give more --sentences")
        seconds, _, _ = run("one process", large, killed)
        measured(f"one process, killed {kills} times", count, total + seconds, 0.0, is_same=same(whole, killed))
    if options.output:
        write_json({"rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
