"""Markdown and viewers draw in a sandboxed frame: hostile ones stay inert and fall back to text."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import rollscope as rs
from rollscope.trust import trusted
from tests.web.conftest import Served, Watched, until

pytestmark = pytest.mark.browser
TEXT = (
    "# Head\n\n**bold** \\(\\frac{1}{2}\\) <img src=x onerror=\"parent.document.title='owned'\"> "
    "[go](javascript:parent.document.title='owned') ![p](https://evil.example/x.png)"
)
VIEWERS = {
    "good": "export const draw = (s) => `<svg width='80'><title>${s.id}</title></svg><p id='ok'>drawn</p>`;",
    "hostile": (
        "try { fetch('ELSEWHERE/fetched').catch(() => {}) } catch {}\n"
        "export const draw = () => `<p id='ok'>drawn</p><img src='ELSEWHERE/x.png'>"
        '<script>parent.document.title="owned"</script><a id="away" href="ELSEWHERE/away">x</a>`;'
    ),
    "throws": "export const draw = () => { throw new Error('no board') };",
    "loops": "export const draw = () => { for (;;) {} };",
    "broken": "export const draw = (",
    "empty": "export const other = 1;",
}


class Elsewhere(BaseHTTPRequestHandler):
    """Another host, which notes what it is asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, elsewhere: str) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("drawn")
    viewers = folder / ".rollscope" / "viewers"
    viewers.mkdir(parents=True)
    for name, source in VIEWERS.items():
        (viewers / f"{name}.js").write_text(source.replace("ELSEWHERE", elsewhere))
    with rs.init(project="p", id="a", dir=folder / "runs", host=False) as run:
        samples = [
            {"id": f"s-{env}", "group": env, "env": env, "prompt": "Question", "completion": TEXT, "reward": 1.0}
            for env in [*VIEWERS, "plain"]
        ]
        pair = [
            {"id": f"p-{side}", "group": "pair", "prompt": "Q", "completion": side, "reward": r, "tags": {"side": side}}
            for side, r in (("rejected", 0.1), ("chosen", 0.9))
        ]
        run.log_samples(step=0, samples=[*samples, *pair])
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def site(project: Path) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROLLSCOPE_CONFIG", str(project / "config"))
        trusted.trust(str(project))
        served = Served(project / "runs")
        yield served.url
        served.stop()


def frame_of(tab: Any, which: int = 0) -> Any:
    """A drawn frame. Ask it with locators, which wait: it is known later than its ink."""
    return tab.locator("iframe[data-drawing='drawn']").nth(which).content_frame


def test_markdown_is_off_until_it_is_asked_for_and_runs_nothing(site: str, tab: Any) -> None:
    tab.goto(f"{site}r/a/rollouts?group=plain")
    tab.wait_for_selector("[data-sample] .conversation")
    assert "# Head" in tab.inner_text(".conversation") and not tab.query_selector("iframe")
    tab.click(".reader .controls button:has-text('Markdown')")
    until(tab, "document.querySelectorAll('iframe[data-drawing=drawn]').length === 2")
    drawn = frame_of(tab, 1)  # after the prompt
    assert drawn.locator("h1").inner_text() == "Head" and drawn.locator("mfrac").count()
    until(drawn.locator("html"), "document.documentElement.scrollHeight <= innerHeight")  # nothing is cut
    assert drawn.locator("img, a, script:not(body > script)").count() == 0
    assert tab.title() != "owned" and "view=markdown" in tab.evaluate("location.search")


def test_a_trusted_viewer_draws_its_environment(site: str, tab: Any) -> None:
    tab.goto(f"{site}r/a/rollouts?group=good")
    assert frame_of(tab).locator("#ok").inner_text() == "drawn"
    assert "# Head" in tab.inner_text(".conversation")  # the text stays below


def test_a_hostile_viewer_reaches_nothing(site: str, elsewhere: str, browser: Any) -> None:
    watched = Watched(browser)
    tab = watched.page
    tab.goto(f"{site}r/a/rollouts?group=hostile")
    frame = frame_of(tab)
    assert frame.locator("#ok").inner_text() == "drawn"
    frame.locator("#away").evaluate("link => link.click()")
    tab.evaluate("fetch('/api/runs').then((reply) => reply.text())")  # asked for later, answered
    assert tab.title() != "owned" and tab.evaluate("location.href").startswith(site)
    assert Elsewhere.asked == []
    tab.goto(f"{elsewhere}/control")  # the page itself can reach it
    watched.context.close()
    assert "/control" in Elsewhere.asked


@pytest.mark.parametrize("env", ["throws", "loops", "broken", "empty"])
def test_a_viewer_that_fails_says_so_and_leaves_the_text(site: str, tab: Any, env: str) -> None:
    tab.goto(f"{site}r/a/rollouts?group={env}")
    said = tab.wait_for_selector("[data-drawing='failed']").inner_text()
    assert f"The drawing of {env} cannot be shown" in said
    assert "# Head" in tab.inner_text(".conversation")
    assert {"throws": "no board", "loops": "did not finish within 3 s"}.get(env, "") in said


def test_a_chosen_answer_stands_left_of_the_rejected_one(site: str, tab: Any) -> None:
    tab.goto(f"{site}r/a/rollouts?group=pair")
    tab.wait_for_selector("[data-sample='p-rejected'] .conversation")
    order = tab.evaluate("[...document.querySelectorAll('[data-sample]')].map((e) => e.dataset.sample)")
    assert order == ["p-chosen", "p-rejected"]
    assert "side" not in tab.inner_text(".rollouts").replace("Samples side by side", "")
