"""The page in Chromium, at the width of a phone, a tablet and a laptop: `make test-page`.

Screenshots are written to the folder that CLOZEFORMERS_SCREENSHOTS names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clozeformers.cli.loading import load_pipeline
from clozeformers.page.app import build, launch_options

from .pipelines import INPUTS, tiny_pipelines

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Gradio, with pandas 3
]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = {360: 740, 768: 1024, 1280: 900}
TEXT = "The scan shows no fracture, but the pain did not improve."


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing; make test-page installs it")
    if CHROMIUM is None:
        pytest.skip("Chromium is missing: apt-get install chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page with the packaged model for negation and tiny models for the other tasks."""
    page = build({**tiny_pipelines(), "negation": load_pipeline(None, "negation-scope")})
    _, url, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **launch_options())
    yield url
    page.close()


class Visit:
    """A visit of the page: what goes wrong is kept, and nothing may be asked of another host."""

    def __init__(self, browser: Any, url: str, folder: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.url, self.folder = url, folder
        self.problems: list[str] = []
        self.page.on("console", lambda said: said.type == "error" and self.problems.append(said.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._ask)

    def _ask(self, request: Any) -> None:
        if request.url.startswith("http") and urlsplit(request.url).hostname != "127.0.0.1":
            self.problems.append(f"asked {request.url}")

    def open(self, query: str = "") -> Any:
        self.page.goto(self.url + query)
        self.page.get_by_role("tab", name="Negation").wait_for()
        return self.page

    def choose(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab).click()

    def shown(self, tab: str, text: str) -> Any:
        """Wait for a text in the status line of a tab; returns the result."""
        self.page.locator(f"#{tab}-status").get_by_text(text).wait_for()
        return self.page.locator(f"#{tab}-result .cf")

    def keep(self, name: str) -> None:
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=self.folder / f"{name}.png", full_page=True)

    def check(self) -> None:
        """Nothing went wrong, and the page is no wider than the window."""
        assert not self.problems
        assert self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.fixture
def visit(browser: Any, address: str, tmp_path: Path) -> Iterator[Any]:
    folder = Path(os.environ.get("CLOZEFORMERS_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    visits: list[Visit] = []

    def start(width: int = 1280, **options: Any) -> Visit:
        size = {"width": width, "height": WIDTHS[width]}
        visits.append(Visit(browser, address, folder, viewport=size, **options))
        return visits[-1]

    yield start
    for each in visits:
        each.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_tab(visit: Any, width: int, scheme: str) -> None:
    own = visit(width, color_scheme=scheme)
    page = own.open()
    page.get_by_label("Text").fill(TEXT)
    page.get_by_label("sfu").check()
    page.get_by_role("button", name="Run negation").click()
    result = own.shown("negation", "2 negation cues: no, not")
    assert result.locator(".cf-negation sup").first.inner_text() == "1"
    title = result.locator(".cf-negation [title]", has_text="fracture").get_attribute("title")
    assert title.startswith("in the scope of 1 (no): ")
    assert result.locator("details").first.get_attribute("open") is not None
    own.keep(f"negation-{width}-{scheme}")
    own.check()
    own.choose("Question")
    question, passage, _ = INPUTS["question"]
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_label("Passage").fill(passage)
    page.get_by_role("button", name="Run question").click()
    result = own.shown("question", "nswer")
    assert result.locator(".cf-ends").count() > 10
    assert result.locator("ol li").count() == 4
    own.keep(f"question-{width}-{scheme}")
    own.check()
    own.choose("Cloze")
    for label, value in zip(("Summary", "Options", "Article"), INPUTS["cloze"], strict=True):
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Run cloze").click()
    result = own.shown("cloze", "Best option: ")
    assert result.locator(".cf-bars > li").count() == 3
    assert result.locator(".cf-heat").first.is_visible()
    own.keep(f"cloze-{width}-{scheme}")
    own.check()
    dark = page.evaluate("getComputedStyle(document.querySelector('#cloze-result .cf')).colorScheme")
    assert dark == scheme


def test_with_the_keyboard_alone(visit: Any) -> None:
    own = visit()
    page = own.open()

    def reach(name: str, key: str = "Tab") -> None:
        for _ in range(40):
            if page.evaluate("document.activeElement.ariaLabel ?? ''") == name:
                return
            focused = page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).innerText ?? ''")
            if focused.strip().startswith(name):
                return
            page.keyboard.press(key)
        raise AssertionError(f"{name} cannot be reached")

    reach("Text")
    page.keyboard.type("It was never found.")
    reach("cd-sco")  # Gradio's radio buttons are stops of their own
    page.keyboard.press("Space")
    page.wait_for_function("document.activeElement.value === 'cd-sco' && document.activeElement.checked")
    reach("Run negation")
    page.keyboard.press("Enter")
    own.shown("negation", "1 negation cue: never")
    reach("Words of cue 1")
    page.keyboard.press("Enter")
    assert not page.locator("#negation-result .cf-heat").first.is_visible()
    page.keyboard.press("Enter")
    reach("All numbers")
    page.keyboard.press("Enter")
    reach("Words of cue 1")  # the region of the table
    assert page.evaluate("document.activeElement.getAttribute('role')") in ("region", None)
    reach("Negation", "Shift+Tab")
    page.keyboard.press("Tab")
    own.keep("keyboard")
    own.check()


def test_an_example_and_a_link(visit: Any) -> None:
    own = visit(360)
    page = own.open()
    page.get_by_role("button", name="Two-part cue").click()
    own.shown("negation", "1 negation cue: neither … nor")
    page.get_by_role("button", name="JSON").click()
    page.get_by_text('"neither a poet nor"').wait_for()
    assert page.get_by_role("button", name="Copy").is_visible()
    own.keep("json-360")
    link = page.get_by_role("link", name="Link to this input")
    href = link.get_attribute("href")
    other = visit(360)
    again = other.open(href)
    other.shown("negation", "1 negation cue: neither … nor")
    assert again.get_by_label("Text").input_value() == "He is neither a poet nor a painter."
    other.open("?tab=question&question=Who%3F&passage=The+letter+was+written+by+Ada.&answers=5")
    other.shown("question", "nswer")
    assert again.get_by_role("textbox", name="Passage").is_visible()
    assert again.get_by_role("tab", name="Question").get_attribute("aria-selected") == "true"
    assert again.locator("#question-result ol li").count() > 1
    own.check()
    other.check()


def test_errors_and_hostile_text(visit: Any) -> None:
    own = visit(360)
    page = own.open()
    page.get_by_role("button", name="Run negation").click()
    own.shown("negation", "Error: the text is ''")
    hostile = "<img src=x onerror=alert(1)> is not ${1 + 1} {{value}} `a` </script>"
    page.get_by_label("Text").fill(hostile)
    page.get_by_role("button", name="Run negation").click()
    result = own.shown("negation", "1 negation cue: not")
    written = result.locator(".cf-negation").evaluate(
        "e => { e.querySelectorAll('sup').forEach(s => s.remove()); return e.textContent; }"
    )
    assert written == hostile
    assert page.get_by_label("Text").input_value() == hostile
    own.choose("Cloze")
    page.get_by_label("Summary").fill("No gap here.")
    page.get_by_role("button", name="Run cloze").click()
    own.shown("cloze", "Error: ")
    assert page.get_by_label("Summary").input_value() == "No gap here."
    own.keep("error-360")
    own.check()


def test_for_screen_readers(visit: Any) -> None:
    own = visit()
    page = own.open()
    status = page.locator("#negation-status")
    status.locator("[aria-live=polite]").evaluate("e => window.before = e")
    page.get_by_role("button", name="Two-part cue").click()
    own.shown("negation", "1 negation cue")
    assert page.evaluate("window.before.isConnected && window.before.innerText.includes('1 negation cue')")
    assert page.evaluate("window.before.getAttribute('role')") == "status"
    unnamed = page.evaluate(
        "[...document.querySelectorAll('textarea, input, button')].filter(e => e.checkVisibility() && "
        "!(e.labels?.length || e.innerText || e.ariaLabel || e.title || e.getAttribute('aria-labelledby')))"
        ".map(e => e.outerHTML)"
    )
    assert not unnamed
    own.check()
