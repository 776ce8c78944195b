"""Check what `make release` has built, and print how to publish it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(version: str, root: Path = ROOT) -> list[str]:
    """Say what is wrong with the files in dist, and where another version is named."""
    expected = {f"clozeformers-{version}.tar.gz", f"clozeformers-{version}-py3-none-any.whl"}
    found = {path.name for path in (root / "dist").iterdir()}
    wrong = [f"dist has {name}" for name in sorted(found - expected)]
    wrong += [f"dist lacks {name}" for name in sorted(expected - found)]
    for name, pattern in {"CHANGELOG.md": r"^## \[?(\d[\w.]*)", "CITATION.cff": r"^version: (\S+)"}.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if match is None or match[1] != version:
            wrong.append(f"{name} begins with version {match and match[1]}, not {version}")
    return wrong


def main() -> int:
    """Check and print; returns the exit status."""
    text = (ROOT / "src" / "clozeformers" / "__init__.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]
    if wrong := problems(version):
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(f"clozeformers {version} is ready. To publish it:\n")
    print(f"    git tag -a v{version} -m 'clozeformers {version}' && git push origin v{version}")
    print(f"    twine upload dist/clozeformers-{version}.tar.gz dist/clozeformers-{version}-py3-none-any.whl")
    print("    mkdocs gh-deploy --strict      # or copy site/ after `make docs`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
