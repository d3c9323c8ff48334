"""Measure Rollouts on the large run, in Chromium: `python bench/web/rollouts.py [FOLDER] [--dry]`.

It measures a key press until the list and the first text of a step of 10,000 samples of 20 kB, the
first screen of a 10 MB completion, 8,000 coloured tokens, the first hit and the end of a search,
and `why` over 10,000 samples. A jump to a step is measured at the server's first request for it,
and again in a fresh tab. A time ends two frames after the document has the expected element. Run it
alone. With --dry, nothing is appended to results.csv.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx
from large_rollouts import ODD, SHORT, WIDE, record
from playwright.sync_api import sync_playwright

import results

CHROMIUM = "/usr/bin/chromium"
# Calls done() with the time since `began`, two frames after the document has the selector.
LOOK = """const look = () => {
    if (!document.querySelector(selector)) requestAnimationFrame(look);
    else requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
  };
  look();"""
# The time from an input until the document has a selector, by the page's own clock.
WATCH = """([action, selector]) => new Promise((done) => {
  const began = performance.now();
  const key = { key: action.slice(4), bubbles: true, cancelable: true };
  if (action.startsWith('key ')) document.dispatchEvent(new KeyboardEvent('keydown', key));
  else document.querySelector(action).click();
  LOOK
})""".replace("LOOK", LOOK)
LONG = """() => {
  window.long = [];
  new PerformanceObserver((list) => window.long.push(...list.getEntries().map((e) => e.duration)))
    .observe({ type: 'long-animation-frame', buffered: false });
}"""
NEIGHBOURS = "step change, 10,000 x 20 kB, neighbours known"


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--dry"]
    folder = Path(words[0]) if words else Path(tempfile.mkdtemp()) / "runs"
    if not (folder / "large").exists():
        record(folder)
    serve = ["rollscope", "serve", str(folder), "--port", "0", "--no-browser", "--json"]
    server = subprocess.Popen([sys.executable, "-m", *serve], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        time.sleep(2)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=False).new_page()
            figures = {**steps(page, url), **texts(page, url)}
            browser.close()
        figures |= requests(url)
        rows = [results.row(f"web rollouts: {name}", "ms", times) for name, times in figures.items()]
        results.show(rows)
        if "--dry" not in sys.argv:
            results.append(rows)
    finally:
        server.kill()
        server.wait()


def steps(page: Any, url: str) -> dict[str, list[float]]:
    """Jumps from far away, then moves between the two wide steps, with their neighbours loaded."""
    jumps = [jump(page, url, WIDE) for _ in range(6)]
    page.goto(f"{url}r/large/rollouts?step={WIDE - 1}")
    page.wait_for_selector("[data-sample] .textblock")
    time.sleep(1)
    moves: list[float] = []
    right = [("ArrowRight", WIDE), ("ArrowRight", SHORT)]
    for key, at in [*right, ("ArrowLeft", WIDE), ("ArrowLeft", WIDE - 1), *right]:
        took = page.evaluate(WATCH, [f"key {key}", f'.rollouts[data-step="{at}"] [data-sample^="s{at}."] .textblock'])
        if at in (WIDE, SHORT):
            moves.append(took)
        time.sleep(1.2)
    return {
        "jump to it, first time for the server": jumps[:1],
        "jump to it, again, in a fresh tab": jumps[1:],
        NEIGHBOURS: moves,
    }


def jump(page: Any, url: str, at: int) -> float:
    page.goto(f"{url}r/large/rollouts?step=3")
    page.wait_for_selector("[data-sample] .textblock")
    time.sleep(1)
    return float(page.evaluate(JUMP, [at, f'.rollouts[data-step="{at}"] [data-sample^="s{at}."] .textblock']))


# A jump by the address, as the back button does.
JUMP = """([at, selector]) => new Promise((done) => {
  const began = performance.now();
  history.replaceState(null, '', location.pathname + '?step=' + at);
  dispatchEvent(new PopStateEvent('popstate'));
  LOOK
})""".replace("LOOK", LOOK)


def texts(page: Any, url: str) -> dict[str, list[float]]:
    first: list[float] = []
    colour: list[float] = []
    recolour: list[float] = []
    frames: list[float] = []
    for _ in range(5):
        page.goto(f"{url}r/large/rollouts?step={ODD}&view=all,n1&group=g{ODD}.2")
        page.wait_for_selector(f'[data-sample="s{ODD}.2.0"] .textblock')
        page.evaluate(LONG)
        time.sleep(0.5)
        open_long = [f'[data-group="g{ODD}.0"]', f'[data-sample="s{ODD}.0.0"] .written .textblock']
        first.append(page.evaluate(WATCH, open_long))
        page.wait_for_selector(f'[data-sample="s{ODD}.0.0"] [data-whole]', timeout=60_000)
        frames.append(max([0.0, *page.evaluate("window.long")]))
        page.click(f'[data-group="g{ODD}.1"]')
        page.wait_for_selector(f'[data-sample="s{ODD}.1.0"] .textblock')
        time.sleep(0.3)
        colour.append(page.evaluate(WATCH, ["key v", '[data-ink*="colour=logprob"]']))
        recolour.append(page.evaluate(WATCH, ["key v", '[data-ink*="colour=entropy"]']))
    return {
        "first screen of a 10 MB completion": first,
        "longest frame while all of it is put in": frames,
        "8,000 tokens in colour": colour,
        "8,000 tokens in another colour": recolour,
    }


def requests(url: str) -> dict[str, list[float]]:
    """Requests to the server, without a browser."""
    out: dict[str, list[float]] = {
        "search, first hit": [],
        "search of 215 MB that finds nothing": [],
        "why, 10,000 samples": [],
        "columns of 10,000 samples": [],
    }
    with httpx.Client(base_url=url, timeout=120) as client:
        for _ in range(3):
            began = time.perf_counter()
            with client.stream("GET", "api/runs/large/search", params={"text": "think again", "limit": 50}) as answer:
                next(answer.iter_lines())
                out["search, first hit"].append(1e3 * (time.perf_counter() - began))
            for name, path in (
                ("search of 215 MB that finds nothing", "api/runs/large/search?text=xyzzy"),
                ("why, 10,000 samples", f"api/runs/large/why?metric=reward/mean&step={WIDE}"),
                ("columns of 10,000 samples", f"api/runs/large/rollouts?step={WIDE}"),
            ):
                began = time.perf_counter()
                client.get(path).raise_for_status()
                out[name].append(1e3 * (time.perf_counter() - began))
    return out


if __name__ == "__main__":
    main()
