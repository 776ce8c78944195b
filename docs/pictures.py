"""Take the README's pictures from what `render` draws: `make pictures`, or `make pictures CLOZE=folder` for all three.

Each picture has the result that it shows beside it, as JSON, which the tests compare with that of the packaged model.
That of abstract cloze, which has none, names the model that was given.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from transformers import pipeline

import clozeformers

PICTURES = Path(__file__).parent / "assets" / "pictures"
WIDTH = 760  # pixels, at twice the density
EXAMPLES: dict[str, dict[str, Any]] = {
    "negation-scope": {"text": "The scan shows no fracture, but the pain did not improve."},
    "extractive-question-answering": {
        "question": "Who paid for the first telescope?",
        "context": "The observatory on Mount Halden opened in 1911. Its first telescope, a refractor with a lens of 60 "
        "centimetres, was paid for by a shipping company.",
    },
    "abstract-cloze": {
        "question": "Thousands of homes are without @placeholder after the storm.",
        "options": ["power", "hope", "snow", "news"],
        "article": "Engineers worked through the night to repair the lines that the wind had brought down. Schools "
        "stay closed, and hospitals run on their own generators.",
    },
}


def drawn(task: str, model: str | None = None) -> Any:
    """The rendering of a task's example."""
    example = EXAMPLES[task]
    inputs = (example["text"],) if "text" in example else ()
    named = {} if inputs else example
    return pipeline(task, model=model, device="cpu").render(*inputs, **named)


def main() -> None:
    """Take the pictures of the packaged models, and that of a cloze model if there is one."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cloze", help="a model of abstract-cloze")
    cloze = parser.parse_args().cloze
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("Chromium is missing; install it with: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 200}, device_scale_factor=2)
        for task, example in EXAMPLES.items():
            if task != "abstract-cloze" or cloze:
                rendering = drawn(task, cloze if task == "abstract-cloze" else None)
                page.set_content(f'<body style="margin: 0.5rem 1rem; font: 16px sans-serif">{rendering._repr_html_()}')
                page.screenshot(path=PICTURES / f"{task}.png", full_page=True)
                shown = {"input": example, "result": rendering.result}
                shown |= {"model": Path(cloze).name} if task == "abstract-cloze" else {}
                text = json.dumps(shown, ensure_ascii=False, indent=1)
                (PICTURES / f"{task}.json").write_text(text + "\n", encoding="utf-8")
                print(PICTURES / f"{task}.png")
        browser.close()


if __name__ == "__main__":
    print(f"clozeformers {clozeformers.__version__}")
    main()
