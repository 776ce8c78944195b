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
from typing import Any

from huggingface_hub import CommitInfo, create_branch, create_repo, upload_folder
from transformers import Pipeline, PreTrainedModel
from transformers.utils import CONFIG_NAME

from .hub_export import PACKAGE, flat_name, write_sources
from .modeling.modeling_negation_scope import NegationScopeMixin
from .modeling.orthogonal_attention import VARIANTS
from .pipelines.negation_scope import NegationScopePipeline

_CARD = "README.md"


def save_with_code(
    model_or_pipeline: PreTrainedModel | Pipeline, folder: str | PathLike[str], tokenizer: Any = None
) -> list[Path]:
    """Save a model so that it loads without this library.

    The folder then serves `AutoConfig`, `AutoModelForTokenClassification`, `AutoTokenizer` and
    `pipeline("negation-scope")`, each with `trust_remote_code=True`.

    Args:
        model_or_pipeline: one of the library's models, or a pipeline around one.
        folder: where to; made if it is not there. Files of the same names are replaced.
        tokenizer: saved beside the model; a pipeline brings its own. `pipeline("negation-scope")` needs one.

    Returns:
        The source files written.

    Raises:
        TypeError: if it is neither a model nor a pipeline of the library.
        ValueError: if its class, or its attention variant, is defined outside of the library, so that its code would be
            missing.
        NotADirectoryError: if the folder is a file.
    """
    model, tokenizer = _parts(model_or_pipeline, tokenizer)
    target = _save_plain(model, tokenizer, Path(folder))
    config_module, model_module = type(model.config).__module__, type(model).__module__
    sources = write_sources([config_module, model_module, NegationScopePipeline.__module__], target)
    config_file = target / CONFIG_NAME
    config = json.loads(config_file.read_text(encoding="utf-8"))
    # Into the file, not into `model.config`: the caller's model keeps the config it had.
    config |= {
        "auto_map": {
            "AutoConfig": _reference(type(model.config)),
            "AutoModelForTokenClassification": _reference(type(model)),
        },
        "custom_pipelines": {
            "negation-scope": {
                "impl": _reference(NegationScopePipeline),
                "pt": ["AutoModelForTokenClassification"],
                "type": "text",
            }
        },
    }
    config_file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
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


def _parts(model_or_pipeline: Any, tokenizer: Any) -> tuple[NegationScopeMixin, Any]:
    """The model and the tokenizer to save, checked."""
    model = model_or_pipeline
    if isinstance(model_or_pipeline, Pipeline):
        model = model_or_pipeline.model
        tokenizer = tokenizer if tokenizer is not None else model_or_pipeline.tokenizer
    if not isinstance(model, NegationScopeMixin):
        raise TypeError(
            f"{type(model).__name__} is no model of {PACKAGE}; load one with "
            "AutoModelForNegationScope.from_pretrained(...), without trust_remote_code"
        )
    _refuse_foreign_code(model)
    return model, tokenizer


def _refuse_foreign_code(model: NegationScopeMixin) -> None:
    """Raise a ValueError if the model needs classes that other packages define."""
    classes: list[type] = [type(model), type(model.config)]
    if not model.config.is_baseline:
        classes += VARIANTS[model.config.attention_variant]
    foreign = [
        f"{cls.__module__}.{cls.__qualname__}" for cls in classes if not cls.__module__.startswith(f"{PACKAGE}.")
    ]
    if foreign:
        raise ValueError(
            f"only the code of {PACKAGE} itself can be saved beside a model, but this one also needs "
            f"{', '.join(foreign)}; use save_pretrained(...), and import your code before loading"
        )


def _save_plain(model: NegationScopeMixin, tokenizer: Any, folder: Path) -> Path:
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
