"""Checkpoints that carry their code: they load where this library is not installed.

`save_with_code` writes weights, config, tokenizer and the source files that these need. With `trust_remote_code=True`
transformers runs those files; where the library is imported, its own registered classes are used instead.
"""

from __future__ import annotations

import shutil
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from huggingface_hub import CommitInfo
from transformers import Pipeline, PreTrainedModel
from transformers.tokenization_utils_base import TOKENIZER_CONFIG_FILE
from transformers.utils import CONFIG_NAME

from .files import atomic_folder, read_json, write_json
from .hub_export import PACKAGE, flat_name, write_sources
from .modeling.attention import ATTENTIONS
from .tasks import Task, task_of_model
from .training.pretrained import upload


def save_with_code(
    model_or_pipeline: PreTrainedModel | Pipeline, folder: str | PathLike[str], tokenizer: Any = None
) -> list[Path]:
    """Save a model so that it loads without this library.

    `AutoConfig`, `AutoModel`, the task's own auto class (such as `AutoModelForTokenClassification`), `AutoTokenizer`
    and `pipeline` load the folder, each with `trust_remote_code=True`.

    Args:
        model_or_pipeline: one of the library's models, or a pipeline around one.
        folder: is created; files of the same names are replaced.
        tokenizer: saved beside the model; a pipeline brings its own.

    Returns:
        The source files written.

    Raises:
        TypeError: it is neither a model nor a pipeline of the library.
        ValueError: its class or its attention is defined outside of the library.
        NotADirectoryError: the folder is a file.
    """
    model, tokenizer, task = _unpack(model_or_pipeline, tokenizer)
    folder = Path(folder)
    with atomic_folder(folder) as unfinished:
        sources = _save_with_code(model, tokenizer, task, unfinished)
    return [folder / source.name for source in sources]


def _save_with_code(model: PreTrainedModel, tokenizer: Any, task: Task, folder: Path) -> list[Path]:
    _save(model, tokenizer, folder)
    modules = [cls.__module__ for cls in (type(model.config), type(model), task.pipeline)]
    if _is_own(type(tokenizer)):
        modules.append(type(tokenizer).__module__)
        _update(folder / TOKENIZER_CONFIG_FILE, auto_map={"AutoTokenizer": [_reference(type(tokenizer)), None]})
    auto_model, reference = task.auto_model.__name__, _reference(type(model))
    # Into the file, not into `model.config`: the caller's model is left as it is.
    _update(
        folder / CONFIG_NAME,
        auto_map={"AutoConfig": _reference(type(model.config)), "AutoModel": reference, auto_model: reference},
        custom_pipelines={task.pipeline_name: {"impl": _reference(task.pipeline), "pt": [auto_model], "type": "text"}},
    )
    return write_sources(modules, folder)


def push_to_hub(
    model_or_pipeline: PreTrainedModel | Pipeline,
    repo_id: str,
    *,
    with_code: bool = True,
    tokenizer: Any = None,
    token: str | bool | None = None,
    private: bool | None = None,
    revision: str | None = None,
    **upload_arguments: Any,
) -> CommitInfo:
    """Save a model as `save_with_code` does and upload it; repository and branch are created if need be.

    Args:
        model_or_pipeline: one of the library's models, or a pipeline around one.
        repo_id: `"owner/name"`.
        with_code: upload the source files too; without them, the model loads where this library is imported.
        tokenizer: uploaded beside the model; a pipeline brings its own.
        token: as for `huggingface_hub.upload_folder`.
        private: whether a new repository is private.
        revision: the branch.
        **upload_arguments: of `huggingface_hub.upload_folder`, such as `commit_message` and `create_pr`.

    Raises:
        TypeError, ValueError: as `save_with_code`, before anything is uploaded.
        ConnectionError: the Hub cannot be reached or refuses it.
    """
    with TemporaryDirectory() as folder:
        if with_code:
            save_with_code(model_or_pipeline, folder, tokenizer)
        else:
            model, tokenizer, _ = _unpack(model_or_pipeline, tokenizer)
            _save(model, tokenizer, Path(folder))
        upload_arguments = {"commit_message": "Upload model", **upload_arguments}
        return upload(folder, repo_id, token=token, private=private, revision=revision, **upload_arguments)


def _unpack(model_or_pipeline: Any, tokenizer: Any) -> tuple[PreTrainedModel, Any, Task]:
    """Return the model, the tokenizer and the task, or raise an error if the model cannot be saved with its code."""
    model = model_or_pipeline
    if isinstance(model_or_pipeline, Pipeline):
        model = model_or_pipeline.model
        tokenizer = tokenizer if tokenizer is not None else model_or_pipeline.tokenizer
    task = task_of_model(type(model))
    if task is None:
        raise TypeError(
            f"{type(model).__name__} is no model of {PACKAGE}; load one with AutoModelForNegationScope, "
            "AutoModelForAbstractCloze or AutoModelForQuestionAnswering and from_pretrained(...), without "
            "trust_remote_code"
        )
    classes: list[type] = [type(model), type(model.config)]
    attention = getattr(model.config, "attention_variant", getattr(model.config, "attention", None))
    if attention in ATTENTIONS and not getattr(model.config, "is_baseline", False):
        classes.append(ATTENTIONS[attention])
    foreign = [f"{cls.__module__}.{cls.__qualname__}" for cls in classes if not _is_own(cls)]
    if foreign:
        raise ValueError(
            f"only the code of {PACKAGE} itself can be saved beside a model, but this one also needs "
            f"{', '.join(foreign)}; use save_pretrained(...), and import your code before loading"
        )
    return model, tokenizer, task


def _save(model: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Save weights, config, tokenizer and the model card from the folder that the model was loaded from."""
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    origin = Path(model.name_or_path or folder)
    card = origin / "README.md"
    if card.is_file() and card.resolve().parent != folder.resolve() and _is_of(origin, model):
        shutil.copy(card, folder)


def _is_of(origin: Path, model: PreTrainedModel) -> bool:
    """Whether a folder holds a model of this class, rather than the encoder that it was built on."""
    config = origin / CONFIG_NAME
    return config.is_file() and type(model).__name__ in (read_json(config).get("architectures") or ())


def _is_own(cls: type) -> bool:
    return cls.__module__.startswith(f"{PACKAGE}.")


def _reference(cls: type) -> str:
    """The name of a class in `auto_map`: that of its file, and its own."""
    return f"{flat_name(cls.__module__)}.{cls.__name__}"


def _update(path: Path, **entries: Any) -> None:
    write_json(read_json(path) | entries, path)
