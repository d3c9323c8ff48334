"""Measure Evals on a large set, in Chromium: `python bench/web/evals.py [FOLDER] [--dry]`.

The set has 2,000 tasks, evaluated at 200 steps. The matrix is scrolled by 40 pixels a frame for
three seconds, down and to the left; frames are counted by the page's own clock. Run it alone. With
--dry, nothing is appended to results.csv.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from playwright.sync_api import sync_playwright

import results
import rollscope as rs

CHROMIUM = "/usr/bin/chromium"
TASKS, STEPS = 2_000, 200
SCROLL = """() => new Promise((done) => {
  const box = document.querySelector('.matrix');
  const times = [];
  const step = (now) => {
    times.push(now);
    box.scrollTop += 40;
    box.scrollLeft -= 10;
    if (now - times[0] < 3000) requestAnimationFrame(step);
    else done(times.slice(1).map((t, i) => t - times[i]));
  };
  requestAnimationFrame(step);
})"""


def record(folder: Path) -> None:
    random = np.random.default_rng(0)
    with rs.init(id="large", dir=folder, host=False) as run:
        for step in range(STEPS):
            right = random.random(TASKS) < 0.2 + 0.6 * step / STEPS
            rows = [{"task": f"{t:04d}", "repeat": 0, "score": float(right[t])} for t in range(TASKS)]
            run.log_eval("gsm8k", rows, step=10 * step)
            run.flush(60)


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--dry"]
    folder = Path(words[0]) if words else Path(tempfile.mkdtemp()) / "runs"
    if not (folder / "large").exists():
        record(folder)
    serve = ["rollscope", "serve", str(folder), "--port", "0", "--no-browser", "--json"]
    server = subprocess.Popen([sys.executable, "-m", *serve], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        first, frames = measured(json.loads(server.stdout.readline())["url"])
    finally:
        server.terminate()
        server.wait(20)
    what = f"rollscope: matrix of {TASKS:,} tasks x {STEPS} steps"
    rows = [results.row(f"{what}, first", "ms", [first])]
    rows.append(results.row(f"{what}, a frame of scrolling", "ms", frames))
    rows.append(results.row(f"{what}, frames while scrolling", "1/s", [1000 * len(frames) / sum(frames)]))
    results.show(rows)
    if "--dry" not in sys.argv:
        results.append(rows)


def measured(url: str) -> tuple[float, list[float]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        began = time.perf_counter()
        page.goto(f"{url}r/large/evals", timeout=120_000)
        page.wait_for_selector(".matrix canvas[data-rows]", timeout=120_000)
        first = 1000 * (time.perf_counter() - began)
        frames: list[float] = page.evaluate(SCROLL)
        browser.close()
    return first, frames


if __name__ == "__main__":
    main()
