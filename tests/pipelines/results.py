"""Comparison of results."""

from __future__ import annotations

from typing import Any

import pytest


def same(found: Any, expected: Any) -> bool:
    """Whether results are equal, their numbers up to the rounding of another batch."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, abs=1e-5))
    return bool(found == expected)
