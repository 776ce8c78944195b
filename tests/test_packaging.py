"""What is shipped: the wheel, the source distribution, and the versions that they are built and tested with."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import clozeformers

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
SUFFIXES = {".py", ".css", ".md", ".html", ".typed", ".yaml", ".json", ".jsonl", ".safetensors"}
SHIPPED = [path for path in (SOURCES / "clozeformers").rglob("*") if path.is_file() and path.suffix in SUFFIXES]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a source distribution and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(*built.glob("*.whl")) as archive:
        yield archive


@pytest.fixture(scope="module")
def sdist(built):
    with tarfile.open(*built.glob("*.tar.gz")) as archive:
        yield archive


def repeated(values: Iterable[object]) -> list[object]:
    return [value for value, count in Counter(values).items() if count > 1]


def repeated_files(files: Iterable[tuple[str, bytes]]) -> list[object]:
    """Contents that stand there twice, by hash; files with next to nothing in them are alike by nature."""
    return repeated(hashlib.sha256(content).hexdigest() for _, content in files if len(content) > 100)


def test_the_wheel_holds_every_module_once(wheel):
    names = wheel.namelist()
    assert not repeated(names)
    assert not repeated_files((name, wheel.read(name)) for name in names)
    assert {path.relative_to(SOURCES).as_posix() for path in SHIPPED} == {
        name for name in names if not name.split("/")[0].endswith(".dist-info")
    }
    assert "clozeformers/py.typed" in names


def test_the_source_distribution_holds_every_file_once(sdist):
    members = sdist.getmembers()
    assert all(member.isfile() or member.isdir() for member in members), "no links"
    names = {member.name.split("/", 1)[1]: member for member in members if member.isfile()}
    assert not repeated(member.name for member in members)
    assert not repeated_files((name, sdist.extractfile(member).read()) for name, member in names.items())
    assert {path.relative_to(ROOT).as_posix() for path in SHIPPED} <= set(names)
    needed = {"Makefile", "constraints.txt", "constraints-min.txt", "LICENSE", "README.md"}
    assert needed | {"tests/test_packaging.py", "docs/prediction.md", "docs/training.md"} <= set(names)
    assert not [name for name in names if name.startswith("data/") or "__pycache__" in name]


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="a source distribution holds no links")
@pytest.mark.parametrize("name", ["modeling", "pipelines", "configs", "run_glue_style"])
def test_the_links_at_the_top_resolve(name):
    link = ROOT / name
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == SOURCES / "clozeformers" / name


def pins(file: str) -> dict[str, list[Requirement]]:
    """Requirements of a constraints file, by name."""
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def declared() -> list[Requirement]:
    """Every requirement in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    return [Requirement(text) for text in texts]


def test_the_lowest_versions_are_those_of_pyproject():
    lowest = {name: str(requirement.specifier) for name, (requirement,) in pins("constraints-min.txt").items()}
    bounds = {canonicalize_name(requirement.name): str(requirement.specifier) for requirement in declared()}
    assert lowest == {name: bound.replace(">=", "==") for name, bound in bounds.items() if bound}


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_each_constraint_is_one_exact_version(python):
    for name, requirements in pins("constraints.txt").items():
        fitting = [one for one in requirements if not one.marker or one.marker.evaluate({"python_version": python})]
        assert len(fitting) <= 1, name
        assert all(re.fullmatch(r"==[\w.]+", str(requirement.specifier)) for requirement in requirements), name


@pytest.mark.parametrize("python", ["3.10", "3.13"])
def test_the_constraints_fit_pyproject(python):
    pinned = pins("constraints.txt")
    optional = {"sentencepiece", "tensorboard"}
    for requirement in declared():
        name = canonicalize_name(requirement.name)
        if name in optional or (requirement.marker and not requirement.marker.evaluate({"python_version": python})):
            continue
        (pin,) = [one for one in pinned[name] if not one.marker or one.marker.evaluate({"python_version": python})]
        (exact,) = pin.specifier
        assert requirement.specifier.contains(exact.version), name


def test_every_public_name_is_there():
    assert not repeated(clozeformers.__all__)
    for name in clozeformers.__all__:
        assert getattr(clozeformers, name) is not None


def test_the_version_is_the_same_everywhere():
    assert version("clozeformers") == clozeformers.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[?(\d[\w.]*)\]?", changelog, flags=re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == clozeformers.__version__


def test_subpackages_are_imported_at_first_use_and_importing_again_is_harmless():
    code = """if True:
        import importlib, sys
        import clozeformers
        assert 'datasets' not in sys.modules
        clozeformers.metrics
        importlib.reload(clozeformers)
        clozeformers.register()
    """
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], check=True)
