"""Measure the list of 5,000 runs, 50 runs on a chart, and a board of 30 panels, in a Chromium.

`python bench/web/runs.py [--runs 5000] [--dry]`. One small run is recorded and its folder copied
under other ids, as bench/many_runs.py does. Run it alone: a busy machine makes every figure worse.
With --dry, nothing is appended to results.csv.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import httpx

import many_runs
import results
from rollscope.store.project.log import ProjectLog
from tests.web.conftest import CHROMIUM, FLAGS, Served

REPEATS = 5
TOGETHER = 50  # runs on a chart
PANELS = 30
# Milliseconds from the navigation until an expression is true in a frame.
UNTIL = "(of) => new Promise((done) => { const f = new Function('return ' + of); const look = () => \
(f() ? done(performance.now()) : requestAnimationFrame(look)); look(); })"
# Milliseconds from typing into the search until the list has so many runs.
FILTER = """([text, count]) => new Promise((done) => {
  const box = document.querySelector('[data-search]');
  const began = performance.now();
  box.value = text;
  box.dispatchEvent(new InputEvent('input', { bubbles: true }));
  const look = () => (document.querySelector('[data-shown]').dataset.shown === String(count)
    ? done(performance.now() - began) : requestAnimationFrame(look));
  requestAnimationFrame(look);
})"""


def measured(browser: Any, repeats: int, work: Callable[[Any], float]) -> list[float]:
    times = []
    for _ in range(repeats):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page = context.new_page()
        page.set_default_timeout(60_000)
        time.sleep(1.0)  # a new window needs it for itself
        times.append(work(page))
        context.close()
    return times


def ready(url: str, count: int) -> None:
    """Wait until the server has read every run."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        answer = httpx.get(url + "api/runs", timeout=120).json()
        if len(answer["runs"]) >= count and not answer["pending"]:
            return
        time.sleep(0.5)
    raise RuntimeError("the server never listed every run")


def first_paint(url: str) -> Callable[[Any], float]:
    def work(page: Any) -> float:
        page.goto(url, wait_until="commit")
        return float(page.evaluate(UNTIL, "document.querySelectorAll('tr[data-run]').length > 10"))

    return work


def filtered(url: str, count: int) -> Callable[[Any], float]:
    def work(page: Any) -> float:
        page.goto(url)
        page.wait_for_selector(f'[data-shown="{count}"]')
        slowest = 0.0
        for text, left in (("run 4999", 0), ("/run 1\\d\\d\\d$/", min(1000, count - 1001)), ("", count)):
            slowest = max(slowest, float(page.evaluate(FILTER, [text, left])))
        return slowest

    return work


def together(url: str, ids: list[str]) -> Callable[[Any], float]:
    def work(page: Any) -> float:
        page.goto(f"{url}r/{ids[0]}/metrics?runs={','.join(ids[1:])}&q=reward/mean", wait_until="commit")
        drawn = f"document.querySelector('.plot[data-ink*=\"series={len(ids)} \"]') !== null"
        return float(page.evaluate(UNTIL, drawn))

    return work


def board(url: str, id: str) -> Callable[[Any], float]:
    def work(page: Any) -> float:
        page.goto(f"{url}r/{id}/metrics?board=thirty", wait_until="commit")
        inked = (
            "[...document.querySelectorAll('.panel .plot')].filter(p => p.getBoundingClientRect().top < innerHeight)"
        )
        return float(page.evaluate(UNTIL, f"{inked}.length > 5 && {inked}.every(p => p.dataset.ink)"))

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--dry", action="store_true", help="append nothing to results.csv")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder) / "runs"
        many_runs.make(root, args.runs, Path(many_runs.__file__).parent.parent / "src")
        metrics = ["reward/mean", "policy/entropy", "optimizer/lr"]
        panels = [{"id": str(i), "kind": "chart", "metrics": [metrics[i % 3]]} for i in range(PANELS)]
        ProjectLog(str(root)).append("board", "thirty", {"panels": panels})
        served = Served(root)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            ready(served.url, args.runs)
            ids = [f"run-{i:05d}" for i in range(TOGETHER)]
            figures = {
                f"web: list of {args.runs:,} runs, navigation to first rows": (first_paint(served.url), "<= 1,000 ms"),
                f"web: list of {args.runs:,} runs, filter, slowest of three": (
                    filtered(served.url, args.runs),
                    "<= 100 ms",
                ),
                f"web: {TOGETHER} runs on a chart, navigation to ink": (together(served.url, ids), ""),
                f"web: board of {PANELS} panels, navigation to ink of those in view": (board(served.url, ids[0]), ""),
            }
            rows = []
            for what, (work, promised) in figures.items():
                rows.append(results.row(what, "ms", measured(browser, REPEATS, work)))
                print(f"{what:70} {rows[-1]['p50']:>8} ms  {promised}", flush=True)
        finally:
            browser.close()
            served.stop()
    if not args.dry:
        results.append(rows)


if __name__ == "__main__":
    main()
