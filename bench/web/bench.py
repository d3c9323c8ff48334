"""Measure the web on a large store: `python bench/web/bench.py [FOLDER] [--only PART ...] [--dry]`.

large_run.py records FOLDER if it does not exist, in minutes. Each figure is something a person
feels. It is measured in a real Chromium at device ratio 1 and printed beside its target. People
navigate in a window that is already open, so each new window first gets time to become ready: the
browser spends most of a second on its own frame. Run it alone: a busy machine makes every figure
worse. With --dry, nothing is appended to results.csv.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import numpy as np

import results
import rollscope as rs
from tests.web.conftest import CHROMIUM, FLAGS, Served

READY = 1.5  # seconds that a new window needs
# Notes when the first chart was drawn, by the page's own clock.
NOTE_INK = """() => {
  const look = () => {
    if (document.querySelector('.plot[data-ink]')) window.__ink = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# The time of the first drawing, as soon as there is one.
FIRST_INK = """() => new Promise((done) => {
  const look = () => (window.__ink ? done(window.__ink) : requestAnimationFrame(look));
  look();
})"""
# Waits until the data-ink of all charts in view contains `want` and does not end in `not`. It skips
# metrics numbered `from` and up, which only the first run has.
ALL_INK = """([from, want, not]) => new Promise((done) => {
  const number = (plot) => Number(plot.closest('[data-metric]')?.dataset.metric.split('_').pop());
  const inView = (plot) => {
    const { top, bottom } = plot.getBoundingClientRect();
    return bottom > 0 && top < innerHeight && !(number(plot) >= from);
  };
  const drawn = ({ dataset: { ink = '' } }) => ink.includes(want) && !(not && ink.endsWith(not));
  const look = () => {
    const shown = [...document.querySelectorAll('.plot')].filter(inView);
    if (shown.length && shown.every(drawn)) done([performance.now() - (window.__t0 ?? 0), shown.length]);
    else requestAnimationFrame(look);
  };
  look();
})"""
# Collects the length of every frame, how long each card was blank in view, and the canvases.
FRAMES = """() => {
  Object.assign(window, { __frames: [], __blank: new Map(), __long: 0, __canvases: 0 });
  let last = performance.now();
  new PerformanceObserver((list) => { window.__long += list.getEntries().length; })
    .observe({ type: 'long-animation-frame' });
  const tick = (now) => {
    const took = now - last;
    window.__frames.push(took);
    last = now;
    for (const plot of document.querySelectorAll('.plot')) {
      const { top, bottom } = plot.getBoundingClientRect();
      if (bottom > 0 && top < innerHeight && !plot.dataset.ink)
        window.__blank.set(plot, (window.__blank.get(plot) ?? 0) + took);
    }
    window.__canvases = Math.max(window.__canvases, document.querySelectorAll('.plot canvas').length);
    if (!window.__stop) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
COUNTED = """() => {
  window.__stop = 1;
  return [window.__frames.slice(2), [...window.__blank.values()], window.__long, window.__canvases];
}"""
SHOW_FIRST_RUN = """() => {
  window.__t0 = performance.now();
  document.querySelector('.rail button[aria-label="show run-00 on charts"]').click();
}"""


class Bench:
    def __init__(self, browser: Any, url: str) -> None:
        self.browser, self.url = browser, url
        self.rows: list[dict[str, str]] = []

    def add(self, what: str, unit: str, values: list[float], promised: str) -> None:
        self.rows.append(results.row(f"web: {what}", unit, values))
        spread = f" ({min(values):.4g}-{max(values):.4g})" if len(values) > 1 else ""
        figure = f"{np.median(values):.4g} {unit}{spread}"
        print(f"{what:62} {figure:>30}   {promised}", flush=True)

    def window(self, compact: bool = False) -> tuple[Any, Any]:
        context = self.browser.new_context(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
        context.add_init_script(f"({NOTE_INK})()")
        if compact:  # more charts in view
            context.add_init_script("localStorage.setItem('rollscope.density', 'compact')")
        page = context.new_page()
        time.sleep(READY)
        return context, page

    def page(self, path: str, compact: bool = False) -> tuple[Any, Any]:
        context, page = self.window(compact)
        page.goto(self.url + path)
        return context, page

    def ink(self, page: Any) -> float:
        page.wait_for_selector(".plot[data-ink]")
        return float(page.evaluate(FIRST_INK))

    def navigation(self) -> None:
        fresh, again = [], []
        for _ in range(7):
            context, page = self.page("r/run-00/metrics")
            fresh.append(self.ink(page))
            time.sleep(1)
            page.reload()
            again.append(self.ink(page))
            context.close()
        self.add("navigation to first series ink, fresh profile", "ms", fresh, "<= 600 ms")
        self.add("reload to first series ink", "ms", again, "<= 300 ms")

    def scrolling(self, speed: int) -> None:
        context, page = self.page("r/run-00/metrics")
        self.ink(page)
        time.sleep(1)
        page.evaluate(FRAMES)
        gesture = {"x": 900, "y": 600, "yDistance": -12000, "speed": speed, "gestureSourceType": "mouse"}
        context.new_cdp_session(page).send("Input.synthesizeScrollGesture", gesture)
        frames, blank, long_, canvases = page.evaluate(COUNTED)
        slow, at = speed < 3000, f"scroll at {speed:,} px/s: "
        self.add(at + "frame, 95th percentile", "ms", [float(np.percentile(frames, 95))], "<= 34 ms" if slow else "")
        self.add(at + "worst frame", "ms", [max(frames)], "<= 67 ms" if slow else "<= 84 ms")
        self.add(at + "cards that came into view blank", "cards", [len(blank)], "0" if slow else "")
        self.add(at + "longest that one stayed blank", "ms", [max(blank, default=0.0)], "0" if slow else "<= 250 ms")
        self.add(at + "long animation frames", "frames", [long_], "0" if slow else "")
        self.add(at + "canvases alive", "canvases", [canvases], "<= 40")
        self.add(at + "memory of the renderer (PSS)", "MB", [memory()], "<= 350 MB")
        context.close()

    def zooming(self) -> None:
        times, count = [], 0
        for _ in range(7):
            context, page = self.page("r/run-00/metrics")
            page.evaluate(ALL_INK, [10**6, "series=", ""])
            time.sleep(1)
            box = page.query_selector(".plot .u-over").bounding_box()
            page.evaluate(
                "() => document.addEventListener('mouseup', () => { window.__t0 = performance.now(); }, true)"
            )
            page.mouse.move(box["x"] + 60, box["y"] + 40)
            page.mouse.down()
            page.mouse.move(box["x"] + 180, box["y"] + 40, steps=3)
            before = page.query_selector(".plot[data-ink]").get_attribute("data-ink").split(" lo=")[1]
            page.mouse.up()
            took, count = page.evaluate(ALL_INK, [10**6, "series=", f" lo={before}"])
            times.append(took)
            context.close()
        self.add(f"zoom: mouse up to ink of all {count} charts in view", "ms", times, "<= 120 ms")

    def overlay(self) -> None:
        times, count = [], 0
        for _ in range(5):
            context, page = self.page(f"r/run-01/metrics?runs={','.join(OTHERS[1:])}&q=metric_00", compact=True)
            page.evaluate(ALL_INK, [60, "series=19", ""])
            time.sleep(1)
            page.evaluate(SHOW_FIRST_RUN)
            took, count = page.evaluate(ALL_INK, [60, "series=20", ""])
            times.append(took)
            context.close()
        self.add(f"{count} charts in view x 20 runs: click on the 20th to ink", "ms", times, "<= 700 ms")

    def opening(self) -> None:
        times, count = [], 0
        for _ in range(5):
            context, page = self.page(f"r/run-01/metrics?runs={','.join(OTHERS)}&q=metric_00", compact=True)
            took, count = page.evaluate(ALL_INK, [60, "series=20", ""])
            times.append(took)
            context.close()
        self.add(f"{count} charts in view x 20 runs: navigation to all ink", "ms", times, "")

    def cursor(self) -> None:
        context, page = self.page(f"r/run-01/metrics?runs={','.join(OTHERS)}&q=metric_00", compact=True)
        page.evaluate(ALL_INK, [60, "series=20", ""])
        time.sleep(1)
        box = page.query_selector(".plot .u-over").bounding_box()
        page.evaluate(FRAMES)
        for i in range(240):
            page.mouse.move(box["x"] + 10 + i, box["y"] + 50 + (i % 7))
            time.sleep(0.012)
        frames = page.evaluate(COUNTED)[0]
        slow = float(np.percentile(frames, 95))
        self.add("shared cursor over 20 runs: frame, 95th percentile", "ms", [slow], "<= 17 ms")
        self.add("shared cursor over 20 runs: worst frame", "ms", [max(frames)], "")
        context.close()

    def live(self) -> None:
        """Seconds from commit() until the new step is drawn."""
        folder, times = Path(tempfile.mkdtemp()), []
        with rs.init(project="p", name="live", id="live", dir=folder, host=False) as run:
            for step in range(50):
                log(run, step)
            served = Served(folder)
            context, page = self.window()
            page.goto(served.url + "r/live/metrics")
            self.ink(page)
            for step in range(50, 70):
                time.sleep(0.7 + 0.05 * (step % 10))  # at no fixed time between two looks of the server
                began = time.monotonic()
                log(run, step)
                page.wait_for_selector(f'.plot[data-ink*="hi={step}"]')
                times.append(time.monotonic() - began)
            context.close()
            served.stop()
        self.add("a committed step on screen", "s", times, "<= 1 s")
        self.add("a committed step on screen, worst", "s", [max(times)], "<= 1 s")


OTHERS = [f"run-{i:02d}" for i in (0, *range(2, 20))]


def log(run: Any, step: int) -> None:
    run.log({f"m/{i}": step / (i + 1) for i in range(100)}, step=step)
    run.commit(step)


def memory() -> float:
    """PSS of the largest renderer in MB. The JavaScript heap has neither canvases nor text."""
    pss = []
    for pid in subprocess.run(["pgrep", "-f", "type=renderer"], capture_output=True, text=True).stdout.split():
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        pss.append(int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]) / 1000)
    return max(pss, default=float("nan"))


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp())
    subprocess.run([sys.executable, str(Path(__file__).with_name("large_run.py")), str(folder)], check=True)
    served = Served(folder)
    time.sleep(5)  # the server reads the store
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        bench = Bench(browser, served.url)
        parts: dict[str, Callable[[], None]] = {
            "navigation": bench.navigation,
            "scroll": lambda: bench.scrolling(1500),
            "fast": lambda: bench.scrolling(6000),
            "zoom": bench.zooming,
            "overlay": bench.overlay,
            "opening": bench.opening,
            "cursor": bench.cursor,
            "live": bench.live,
        }
        for name, part in parts.items():
            if not args.only or name in args.only:
                part()
        browser.close()
    served.stop()
    if not args.dry:
        results.append(bench.rows)


if __name__ == "__main__":
    main()
