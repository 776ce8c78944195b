"""Checkpoints that carry their code: they load where this library is not installed.

A folder written by `save_with_code` holds weights, config, tokenizer and the source files that these need. With
`trust_remote_code=True` transformers runs those files; where the library is imported its own, registered classes are
used instead and nothing from the folder is run.
"""

from __future__ import annotations

import json
import shutil
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from huggingface_hub import CommitInfo, create_branch, create_repo, upload_folder
from transformers import Pipeline, PreTrainedModel
from transformers.utils import CONFIG_NAME

from .hub_export import PACKAGE, flat_name, write_sources
from .modeling.modeling_negation_scope import NegationScopeMixin
from .modeling.modeling_wn_duma import WNDumaMixin
from .modeling.modeling_word_reader import WordReaderForQuestionAnswering
from .modeling.orthogonal_attention import VARIANTS
from .modeling.tokenization_word_char import WordCharTokenizer
from .pipelines.abstract_cloze import AbstractClozePipeline
from .pipelines.negation_scope import NegationScopePipeline
from .pipelines.question_answering import ExtractiveQuestionAnsweringPipeline

_CARD = "README.md"
_TOKENIZER_CONFIG = "tokenizer_config.json"


class _Kind(NamedTuple):
    """How models of a kind are loaded."""

    model_class: type[PreTrainedModel]
    auto_model: str
    task: str
    pipeline: type[Pipeline]


_KINDS = (
    _Kind(NegationScopeMixin, "AutoModelForTokenClassification", "negation-scope", NegationScopePipeline),
    _Kind(
        WordReaderForQuestionAnswering,
        "AutoModelForQuestionAnswering",
        "extractive-question-answering",
        ExtractiveQuestionAnsweringPipeline,
    ),
    _Kind(WNDumaMixin, "AutoModelForMultipleChoice", "abstract-cloze", AbstractClozePipeline),
)


def save_with_code(
    model_or_pipeline: PreTrainedModel | Pipeline, folder: str | PathLike[str], tokenizer: Any = None
) -> list[Path]:
    """Save a model so that it loads without this library.

    The folder then serves `AutoConfig`, the model's auto class (`AutoModelForTokenClassification`,
    `AutoModelForQuestionAnswering` or `AutoModelForMultipleChoice`), `AutoTokenizer` and the task's `pipeline`, each
    with `trust_remote_code=True`.

    Args:
        model_or_pipeline: one of the library's models, or a pipeline around one.
        folder: where to; made if it is not there. Files of the same names are replaced.
        tokenizer: saved beside the model; a pipeline brings its own, and needs one.

    Returns:
        The source files written.

    Raises:
        TypeError: if it is neither a model nor a pipeline of the library.
        ValueError: if its class, or its attention variant, is defined outside of the library, so that its code would be
            missing.
        NotADirectoryError: if the folder is a file.
    """
    model, tokenizer = _parts(model_or_pipeline, tokenizer)
    kind = _kind(model)
    target = _save_plain(model, tokenizer, Path(folder))
    modules = [cls.__module__ for cls in (type(model.config), type(model), kind.pipeline)]
    if isinstance(tokenizer, WordCharTokenizer):
        modules.append(WordCharTokenizer.__module__)
        _update(target / _TOKENIZER_CONFIG, {"auto_map": {"AutoTokenizer": [_reference(WordCharTokenizer), None]}})
    sources = write_sources(modules, target)
    # Into the file, not into `model.config`: the caller's model keeps the config it had.
    _update(
        target / CONFIG_NAME,
        {
            "auto_map": {"AutoConfig": _reference(type(model.config)), kind.auto_model: _reference(type(model))},
            "custom_pipelines": {
                kind.task: {"impl": _reference(kind.pipeline), "pt": [kind.auto_model], "type": "text"}
            },
        },
    )
    return sources


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
    """Save a model as `save_with_code` does and upload it; repository and branch are made if they are not there.

    Args:
        model_or_pipeline: one of the library's models, or a pipeline around one.
        repo_id: `"owner/name"`.
        with_code: upload the source files too; without them, the model loads where this library is imported.
        tokenizer: uploaded beside the model; a pipeline brings its own.
        token: as for `huggingface_hub.upload_folder`.
        private: whether a repository that is made is private.
        revision: the branch.
        **upload_arguments: of `huggingface_hub.upload_folder`, such as `commit_message` and `create_pr`.

    Returns:
        What `upload_folder` returns.

    Raises:
        TypeError, ValueError: as `save_with_code`, before anything is uploaded.
    """
    with TemporaryDirectory() as folder:
        if with_code:
            save_with_code(model_or_pipeline, folder, tokenizer)
        else:
            _save_plain(*_parts(model_or_pipeline, tokenizer), Path(folder))
        repo_id = create_repo(repo_id, token=token, private=private, exist_ok=True).repo_id
        if revision is not None and not revision.startswith("refs/"):
            create_branch(repo_id, branch=revision, token=token, exist_ok=True)
        return upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            token=token,
            revision=revision,
            **{"commit_message": "Upload model", **upload_arguments},
        )


def _kind(model: PreTrainedModel) -> _Kind:
    return next(kind for kind in _KINDS if isinstance(model, kind.model_class))


def _update(path: Path, entries: dict[str, Any]) -> None:
    """Set entries of a JSON file."""
    content = json.loads(path.read_text(encoding="utf-8")) | entries
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _parts(model_or_pipeline: Any, tokenizer: Any) -> tuple[PreTrainedModel, Any]:
    """The model and the tokenizer to save, checked."""
    model = model_or_pipeline
    if isinstance(model_or_pipeline, Pipeline):
        model = model_or_pipeline.model
        tokenizer = tokenizer if tokenizer is not None else model_or_pipeline.tokenizer
    if not isinstance(model, tuple(kind.model_class for kind in _KINDS)):
        raise TypeError(
            f"{type(model).__name__} is no model of {PACKAGE}; load one with "
            "AutoModelForNegationScope, AutoModelForAbstractCloze or AutoModelForQuestionAnswering and their "
            "from_pretrained(...), without trust_remote_code"
        )
    _refuse_foreign_code(model)
    return model, tokenizer


def _refuse_foreign_code(model: PreTrainedModel) -> None:
    """Raise a ValueError if the model needs classes that other packages define."""
    classes: list[type] = [type(model), type(model.config)]
    variant = getattr(model.config, "attention_variant", getattr(model.config, "attention", None))
    if variant in VARIANTS and not getattr(model.config, "is_baseline", False):
        classes += VARIANTS[variant]
    foreign = [
        f"{cls.__module__}.{cls.__qualname__}" for cls in classes if not cls.__module__.startswith(f"{PACKAGE}.")
    ]
    if foreign:
        raise ValueError(
            f"only the code of {PACKAGE} itself can be saved beside a model, but this one also needs "
            f"{', '.join(foreign)}; use save_pretrained(...), and import your code before loading"
        )


def _save_plain(model: PreTrainedModel, tokenizer: Any, folder: Path) -> Path:
    """Save weights, config, tokenizer and, from the folder that the model was loaded from, its model card."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name a folder to save the model in")
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    card = Path(model.name_or_path or folder) / _CARD
    if card.is_file() and card.resolve() != (folder / _CARD).resolve():
        shutil.copyfile(card, folder / _CARD)
    return folder


def _reference(cls: type) -> str:
    """How a config names a class that lies beside it."""
    return f"{flat_name(cls.__module__)}.{cls.__name__}"
