"""A real Chromium and a real server. Tests wait for what the page says, never for a time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.web import rest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
]
SIZE = {"width": 1440, "height": 900}
# Keeps the messages that stand on the screen for a moment, because a busy test would miss one.
COLLECT_TOASTS = """() => { window.toasts = []; new MutationObserver(() => {
  const words = document.querySelector('.toast')?.textContent;
  if (words && window.toasts.at(-1) !== words) window.toasts.push(words);
}).observe(document.body, { subtree: true, childList: true, characterData: true }); }"""
PATIENCE = 60  # seconds that anything may take on a machine with every core busy


class Served:
    """`rollscope serve` on a free port."""

    def __init__(self, folder: Path, *more: str) -> None:
        serve = ["rollscope", "serve", str(folder), "--port", "0", "--no-browser", "--json", *more]
        self.process = subprocess.Popen([sys.executable, "-m", *serve], stdout=subprocess.PIPE, text=True)
        try:
            self.url = self._address()
        except BaseException:
            self.stop()
            raise

    def _address(self) -> str:
        """Where it answers, once it does."""
        assert self.process.stdout is not None
        url: str = json.loads(self.process.stdout.readline())["url"]
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                httpx.get(url + "api/health", timeout=PATIENCE)
                return url
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError("the server did not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("needs Chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        rest.read_at_rest()
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The synthetic project: one run that went wrong, one finished, one crashed, one slow."""
    folder = tmp_path_factory.mktemp("web") / "runs"
    script = Path(__file__).with_name("fixture_runs.py")
    subprocess.run([sys.executable, str(script), str(folder), "--finish"], check=True)
    return folder


@pytest.fixture(scope="session")
def site(recorded: Path) -> Iterator[str]:
    served = Served(recorded)
    yield served.url
    served.stop()


# Two keys of a chain count as pressed at one time, and toasts, which stay for a moment, are kept:
# a busy machine may put seconds between two lines of a test.
STILL = """
Object.defineProperty(Event.prototype, "timeStamp", { get: () => 0 });
window.toasts = [];
new MutationObserver(() => {
  const toast = document.querySelector(".toast")?.textContent;
  if (toast) window.toasts.push(toast);
}).observe(document, { childList: true, characterData: true, subtree: true });
"""


class Watched:
    """A page that records its requests and errors."""

    def __init__(self, browser: Any, **more: Any) -> None:
        self.context = browser.new_context(**{"viewport": SIZE, "color_scheme": "light", **more})
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.context.set_default_timeout(PATIENCE * 1000)
        self.context.add_init_script(STILL)
        self.context.add_init_script(rest.COUNT)
        self.context.on("page", rest.Rest)
        self.page = self.context.new_page()
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("response", lambda r: self.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page in a fresh profile, which must request only this machine and have no error."""
    watched = Watched(browser)
    yield watched.page
    foreign = [url for url in watched.requests if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
    watched.context.close()
    assert foreign == [], "a request left the machine"
    assert watched.errors == []


def ink(page: Any, metric: str) -> dict[str, float]:
    """What a chart says it drew, once it has drawn and the page is at rest."""
    said = page.get_attribute(f'[data-metric="{metric}"] .plot[data-ink]', "data-ink")
    return {key: float(value) for key, value in (part.split("=") for part in said.split())}


def until(page: Any, expression: str, seconds: float = PATIENCE) -> None:
    """Wait for an expression to be true. The page's policy forbids Playwright's own polling.

    What it names may not be there yet, or be replaced at this moment: then it is not true yet.
    """
    deadline = time.monotonic() + seconds
    while (answer := _asked(page, expression)) is not True:
        assert time.monotonic() < deadline, f"never came true: {expression} ({answer})"
        time.sleep(0.03)


def answer_late(page: Any, held: Any) -> None:
    """Answer a request that was held back, and let the page draw what it makes of the answer."""
    held.fulfill(response=held.fetch())
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))")


def _asked(page: Any, expression: str) -> bool | str:
    """Whether the page says that it is so, or why it cannot say."""
    from playwright.sync_api import Error

    try:
        return bool(rest.at_once(page.evaluate)(expression))
    except Error as error:
        return error.message
