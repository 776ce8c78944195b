"""Loading of weights, in the same manner by all models of the library."""

from __future__ import annotations

import os
from typing import Any

from huggingface_hub import is_offline_mode, snapshot_download
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME

# Config, weights and the files of all tokenizers.
_FILES = ["config.json", "model.safetensors", "model-*.safetensors", "model.safetensors.index.json"]
_FILES += ["*token*", "*vocab*", "merges.txt", "*.model"]


def download_model(name: str, revision: str | None = None, **arguments: Any) -> None:
    """Download config, weights and tokenizer of a model on the Hub into the cache, or raise the Hub's error.

    transformers takes a file that an overloaded Hub does not give for one that does not exist: it makes a tokenizer
    without it, or looks for other weights.

    Args:
        name: of the model; nothing is done for a folder, and offline.
        revision: a branch or a commit.
        **arguments: of `huggingface_hub.snapshot_download`.

    Raises:
        OSError: the Hub does not give a file.
        ValueError: the name is invalid.
    """
    if os.path.exists(name) or is_offline_mode():
        return
    try:
        snapshot_download(name, revision=revision, allow_patterns=_FILES, **arguments)
    except (OSError, ValueError):
        raise
    except Exception as error:  # of httpx or httpx2
        raise OSError(f"{name} cannot be downloaded: {error}; try again") from error


class CheckpointMixin(PreTrainedModel):
    """Base of all models: loads weights from a pickle file only if told to, and initialises those that are missing."""

    @classmethod
    def is_custom_code(cls) -> bool:
        """False: weights are initialised by `transformers.initialization`, which leaves loaded ones alone.

        For custom code, `from_pretrained` passes over modules that have submodules only, whose encoders then draw
        missing weights from another distribution than a new model's.
        """
        return False

    @classmethod
    def from_pretrained(cls, name_or_path: Any, *args: Any, use_safetensors: bool | None = None, **kwargs: Any) -> Any:
        """As `PreTrainedModel.from_pretrained`.

        Raises:
            OSError: for a checkpoint without safetensors, unless `use_safetensors=False`; if the Hub does not give a
                file.
        """
        hub = {name: kwargs[name] for name in ("token", "cache_dir", "local_files_only") if name in kwargs}
        if isinstance(name_or_path, str) and not kwargs.get("subfolder"):
            download_model(name_or_path, kwargs.get("_commit_hash") or kwargs.get("revision"), **hub)
        if use_safetensors is not None:
            return super().from_pretrained(name_or_path, *args, use_safetensors=use_safetensors, **kwargs)
        try:
            return super().from_pretrained(name_or_path, *args, use_safetensors=True, **kwargs)
        except OSError as error:
            if SAFE_WEIGHTS_NAME not in str(error):
                raise
            raise OSError(
                f"{name_or_path} has no {SAFE_WEIGHTS_NAME}. If its weights are in pytorch_model.bin, a pickle file, "
                f"and you trust their source, convert them: {cls.__name__}.from_pretrained({str(name_or_path)!r}, "
                "use_safetensors=False).save_pretrained(folder)"
            ) from error
