"""The unit of work: a batch of rows in, the predictions of a pipeline out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from transformers import pipeline

from ..files import finite_or_none
from ..pipelines.base import check_device
from ..tasks import task_named
from ..text import did_you_mean
from ..training.pretrained import loading

PREDICTION, ERROR = "prediction", "error"
_TEXT = ("text",)


class Predictor:
    """Run a task's pipeline on batches of rows.

    It is what `map` of `datasets` and `map_batches` of Ray Data call alike. It returns the columns of the batch too, as
    Ray needs them; hence `remove_columns` of `map` removes none::

        rows.map(Predictor("negation-scope"), batched=True)
        rows.map_batches(Predictor, fn_constructor_args=["negation-scope"], concurrency=8)

    Args:
        task: name of the pipeline.
        model: a folder or a name on the Hub; None for the packaged model.
        columns: names of the columns that are the pipeline's inputs, where they are others: `{"text": "sentence"}`.
        on_error: `"raise"`, or `"skip"`: a row that cannot be read has no prediction, and the reason as its error.
        batch_size: rows in a forward pass.
        **options: of the pipeline, such as `device` and `convention`.
    """

    def __init__(
        self,
        task: str,
        model: str | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        on_error: str = "raise",
        batch_size: int = 32,
        **options: Any,
    ) -> None:
        names = task_named(task).pipeline.input_names or _TEXT
        for name in columns or {}:
            if name not in names:
                hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
                raise ValueError(f"{task} has no input {name!r}{hint}")
        self.columns = {name: (columns or {}).get(name, name) for name in names}
        self.on_error = on_error
        check_device(options.get("device"))
        with loading(model, options.get("revision")) if model is not None else nullcontext():
            self.pipeline = pipeline(task, model=model, batch_size=batch_size, trust_remote_code=False, **options)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Predict a batch.

        Args:
            batch: column -> values.

        Returns:
            The columns, `prediction`, as JSON, and `error`, empty where there is none; values of one type, whatever
            the results.

        Raises:
            ValueError: a column is missing, or has the name of a result; a row cannot be read, unless `on_error` is
                `"skip"`.
        """
        if taken := {PREDICTION, ERROR} & set(batch):
            raise ValueError(f"the rows have a column {', '.join(sorted(taken))} already; rename it")
        columns = self._columns_in(batch)
        missing = [column for column in columns.values() if column not in batch]
        if missing:
            given = " ".join(f"--column {name}=NAME" for name, column in columns.items() if column in missing)
            raise ValueError(f"there is no column {', '.join(missing)}; there are {', '.join(batch)}: give {given}")
        values = zip(*(map(_plain, batch[column]) for column in columns.values()), strict=True)
        inputs = [dict(zip(columns, row, strict=True)) for row in values]
        # As a stream: of a list of one input, some pipelines return the result alone.
        results = list(self.pipeline(iter(inputs), on_error=self.on_error))
        failed = [isinstance(result, dict) and set(result) == {"error"} for result in results]
        return dict(batch) | {
            PREDICTION: [
                "" if is_failed else json.dumps(finite_or_none(result), ensure_ascii=False)
                for result, is_failed in zip(results, failed, strict=True)
            ],
            ERROR: [result["error"] if is_failed else "" for result, is_failed in zip(results, failed, strict=True)],
        }

    def _columns_in(self, batch: Mapping[str, Any]) -> dict[str, str]:
        """The inputs and their columns; in place of a list that has none, the numbered columns of its parts."""
        columns = dict(self.columns)
        for name, prefix in type(self.pipeline).numbered_inputs.items():
            numbered = [column for column in batch if column.startswith(prefix) and column[len(prefix) :].isdecimal()]
            if columns[name] not in batch and numbered:
                del columns[name]
                columns |= {column: column for column in numbered}
        return columns


def _plain(value: Any) -> Any:
    """A value as Python has it: Ray hands over arrays of numpy."""
    return value.tolist() if hasattr(value, "tolist") else value
