"""Hostile inputs give a result that can be used or an error that explains itself: `make fuzz` tries 100,000 of them."""

from __future__ import annotations

import json
import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from clozeformers.abstract_cloze import load_recam
from clozeformers.errors import is_user_error
from clozeformers.negation_scope import load_corpus
from clozeformers.question_answering import load_squad
from clozeformers.question_answering.word_vectors import read_word_vectors

from . import cloze_models, qa_models
from .cloze_corpora import recam_rows, write_recam
from .fuzz import damage, mutate
from .hub_models import tiny_pipeline
from .modeling.test_common import CASES, TASKS
from .negation_scope.test_corpora import BIOSCOPE, CD_SCO, JSONL, SFU
from .qa_corpora import PEOPLE, write_squad, write_vectors

NUMBER = int(os.environ.get("CLOZEFORMERS_FUZZ", "1200"))
SECONDS = 20.0  # for one input


def fuzz(
    name: str,
    share: float,
    attempt: Callable[[random.Random], str],
    errors: tuple[type[Exception], ...],
    names: str = "",
) -> None:
    """Try many inputs; print how many were accepted, and how many refused by which error, which `names` a file."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(int(NUMBER * share)):
        generator, start = random.Random(f"{name} {number}"), time.process_time()
        try:
            outcomes[attempt(generator)] += 1
        except errors as error:
            outcomes[type(error).__name__] += 1
            told = str(error)
            if (
                not is_user_error(error)
                or names not in told
                or not told.strip()
                or len(told) > 1500
                or error.__cause__ is error
            ):
                failures.append(f"{name} {number}: {type(error).__name__}: {told:.200}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcomes["failed"] += 1
            failures.append(
                f"{name} {number}: {type(error).__name__} in {where.filename}:{where.lineno}: {error!s:.200}"
            )
        if time.process_time() - start > SECONDS:
            failures.append(f"{name} {number}: took {time.process_time() - start:.0f} s")
    print(f"{name}: {sum(outcomes.values()):,} inputs: {dict(outcomes.most_common())}")
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:20])


# ------------------------------------------------------------------------------------------------------------ pipelines

NEGATION = [
    "I do not know.",
    {"text": "He is never in, but not out."},
    {"text": "I do not know.", "cues": ["not"]},
    {"text": "I do not know.", "cues": [{"start": 5, "end": 8}]},
    {"tokens": ["I", "do", "not", "know", "."], "cues": [[2]]},
]
QA = [{"question": "Who sits on the mat?", "context": qa_models.CONTEXT}, {"question": "?", "context": "."}]
CLOZE = [{"article": cloze_models.ARTICLE, "question": cloze_models.QUESTION, "options": cloze_models.OPTIONS}]
PIPELINES: dict[str, tuple[Callable[[], Any], list[Any], dict[str, Any]]] = {
    "negation-scope": (lambda: tiny_pipeline("bert"), NEGATION, {"batch_size": 2}),
    "extractive-question-answering": (
        lambda: qa_models.tiny_reader("word"),
        QA,
        {
            "top_k": [2],
            "max_answer_len": [5],
            "doc_stride": [3],
            "max_seq_len": [20],
            "handle_impossible_answer": [True],
        },
    ),
    "abstract-cloze": (lambda: cloze_models.tiny_cloze("bert"), CLOZE, {"top_k": 1}),
}


@pytest.mark.parametrize("task", PIPELINES)
def test_pipelines(task: str) -> None:
    build, valid, keywords = PIPELINES[task]
    pipe = build()

    def attempt(generator: random.Random) -> str:
        given = generator.choice([generator.choice(valid), list(valid)])
        arguments = {}
        if generator.random() < 0.8:
            given = mutate(given, generator)
        else:
            key = generator.choice(list(keywords))
            arguments = {key: mutate(keywords[key], generator)}
            arguments = {
                key: value[0] if isinstance(value, list) and value else value for key, value in arguments.items()
            }
        output = pipe(given, **arguments)
        json.dumps(output, allow_nan=False)
        for found in spans(output):
            if isinstance(given, str):
                assert given[found["start"] : found["end"]] == found["text"]
        return "answered"

    fuzz(task, 0.1, attempt, (ValueError, TypeError))


def spans(output: Any) -> list[dict[str, Any]]:
    if isinstance(output, list):
        return [span for item in output for span in spans(item)]
    return [output["cue"], *output["scope"]] if isinstance(output, dict) and isinstance(output.get("cue"), dict) else []


# --------------------------------------------------------------------------------------------------------------- files


def files(folder: Path) -> dict[str, tuple[Path, Callable[[Path], Any]]]:
    """By name: a valid file, and its reader."""
    texts = {"cd-sco.txt": CD_SCO, "bioscope.xml": BIOSCOPE, "sfu.xml": SFU, "negation.jsonl": JSONL}
    read: dict[str, tuple[Path, Callable[[Path], Any]]] = {}
    for name, text in texts.items():
        (folder / name).write_text(text)
        read[name] = folder / name, load_corpus
    read["squad.json"] = write_squad(folder / "squad.json", 4, seed=1, unanswerable=0.3), load_squad
    read["recam.jsonl"] = write_recam(folder / "recam.jsonl", recam_rows(3, seed=1)), load_recam
    read["vectors.txt"] = write_vectors(folder / "vectors.txt"), lambda path: read_word_vectors(path, PEOPLE)[0]
    return read


FILES = ("cd-sco.txt", "bioscope.xml", "sfu.xml", "negation.jsonl", "squad.json", "recam.jsonl", "vectors.txt")


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    valid, read = files(tmp_path)[name]
    content, path = valid.read_bytes(), tmp_path / f"damaged-{name}"

    def attempt(generator: random.Random) -> str:
        damaged = content
        if name.endswith(("json", "jsonl")) and generator.random() < 0.6:
            mutated = mutate([json.loads(line) for line in content.splitlines()], generator)
            rows = mutated if isinstance(mutated, list) else [mutated]
            damaged = "\n".join(json.dumps(row, default=str) for row in rows).encode(errors="replace")
        else:
            damaged = damage(content, generator)
        path.write_bytes(damaged)
        len(read(path))
        return "read"

    fuzz(name, 0.08, attempt, (ValueError, OSError), names=path.name)


# -------------------------------------------------------------------------------------------------------------- configs


def test_configs(tmp_path: Path) -> None:
    """A config that is accepted has sizes that a model can be built with."""
    cases = [CASES[task.name][0](task, model) for task in TASKS for model in task.models]

    def attempt(generator: random.Random) -> str:
        case = generator.choice(cases)
        config = case.config()
        own = config.head_fields() if hasattr(config, "head_fields") else set(config.to_diff_dict()) - {"model_type"}
        fields = mutate({name: getattr(config, name) for name in own}, generator)
        hostile = {str(key): value for key, value in fields.items()} if isinstance(fields, dict) else {}
        saved = config.to_dict() | hostile
        (tmp_path / "config.json").write_text(json.dumps(saved, default=str))
        read = AutoConfig.from_pretrained(tmp_path)
        with torch.device("meta"):
            AutoModel.from_config(read)
        return "built"

    fuzz("configs", 0.2, attempt, (ValueError,))
