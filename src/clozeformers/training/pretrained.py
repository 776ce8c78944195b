"""Loading by name: a folder, or a name on the Hub, which may be out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

from huggingface_hub import constants, get_session, is_offline_mode, try_to_load_from_cache

from ..errors import is_own_error


@contextmanager
def loading(name: str, revision: str | None = None, kind: Literal["model", "dataset"] = "model") -> Iterator[None]:
    """Load something within the context; there, an error of another library becomes one that names it.

    Args:
        name: a folder, or a name on the Hub.
        revision: on the Hub.
        kind: what it is.

    Raises:
        FileNotFoundError: there is no such folder.
        ConnectionError: the Hub cannot be reached; at once, where transformers tries for a minute.
        ValueError: it cannot be loaded.
    """
    if not Path(name).exists():
        if Path(name).is_absolute() or name.startswith("."):
            raise FileNotFoundError(f"there is no folder {name}; give that of a saved {kind}, or a name on the Hub")
        _check_hub(name, revision, kind)
    try:
        yield
    except Exception as error:  # of any type: tokenizers raises Exception itself for a damaged file
        if is_own_error(error):
            raise
        raise ValueError(f"the {kind} {name} cannot be loaded: {error}") from error


def _check_hub(name: str, revision: str | None, kind: str) -> None:
    is_cached = kind == "model" and isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str)
    if is_offline_mode() and (is_cached or kind == "dataset"):
        return
    if not is_offline_mode() and _reaches_hub():
        return
    reason = "HF_HUB_OFFLINE is set" if is_offline_mode() else "the Hub cannot be reached"
    known = f"the cache {constants.HF_HUB_CACHE} has the {kind}: set HF_HUB_OFFLINE=1 to use it"
    other = f"give the folder of a saved {kind}, or set HF_HUB_OFFLINE=1 and HF_HOME to a folder whose cache has it"
    raise ConnectionError(f"{name} is the name of a {kind} on the Hub, and {reason}; {known if is_cached else other}")


@cache
def _reaches_hub() -> bool:
    try:
        get_session().head(constants.ENDPOINT, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except Exception:  # of httpx or, since huggingface_hub 2, of httpx2
        return False
    return True
