"""Loading of weights, in the same manner by all models of the library."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME


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
            OSError: for a checkpoint without safetensors, unless `use_safetensors=False`.
        """
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
