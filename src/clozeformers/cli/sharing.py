"""Commands around models and the package: models, export, push, wordnet."""

from __future__ import annotations

from pathlib import Path

import click

from .app import PATH, app
from .loading import load_pipeline


@app.command()
def models() -> None:
    """List the models in the package, with their sizes and scores."""
    from ..packaged import packaged_models_table

    print(packaged_models_table())


@app.group()
def export() -> None:
    """Save a model with its code, or for onnxruntime."""


@export.command("code")
@click.argument("model")
@click.argument("folder", type=PATH)
def export_code(model: str, folder: Path) -> None:
    """Save one of the library's models with the code that it needs to load."""
    from ..hub import save_with_code

    save_with_code(load_pipeline(model), folder)
    print(f"saved in {folder}; where clozeformers is not installed, load it with trust_remote_code=True")


@export.command("onnx")
@click.argument("model")
@click.argument("folder", type=PATH)
@click.option("--int8", is_flag=True, help="Weights of eight bits: smaller, and scores differ a little.")
def export_onnx(model: str, folder: Path, int8: bool) -> None:
    """Save a model for onnxruntime, after its outputs are compared to PyTorch's."""
    from ..onnx_export import save_as_onnx

    save_as_onnx(load_pipeline(model), folder, int8=int8)
    print(f'saved in {folder}; load it with pipeline(..., model="{folder}", backend="onnx")')


@app.command()
@click.argument("model")
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--private", is_flag=True, help="Of a new repository.")
@click.option("--revision", help="The branch.")
@click.option("--code/--no_code", "with_code", default=True, help="With the code that it needs to load.")
def push(model: str, repository: str, private: bool, revision: str | None, with_code: bool) -> None:
    """Upload one of the library's models to the Hub, with its card."""
    from ..hub import push_to_hub

    loaded = load_pipeline(model)
    commit = push_to_hub(loaded, repository, private=private or None, revision=revision, with_code=with_code)
    print(commit.commit_url)


@app.group()
def wordnet() -> None:
    """Install WordNet, or show where it is."""


@wordnet.command("install")
@click.option("--folder", type=PATH, help="A data folder, for CLOZEFORMERS_HOME or NLTK_DATA.")
def wordnet_install(folder: Path | None) -> None:
    """Copy the system's WordNet or download it, unless it is installed."""
    from ..abstract_cloze.wordnet_install import install

    print(f"WordNet is in {install(folder)}")


@wordnet.command("status")
def wordnet_status() -> None:
    """Show where WordNet is, and check that definitions can be looked up."""
    from ..abstract_cloze.wordnet import DefinitionLookup

    found = DefinitionLookup().wordnet
    print(f"WordNet is in {found.place}: {sum(1 for _ in found.reader.all_lemma_names()):,} words")
