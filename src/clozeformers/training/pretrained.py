"""Loading by name, from a folder or the Hub, and uploading to the Hub, which may be out of reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import (
    CommitInfo,
    constants,
    create_branch,
    create_repo,
    get_session,
    is_offline_mode,
    try_to_load_from_cache,
    upload_folder,
)
from huggingface_hub.errors import HfHubHTTPError

from ..errors import is_own_error
from ..modeling.checkpoints import download_model
from ..text import did_you_mean


@contextmanager
def loading(name: str, revision: str | None = None, kind: Literal["model", "dataset"] = "model") -> Iterator[None]:
    """Load something within the context; there, an error of another library becomes one that names it.

    Args:
        name: a folder, or a name on the Hub.
        revision: on the Hub.
        kind: what it is.

    Raises:
        FileNotFoundError: there is no such folder.
        ConnectionError: the Hub cannot be reached; at once, where transformers tries for a minute. Or it does not
            give a file.
        ValueError: it cannot be loaded.
    """
    if not Path(name).exists():
        folder = Path(name).parent
        siblings = [str(path) for path in folder.iterdir()] if folder.is_dir() and "/" in name else []
        similar = did_you_mean(name, siblings)
        if Path(name).is_absolute() or name.startswith(".") or similar:
            advice = similar or f"; give that of a saved {kind}, or a name on the Hub"
            raise FileNotFoundError(f"there is no folder {name}{advice}")
        _check_hub(name, revision, kind)
        if kind == "model":
            with _transfer(f"the model {name} cannot be downloaded", f"read {name}"):
                download_model(name, revision)
    try:
        yield
    except Exception as error:  # of any type: tokenizers raises Exception itself for a damaged file
        if is_own_error(error):
            raise
        raise ValueError(f"the {kind} {name} cannot be loaded: {_reason(error)}") from error


def upload(
    folder: str | Path,
    repo_id: str,
    *,
    token: str | bool | None = None,
    private: bool | None = None,
    revision: str | None = None,
    again: str = "try again",
    **arguments: Any,
) -> CommitInfo:
    """Upload a folder to the Hub; repository and branch are created if need be.

    Args:
        folder: its files.
        repo_id: `"owner/name"`.
        token: as for `huggingface_hub.upload_folder`.
        private: whether a new repository is private.
        revision: the branch.
        again: how to repeat the upload, for the error.
        **arguments: of `huggingface_hub.upload_folder`.

    Raises:
        ConnectionError: the Hub cannot be reached or refuses it.
        ValueError: the name or the arguments are invalid.
    """
    with _transfer(f"the model cannot be uploaded to {repo_id}", f"write to {repo_id}", again):
        repo_id = create_repo(repo_id, token=token, private=private, exist_ok=True).repo_id
        if revision is not None and not revision.startswith("refs/"):
            create_branch(repo_id, branch=revision, token=token, exist_ok=True)
        return upload_folder(repo_id=repo_id, folder_path=folder, token=token, revision=revision, **arguments)


@contextmanager
def _transfer(failure: str, right: str, again: str = "try again") -> Iterator[None]:
    """Transfer files within the context; there, an error becomes one that says what to do.

    Args:
        failure: what has failed, for the error.
        right: what a token must permit.
        again: how to repeat it.

    Raises:
        ConnectionError: of HTTP, and of connections and files.
    """
    try:
        yield
    except (TypeError, ValueError):
        raise
    except Exception as error:  # of httpx or httpx2, and RuntimeError around it
        cause: BaseException = error
        while cause.__cause__ is not None and not isinstance(cause, HfHubHTTPError):
            cause = cause.__cause__
        if is_offline_mode():
            raise ConnectionError(f"{failure}: HF_HUB_OFFLINE is set; unset it, and {again}") from error
        reason, advice = str(cause).rstrip("."), f"{again}; files that have arrived are not transferred again"
        if isinstance(cause, HfHubHTTPError):
            status = cause.response.status_code
            reason = ": ".join(filter(None, (f"{status} {cause.response.reason_phrase}", cause.server_message)))
            if status in (401, 403, 404):
                advice = f"check the name, log in with `hf auth login`, or set HF_TOKEN to a token that may {right}"
        raise ConnectionError(f"{failure}: {reason}; {advice}") from error


def _reason(error: Exception) -> str:
    """What an error says; of one around a traceback, as `pipeline` raises it, what the traceback ends with."""
    *frames, told = re.split(r"Traceback \(most recent call last\):\n(?: .*\n)+", str(error))
    return told.partition(": ")[2] if frames else told


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
