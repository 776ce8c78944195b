"""The files of the metrics, loaded by `evaluate.load`."""

from __future__ import annotations

import inspect
import shutil
import sys
from pathlib import Path

import evaluate
import pytest

from clozeformers import metrics


@pytest.mark.parametrize("name", metrics.__all__)
def test_a_metric_loads_from_its_file_alone(tmp_path, monkeypatch, name):
    """Its neighbours and this library are not needed."""
    monkeypatch.setattr("evaluate.config.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("sys.path", [*sys.path])
    for module in [module for module in sys.modules if module.startswith("evaluate_modules")]:
        monkeypatch.delitem(sys.modules, module)
    path = Path(shutil.copy(inspect.getfile(getattr(metrics, name)), tmp_path))
    for module in [module for module in sys.modules if module.partition(".")[0] == "clozeformers"]:
        monkeypatch.setitem(sys.modules, module, None)
    metric = evaluate.load(str(path), cache_dir=str(tmp_path), keep_in_memory=True)
    assert type(metric).__name__ == name
    assert "@inproceedings" in metric.citation
