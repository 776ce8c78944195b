"""The command that runs the models in a browser: page."""

from __future__ import annotations

import click

from .app import app
from .loading import MODEL_HELP, load_pipeline


@app.command()
@click.option("--negation", metavar="MODEL", help=MODEL_HELP)
@click.option("--question", metavar="MODEL", help=MODEL_HELP)
@click.option("--cloze", metavar="MODEL", help="A folder or a name on the Hub; there is none in the package.")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="[default: the first free one from 7860 on]")
def page(port: int | None, **models: str | None) -> None:
    """Open a page that runs the models in a browser.

    It is served on this computer, and nothing that is typed leaves it.
    """
    from transformers.utils import CONFIG_NAME

    from ..page.app import serve
    from ..page.tabs import TABS
    from ..pipelines.checkpoints import PACKAGED_MODELS

    pipelines = {
        tab.name: load_pipeline(models[tab.name], tab.task)
        for tab in TABS
        if models[tab.name] is not None or (PACKAGED_MODELS / tab.task / CONFIG_NAME).exists()
    }
    serve(pipelines, port)
