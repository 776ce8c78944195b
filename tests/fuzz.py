"""Seeded mutations of valid inputs: values, bytes of files, fields of configs."""

from __future__ import annotations

import copy
import random
from typing import Any

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 10**12, -(10**18), 2**63, 0.0, -1.5, 1e308, float("nan"), float("inf")),
    *("", " ", "\n\t", "\x00", "\ud800", "\u202e\u200d", "e\u0301" * 5, "\U0001f469\u200d\U0001f52c", "\ufeff"),
    *(
        "not",
        "NO",
        "n't",
        "[CLS] [SEP]",
        "<s>",
        "@placeholder",
        "../../etc/passwd",
        "-1",
        "nan",
        "a" * 3000,
        "no " * 99,
    ),
    *([], {}, [[]], [None], [{}], {"text": None}, {"": 1}, {1: 2}, (), b"no", ["not"] * 3, {"text": "no"}),
)


def mutate(value: Any, generator: random.Random) -> Any:
    """A copy in which one to three places are replaced, dropped, doubled, wrapped or renamed."""
    value = copy.deepcopy(value)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        value = _mutate_once(value, generator)
    return value


def _mutate_once(value: Any, generator: random.Random) -> Any:
    if not isinstance(value, (dict, list)) or not value or generator.random() < 0.1:
        return _replacement(value, generator)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = generator.choice(keys)
    change = generator.choice(("inside", "inside", "inside", "inside", "drop", "double", "wrap", "rename"))
    if change == "inside":
        value[key] = _mutate_once(value[key], generator)
    elif change == "drop":
        del value[key]
    elif change == "wrap":
        value[key] = [value[key]]
    elif isinstance(value, list):
        value.insert(key, copy.deepcopy(value[key] if change == "double" else generator.choice(HOSTILE)))
    else:
        value[generator.choice((str(key).upper(), f"{key}s", "text", "id"))] = value[key]
    return value


def _replacement(value: Any, generator: random.Random) -> Any:
    """A hostile value or, of a text, the text damaged."""
    if not isinstance(value, str) or generator.random() < 0.5:
        return copy.deepcopy(generator.choice(HOSTILE))
    place = generator.randrange(len(value) + 1)
    piece = generator.choice([item for item in HOSTILE if isinstance(item, str)])
    return generator.choice(
        (value[:place], value[place:], value[:place] + piece + value[place:], value * 3, value.upper())
    )


def damage(content: bytes, generator: random.Random) -> bytes:
    """The bytes of a file with a piece cut, changed, doubled, moved or encoded otherwise."""
    for _ in range(generator.choice((1, 1, 2, 4))):
        start = generator.randrange(len(content) + 1)
        end = min(len(content), start + generator.choice((1, 1, 2, 7, 40)))
        piece = bytes(generator.randrange(256) for _ in range(generator.choice((1, 3))))
        tokens = (
            b"\n",
            b"\t",
            b'"',
            b"<",
            b"&",
            b"]]>",
            b"null",
            b"NaN",
            b"1e999",
            b"-1",
            b"{}",
            b"[",
            b"\xff\xfe",
            b"***",
        )
        content = generator.choice(
            (
                content[:start],
                content[:start] + content[end:],
                content[:start] + piece + content[end:],
                content[:start] + generator.choice(tokens) + content[start:],
                content[:start] + content[start:end] * 3 + content[end:],
                b"".join(generator.sample(lines, len(lines)) if (lines := content.splitlines(True)) else [content]),
                content.decode("utf-8", "replace").encode("utf-16") if generator.random() < 0.3 else content[start:],
            )
        )
    return content
