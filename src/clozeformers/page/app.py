"""The page itself: three tabs of Gradio components around `tabs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..drawings.html import STYLE, Html, drawing, element
from .tabs import DEFAULTS, TABS, Shown, Tab, choices

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when Gradio is imported

try:
    import gradio as gr
except ImportError as error:
    raise ImportError(f'Gradio is not installed; run: pip install "clozeformers[page]" ({error})') from error

_TITLE = "clozeformers: a query reads a context"
_FONTS: dict[str, Any] = {"font": ["system-ui", "sans-serif"], "font_mono": ["ui-monospace", "monospace"]}
# Gradio has a switch between light and dark, which goes before the system's.
# The colour of a selected tab is too light for text.
_STYLE = """
div.cf { color-scheme: light; background: none; }
.dark div.cf { color-scheme: dark; }
button[role="tab"][aria-selected="true"] { color: var(--body-text-color); font-weight: bold; }
"""
_IS_LIVE = "element.setAttribute('role', 'status'); element.setAttribute('aria-live', 'polite');"
_LABELS = {
    "text": "Text",
    "convention": "Convention of the cues",
    "question": "Question",
    "passage": "Passage",
    "answers": "Number of answers",
    "summary": "Summary, with @placeholder for the gap",
    "options": "Options for the gap, one a line",
    "article": "Article",
}
_LINES = {"text": 4, "passage": 6, "options": 4, "article": 6}


def serve(pipelines: Mapping[str, Any], port: int | None = None) -> None:
    """Serve the page until the process is interrupted.

    Args:
        pipelines: name of a tab -> its pipeline; a tab without one says how to name a model.
        port: to listen on; None for the first that is free from 7860 on.

    Raises:
        OSError: the port is in use.
    """
    page = build(pipelines)
    _, url, _ = page.launch(server_port=port, prevent_thread_lock=True, quiet=True, **launch_options())
    print(f"The page is at {url}\nCtrl+C ends it.", flush=True)
    page.block_thread()


def launch_options() -> dict[str, Any]:
    """The look of the page: system fonts, so that nothing is loaded from elsewhere, and no footer."""
    theme = gr.themes.Default(primary_hue="blue", **_FONTS)  # orange is too light for text
    return {"theme": theme, "css": _STYLE, "css_paths": STYLE, "footer_links": [], "ssr_mode": False}


def build(pipelines: Mapping[str, Any]) -> gr.Blocks:
    """Build the page; see `serve`."""
    with gr.Blocks(title=_TITLE, analytics_enabled=False) as page:
        gr.Markdown(f"# {_TITLE}")
        columns: dict[str, tuple[list[Any], list[Any]]] = {}
        with gr.Tabs() as tabs:
            for tab in TABS:
                with gr.Tab(tab.title, id=tab.name, render_children=True):
                    if tab.name in pipelines:
                        columns[tab.name] = _tab(tab, pipelines[tab.name])
                    else:
                        gr.HTML(_without_model(tab))
        components = [component for boxes, shown in columns.values() for component in (*boxes, *shown)]
        restore = _restorer(pipelines)
        page.load(restore, outputs=[tabs, *components], api_visibility="private", show_progress="hidden")
    return page


def _without_model(tab: Tab) -> Html:
    command = element("code", f"clozeformers page --{tab.name} MODEL")
    first = element("p", "There is no model for this task yet. Start the page with one: ", command)
    return drawing(first, element("p", "MODEL is the folder of a trained model, or its name on the Hugging Face Hub."))


def _tab(tab: Tab, pipeline: Any) -> tuple[list[Any], list[Any]]:
    """Lay out a tab; returns its boxes, and the components for what is shown."""
    boxes = [_box(tab, name, choices(pipeline).get(name)) for name in tab.boxes]
    button = gr.Button(f"Run {tab.title.lower()}", variant="primary", elem_id=f"{tab.name}-run")
    with gr.Row(equal_height=True):
        gr.HTML("Examples", js_on_load=None, min_width=90)
        examples = [(gr.Button(label, size="sm", min_width=90), values) for label, values in tab.examples.items()]
    status = gr.HTML(elem_id=f"{tab.name}-status", html_template="<p>${value}</p>", js_on_load=_IS_LIVE)
    drawn = gr.HTML(elem_id=f"{tab.name}-result", js_on_load=None)
    with gr.Accordion("JSON", open=False):
        result = gr.Code(language="json", show_label=False, interactive=False)
    link = gr.HTML(js_on_load=None)
    shown = [status, drawn, result, link]
    show = partial(_show, tab, pipeline)
    options: dict[str, Any] = {"outputs": shown, "api_visibility": "private", "show_progress": "minimal"}
    gr.on([button.click, *(box.submit for box in boxes if hasattr(box, "submit"))], show, inputs=boxes, **options)
    for example, values in examples:
        filled = example.click(partial(list, values.values()), outputs=boxes, api_visibility="private")
        filled.then(show, inputs=boxes, **options)
    return boxes, shown


def _box(tab: Tab, name: str, known: list[str] | None) -> Any:
    common: dict[str, Any] = {"label": _LABELS[name], "elem_id": f"{tab.name}-{name}"}
    if known is not None:
        return gr.Radio(known, value=DEFAULTS[name], **common)
    return gr.Textbox(lines=_LINES.get(name, 2), max_lines=20, **common)


def _show(tab: Tab, pipeline: Any, *values: str) -> Shown:
    shown = tab.show(pipeline, *values)
    return shown._replace(status=element("span", shown.status))


def _restorer(pipelines: Mapping[str, Any]) -> Callable[[gr.Request], list[Any]]:
    """A function from a request to the updates of all components, which restores the state that a link holds."""

    def restore(request: gr.Request) -> list[Any]:
        parameters = dict(request.query_params)
        chosen = parameters.get("tab")
        is_tab = chosen in [tab.name for tab in TABS]
        updates: list[Any] = [gr.Tabs(selected=chosen) if is_tab else gr.skip()]
        for tab in TABS:
            if tab.name in pipelines:
                updates += _restored(tab, pipelines[tab.name], tab.state(pipelines[tab.name], parameters))
        return updates

    return restore


def _restored(tab: Tab, pipeline: Any, values: list[str] | None) -> list[Any]:
    if values is None:
        return [gr.skip()] * (len(tab.boxes) + len(Shown._fields))
    return [*values, *_show(tab, pipeline, *values)]
