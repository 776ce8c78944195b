"""Load pipelines for commands: quietly, and without the code of a checkpoint."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

MODEL_HELP = "A folder or a name on the Hub  [default: the packaged model]"


def load_pipeline(model: str | None, task: str | None = None) -> Any:
    """Load a pipeline.

    Args:
        model: a folder or a name on the Hub; None for the packaged model of the task.
        task: name of the pipeline; None for that of the model.

    Raises:
        ValueError: the model cannot be loaded, or is of no task.
    """
    import transformers

    from ..tasks import task_of_config
    from ..training.pretrained import loading

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Unless trust_remote_code is False, transformers asks on the standard input, where the texts may come from.
    if task is None:
        assert model is not None
        with loading(model):
            config = transformers.AutoConfig.from_pretrained(model, trust_remote_code=False)
        own = task_of_config(config)
        if own is None:
            raise ValueError(f"{model} is no model of clozeformers but of type {config.model_type!r}")
        task = own.pipeline_name
    with loading(model) if model is not None else nullcontext():
        return transformers.pipeline(task, model=model, trust_remote_code=False)
