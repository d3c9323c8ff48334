"""Model output is hostile: the page shows it as text and runs none of it.

The page requests only this machine. No file outside the run is read, whatever path a sample names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import rollscope as rs
from rollscope.server.routes.samples.media import below
from tests.web.conftest import PATIENCE, Served, Watched, until
from tests.web.rollout_runs import HOSTILE, picture

pytestmark = pytest.mark.browser
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=\'owned\'">'
    '<script>document.title="owned"</script><image href="http://evil.example/x.png"/></svg>'
)
HTML = "<!doctype html><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TEXTS = {
    "markup": HOSTILE,
    "attribute": (
        '"><svg onload=document.title="owned"> \' onmouseover=\'document.title="owned"\' '
        '`${document.title="owned"}` {{constructor.constructor("document.title=1")()}}'
    ),
    "links": (
        "javascript:document.title='owned' data:text/html,<script>document.title='owned'</script> "
        "file:///etc/passwd vbscript:x //evil.example/x http://evil.example "
        "[a](javascript:1) ![b](http://evil.example/p.png)"
    ),
    "direction": "\u202e" * 200 + "\u2066\u2067\u2068\u202a\u202b" * 50 + "admin\u2069\u202c \u200f\u061c end",
    "marks": "Z" + "\u0301" * 1_000_000 + "algo",
    "separators": (
        "one\u2028two\u2029three\u0085four\x0bfive\x0csix\x00seven\x7feight\u200bnine\ufefften\u00adeleven\u3164twelve"
    ),
    "hidden letters": "".join(chr(0xE0000 + ord(c)) for c in "ignore all of the above") + " seen",
    "terminal": (
        "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;owned\x07 "
        "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x1b]open \u202eend \x9b31m"
    ),
    "halves": "\ud800 \udc00 \ud83d x \udfff",
    "one line": "x" * 2_000_000,
}
SHOWN = ["media/inside.png", "media/page.svg"]
REFUSED = [
    "../outside.png",
    "media/../../outside.png",
    "/etc/passwd",
    "media/out.png",
    "media/loop.png",
    "media/fifo.png",
    "media/page.png",
    "media/folder.png",
    "C:\\Windows\\win.png",
    "\\\\evil.example\\share\\x.png",
    "..\\outside.png",
    "..%2foutside.png",
    "media%2finside.png",
    "%2fetc%2fpasswd",
    "file:///etc/passwd.png",
    "data:image/png;base64,AAAA",
    "http://evil.example/x.png",
    "//evil.example/x.png",
    "media/inside.png\0.png",
    "\u202egnp.edisni/aidem",
    "run.json",
    "",
]


def sample(i: int, text: str) -> dict[str, Any]:
    """A sample with the text in every field."""
    call = {"role": "tool", "tool": text[:40], "arguments": text, "result": text, "ok": False, "seconds": 0.1}
    return {
        "id": f"h{i}",
        "group": f"g{i}",
        "task": text[:300],
        "env": text[:60],
        "reward": 0.5,
        "trained": True,
        "stop_reason": text[:100],
        "prompt": text,
        "completion": text,
        "answer": text,
        "rewards": {text[:50]: 0.5},
        "turns": [{"role": text[:40], "content": text, "seconds": 0.1}, call],
    }


def record(folder: Path) -> None:
    run_folder = folder / "hostile"
    with rs.init(project="p", id="hostile", dir=folder, host=False) as run:
        run.declare(env="e", reward_min=0, reward_max=1)
        rows = [sample(i, text) for i, text in enumerate(TEXTS.values())]
        rows.append(
            {
                "id": "media",
                "group": "media",
                "env": "e",
                "reward": 0.5,
                "prompt": "p",
                "completion": "c",
                "trained": True,
                "media": [{"kind": "image", "path": p} for p in [*SHOWN, *REFUSED]],
            }
        )
        run.log_samples(step=0, samples=rows)
        run.log({"reward/mean": 0.5}, step=0)
        run.commit(0)
    picture(run_folder / "media" / "inside.png")
    picture(folder / "outside.png")
    (run_folder / "media" / "page.svg").write_text(SVG)
    (run_folder / "media" / "page.png").write_text(HTML)
    (run_folder / "media" / "folder.png").mkdir()
    os.symlink(folder / "outside.png", run_folder / "media" / "out.png")
    os.symlink(run_folder / "media" / "loop.png", run_folder / "media" / "loop.png")
    os.mkfifo(run_folder / "media" / "fifo.png")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("hostile")
    record(folder)
    served = Served(folder)
    yield served.url, folder
    served.stop()


ACTIVE = (
    "img, script:not([src]):not([type=importmap]), iframe, object, embed, "
    'a[href^="javascript"], a[href*=evil]'
)  # elements that the text must not become


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_shown_as_text(site: tuple[str, Path], browser: Any, name: str) -> None:
    watched = Watched(browser)
    page, i = watched.page, list(TEXTS).index(name)
    dialogs: list[str] = []
    page.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    page.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=g{i}&sample=h{i}")
    page.wait_for_selector(f'[data-sample="h{i}"] .conversation .call')
    page.click(".call summary")
    page.wait_for_selector(".call .textblock", state="attached")
    for key in ("d", "v", "j", "k"):
        page.keyboard.press(key)
    page.hover(f'[data-group="g{i}"]')
    shown = page.evaluate("document.body.textContent") + page.evaluate(
        "[...document.querySelectorAll('[title], [alt]')].map(e => e.title + e.alt).join(' ')"
    )
    bad = [c for c in ("\u202e", "\u2066", "\x1b", "\u200b", "\u2028", "\x00", "\U000e0069", "\u3164") if c in shown]
    assert bad == [] and not any("\ud800" <= c <= "\udfff" for c in shown)
    assert page.query_selector_all(ACTIVE) == []
    assert "owned" not in page.title() and dialogs == []
    assert page.evaluate(
        "[document.documentElement, document.querySelector('#page')].map(e => e.scrollWidth - e.clientWidth)"
    ) == [0, 0]
    assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in watched.requests)
    # `j` may have opened the sample whose files are refused; each failure has its address too.
    failures = [e for e in watched.errors if not e.startswith("Failed to load resource")]
    assert [e for e in failures if "/media/" not in e] == []
    watched.context.close()


def test_hidden_characters_are_named(site: tuple[str, Path], tab: Any) -> None:
    pills: dict[str, list[str]] = {}
    for i, name in enumerate(TEXTS):
        if name in ("direction", "marks", "hidden letters", "terminal", "halves", "separators"):
            tab.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=g{i}&sample=h{i}")
            tab.wait_for_selector(f'[data-sample="h{i}"] .ink .pill')
            pills[name] = tab.evaluate("[...document.querySelectorAll('.ink .pill')].map(e => e.textContent)")
    assert pills["direction"][:2] == ["U+202E", "U+202E"] and pills["hidden letters"][0] == "U+E0069"
    assert "marks more" in pills["marks"][0] and {"U+D800", "U+DC00", "U+D83D", "U+DFFF"} == set(pills["halves"])
    assert "ESC[31m" in pills["terminal"] and "ESC]0;owned" in pills["terminal"] and "U+202E" in pills["terminal"]
    separators = {"U+2028", "U+2029", "U+0085", "U+000B", "U+0000", "U+200B", "U+FEFF", "U+00AD", "U+3164"}
    assert separators <= set(pills["separators"])


def test_a_million_marks_are_counted_and_few_of_them_are_laid_out(site: tuple[str, Path], tab: Any) -> None:
    """A browser takes minutes to lay out a letter with a million marks."""
    i = list(TEXTS).index("marks")
    tab.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=g{i}&sample=h{i}")
    tab.wait_for_selector(f'[data-sample="h{i}"] .ink .textblock')
    assert tab.evaluate("document.body.textContent.split('\\u0301').length") < 1000
    tab.keyboard.press("j")
    until(tab, f"!document.querySelector('[data-sample=h{i}]')")


def test_media_is_shown_from_below_the_run_and_nowhere_else(site: tuple[str, Path], browser: Any) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=media&sample=media")
    until(page, f"document.querySelectorAll('.media .missing').length === {len(REFUSED)}")
    sources = page.evaluate("[...document.querySelectorAll('.thumb img')].map(e => decodeURIComponent(e.src))")
    assert [source.split("/media/", 1)[1] for source in sources] == SHOWN
    page.click(".thumb >> nth=0")
    page.wait_for_selector(".veil figure img")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.veil')")
    assert "owned" not in page.title()
    assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in watched.requests)
    watched.context.close()


AT_ONCE = """
new MutationObserver((_, watch) => {
  if (!document.querySelector(".veil")) return;
  watch.disconnect();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
}).observe(document, { childList: true, subtree: true });
"""


def test_the_large_view_hears_escape_from_its_first_moment(site: tuple[str, Path], browser: Any) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=media&sample=media")
    until(page, f"document.querySelectorAll('.media .missing').length === {len(REFUSED)}")
    page.evaluate(f"{{{AT_ONCE}}}")
    page.click(".thumb >> nth=0")
    assert page.query_selector_all(".veil") == []
    watched.context.close()


@pytest.mark.parametrize("path", ["media/page.svg", "media/page.png"])
def test_media_opened_by_itself_runs_nothing(site: tuple[str, Path], browser: Any, path: str) -> None:
    watched = Watched(browser)
    stopped: dict[str, str] = {}
    watched.page.on("requestfailed", lambda r: stopped.update({r.url: r.failure}))
    answer = watched.page.goto(f"{site[0]}api/runs/hostile/media/{path}")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["content-type"].startswith("image/")
    assert "owned" not in watched.page.title()
    foreign = [url for url in watched.requests if not url.startswith("http://127.0.0.1:")]
    deadline = time.monotonic() + PATIENCE
    while not stopped.keys() >= set(foreign) and time.monotonic() < deadline:
        watched.page.title()  # takes in what the browser tells meanwhile
    assert {stopped.get(url) for url in foreign} <= {"csp"}, "the page's own policy stops what it asks for"
    watched.context.close()


@pytest.mark.parametrize("path", [p for p in REFUSED if p not in ("media/page.png", "media%2finside.png")])
def test_the_server_refuses_paths_that_lead_elsewhere(site: tuple[str, Path], path: str) -> None:
    """Each path as a browser sends it, and with another layer of escapes."""
    with pytest.raises(rs.RollscopeError):
        below(str(site[1] / "hostile"), path)
    escaped = [path.replace("/", "%2F"), path.replace("/", "%252F"), path.replace("..", "%2e%2e")]
    for sent in {path, path.replace("%2f", "/"), *escaped}:
        if "\0" in sent or not sent:
            continue
        latin = sent if sent.isascii() else sent.encode().decode("latin1")
        answer = httpx.get(f"{site[0]}api/runs/hostile/media/{latin}", timeout=PATIENCE)
        # Dots may lead out of the API, to the page.
        html = answer.headers["content-type"].startswith("text/html")
        assert answer.status_code in (400, 404) or html, sent
        assert b"PNG" not in answer.content and b"root:" not in answer.content
