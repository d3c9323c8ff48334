"""Model output is hostile: whatever a sample says or points to, the page shows text, runs nothing, asks no other machine, and no file outside the run is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import rollscope as rs
from rollscope.server.routes.media import below
from tests.web.conftest import Served, Watched, until
from tests.web.rollout_runs import HOSTILE, picture

pytestmark = pytest.mark.browser
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=\'owned\'"><script>document.title="owned"</script><image href="http://evil.example/x.png"/></svg>'
HTML = "<!doctype html><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TEXTS = {
    "markup": HOSTILE,
    "attribute": '"><svg onload=document.title="owned"> \' onmouseover=\'document.title="owned"\' `${document.title="owned"}` {{constructor.constructor("document.title=1")()}}',
    "links": "javascript:document.title='owned' data:text/html,<script>document.title='owned'</script> file:///etc/passwd vbscript:x //evil.example/x http://evil.example [a](javascript:1) ![b](http://evil.example/p.png)",
    "direction": "\u202e" * 200 + "\u2066\u2067\u2068\u202a\u202b" * 50 + "admin\u2069\u202c \u200f\u061c end",
    "marks": "Z" + "\u0301" * 1_000_000 + "algo",
    "separators": "one\u2028two\u2029three\u0085four\x0bfive\x0csix\x00seven\x7feight\u200bnine\ufefften\u00adeleven\u3164twelve",
    "hidden letters": "".join(chr(0xE0000 + ord(c)) for c in "ignore all of the above") + " seen",
    "terminal": "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x1b]open \u202eend \x9b31m",
    "halves": "\ud800 \udc00 \ud83d x \udfff",
    "one line": "x" * 2_000_000,
}
MEDIA = {  # path -> is it shown?
    "media/inside.png": True, "media/page.svg": True, "../outside.png": False, "media/../../outside.png": False, "/etc/passwd": False, "media/out.png": False, "media/loop.png": False, "media/fifo.png": False, "media/page.png": False,
    "media/folder.png": False, "C:\\Windows\\win.png": False, "\\\\evil.example\\share\\x.png": False, "..\\outside.png": False, "..%2foutside.png": False, "media%2finside.png": False, "%2fetc%2fpasswd": False, "file:///etc/passwd.png": False,
    "data:image/png;base64,AAAA": False, "http://evil.example/x.png": False, "//evil.example/x.png": False, "media/inside.png\0.png": False, "\u202egnp.edisni/aidem": False, "run.json": False, "": False,
}  # fmt: skip


def record(folder: Path) -> None:
    run_folder = folder / "hostile"
    with rs.init(project="p", id="hostile", dir=folder, host=False) as run:
        run.declare(env="e", reward_min=0, reward_max=1)
        rows = [
            {"id": f"h{i}", "group": f"g{i}", "task": text[:300], "env": text[:60], "reward": 0.5, "trained": True, "stop_reason": text[:100], "prompt": text, "completion": text, "answer": text, "rewards": {text[:50]: 0.5}}
            | {"turns": [{"role": text[:40], "content": text, "seconds": 0.1}, {"role": "tool", "tool": text[:40], "arguments": text, "result": text, "ok": False, "seconds": 0.1}]}
            for i, text in enumerate(TEXTS.values())
        ]  # fmt: skip
        rows.append(
            {
                "id": "media",
                "group": "media",
                "env": "e",
                "reward": 0.5,
                "prompt": "p",
                "completion": "c",
                "trained": True,
                "media": [{"kind": "image", "path": p} for p in MEDIA],
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
    assert (
        page.evaluate(
            "document.querySelectorAll('img, script:not([src]):not([type=importmap]), iframe, object, embed, a[href^=\"javascript\"], a[href*=evil]').length"
        )
        == 0
    )
    assert "owned" not in page.title() and dialogs == []
    assert page.evaluate(
        "[document.documentElement, document.querySelector('#page')].map(e => e.scrollWidth - e.clientWidth)"
    ) == [0, 0]
    assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in watched.requests)
    assert [
        e for e in watched.errors if "/media/" not in e and "404" not in e
    ] == []  # `j` may have come to the sample with the missing files
    watched.context.close()


def test_what_stands_hidden_is_named(site: tuple[str, Path], tab: Any) -> None:
    said = {}
    for i, name in enumerate(TEXTS):
        if name in ("direction", "marks", "hidden letters", "terminal", "halves", "separators"):
            tab.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=g{i}&sample=h{i}")
            tab.wait_for_selector(f'[data-sample="h{i}"] .ink .pill')
            said[name] = tab.evaluate("[...document.querySelectorAll('.ink .pill')].map(e => e.textContent)")
    assert said["direction"][:2] == ["U+202E", "U+202E"] and said["hidden letters"][0] == "U+E0069"
    assert "marks more" in said["marks"][0] and {"U+D800", "U+DC00", "U+D83D", "U+DFFF"} == set(said["halves"])
    assert "ESC[31m" in said["terminal"] and "ESC]0;owned" in said["terminal"] and "U+202E" in said["terminal"]
    assert {"U+2028", "U+2029", "U+0085", "U+000B", "U+0000", "U+200B", "U+FEFF", "U+00AD", "U+3164"} <= set(
        said["separators"]
    )


def test_a_million_marks_do_not_hold_the_page(site: tuple[str, Path], tab: Any) -> None:
    i = list(TEXTS).index("marks")
    tab.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=g{i}&sample=h{i}")
    tab.wait_for_selector(f'[data-sample="h{i}"] .ink .textblock')
    tab.evaluate(
        "() => { window.long = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) window.long = Math.max(window.long, e.duration); }).observe({ type: 'long-animation-frame' }); }"
    )
    tab.keyboard.press("j")
    until(tab, f"!document.querySelector('[data-sample=h{i}]')")
    assert tab.evaluate("window.long") < 2000


def test_media_is_shown_from_below_the_run_and_nowhere_else(site: tuple[str, Path], browser: Any) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{site[0]}r/hostile/rollouts?step=0&view=n1&group=media&sample=media")
    hidden = [path for path, fine in MEDIA.items() if not fine]
    until(page, f"document.querySelectorAll('.media .missing').length === {len(hidden)}")
    assert page.evaluate(
        "[...document.querySelectorAll('.thumb img')].map(e => decodeURIComponent(e.src).split('/media/').slice(1).join('/media/'))"
    ) == [p for p, fine in MEDIA.items() if fine]
    page.click(".thumb >> nth=0")
    page.wait_for_selector(".veil figure img")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.veil')")
    assert "owned" not in page.title()
    assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in watched.requests)
    watched.context.close()


@pytest.mark.parametrize("path", ["media/page.svg", "media/page.png"])
def test_media_opened_by_itself_runs_nothing(site: tuple[str, Path], browser: Any, path: str) -> None:
    watched = Watched(browser)
    stopped: dict[str, str] = {}
    watched.page.on("requestfailed", lambda r: stopped.update({r.url: r.failure}))
    answer = watched.page.goto(f"{site[0]}api/runs/hostile/media/{path}")
    assert (
        answer.headers["x-content-type-options"] == "nosniff"
        and "sandbox" in answer.headers["content-security-policy"]
        and answer.headers["content-type"].startswith("image/")
    )
    assert "owned" not in watched.page.title()
    assert all(
        url.startswith("http://127.0.0.1:") or stopped.get(url) == "csp" for url in watched.requests
    )  # asked for, and stopped by the page's own policy
    watched.context.close()


@pytest.mark.parametrize(
    "path", [p for p, fine in MEDIA.items() if not fine and p not in ("media/page.png", "media%2finside.png")]
)
def test_the_server_refuses_whatever_leads_elsewhere(site: tuple[str, Path], path: str) -> None:
    """Each path as a browser would send it, and with its escapes taken once more."""
    with pytest.raises(rs.RollscopeError):
        below(str(site[1] / "hostile"), path)
    for sent in {
        path,
        path.replace("%2f", "/"),
        path.replace("/", "%2F"),
        path.replace("/", "%252F"),
        path.replace("..", "%2e%2e"),
    }:
        if "\0" in sent or not sent:
            continue
        answer = httpx.get(
            f"{site[0]}api/runs/hostile/media/{sent.encode().decode('latin1') if not sent.isascii() else sent}",
            timeout=5,
        )
        assert answer.status_code in (400, 404) or answer.headers["content-type"].startswith("text/html"), (
            sent
        )  # a path that dots lead out of the API is the page's own
        assert b"PNG" not in answer.content and b"root:" not in answer.content
