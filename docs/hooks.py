"""Files of the repository that pages link to, beside the pages: they are copied to `repository/` of the site.

A link such as ``../RESULTS.md`` works in the repository; in the site, it leads to the copy.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "repository"
_LINK = re.compile(r"(\]\()(?!\w+:)([^)#\s]+)")


def _is_copied(path: str) -> bool:
    return not path.startswith(("docs/", "..")) and (ROOT / path).is_file()


def _targets(text: str, folder: str) -> list[str]:
    """Paths in the repository that a page of this folder links to."""
    return [posixpath.normpath(posixpath.join(folder, link)) for _, link in _LINK.findall(text)]


def on_files(files: Any, config: Any) -> Any:
    """Add the files that pages link to, and those that these link to."""
    waiting = {
        target
        for file in files.documentation_pages()
        for target in _targets(file.content_string, posixpath.join("docs", posixpath.dirname(file.src_uri)))
    }
    copied: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in copied or not _is_copied(path):
            continue
        copied.add(path)
        files.append(File.generated(config, f"{FOLDER}/{path}", abs_src_path=str(ROOT / path)))
        if path.endswith(".md"):
            waiting |= set(_targets((ROOT / path).read_text(encoding="utf-8"), posixpath.dirname(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links that leave the pages lead to the copies, and links of the copies to the pages."""
    folder = posixpath.dirname(page.file.src_uri)
    is_copy = page.file.src_uri.startswith(f"{FOLDER}/")
    place = posixpath.relpath(folder, FOLDER) if is_copy else posixpath.join("docs", folder)

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(place, match[2]))
        if target.startswith("docs/"):
            found = target.removeprefix("docs/")
        elif _is_copied(target):
            found = f"{FOLDER}/{target}"
        else:
            return match[0]
        return match[1] + posixpath.relpath(found, folder or ".")

    return _LINK.sub(lead, markdown)
