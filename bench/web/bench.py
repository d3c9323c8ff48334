"""What the web reaches on the large store: `python bench/web/bench.py FOLDER` (made by large_run.py). Run it alone on the machine.

Each figure is one thing a person feels, measured in a real Chromium at device ratio 1; the table beside it says what was promised. Nothing here is a
test: a busy machine makes all of it worse.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import rollscope as rs
from tests.web.conftest import CHROMIUM, FLAGS, Served

INKED = "[...document.querySelectorAll('.plot')].filter(p => { const r = p.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight && p.dataset.ink; }).length"
VISIBLE = "[...document.querySelectorAll('.plot')].filter(p => { const r = p.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; }).length"
FIRST_INK = """() => new Promise(done => { const seen = () => { const p = document.querySelector('.plot[data-ink]'); if (p) done(performance.now()); else requestAnimationFrame(seen); }; seen(); })"""
# metrics numbered `from` and up are not waited for: only the first run has them
ALL_INK = """([from, want]) => new Promise(done => { const start = performance.now(); const seen = () => {
  const shown = [...document.querySelectorAll('.plot')].filter(p => { const r = p.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight && !(Number(p.closest('[data-metric]')?.dataset.metric.split('_').pop()) >= from); });
  if (shown.length && shown.every(p => (p.dataset.ink || '').includes(want))) done(performance.now() - (window.__t0 ?? start)); else requestAnimationFrame(seen); }; seen(); })"""
FRAMES = """() => { window.__frames = []; window.__blank = 0; window.__long = 0; let last = performance.now();
  new PerformanceObserver(l => { window.__long += l.getEntries().length; }).observe({ type: 'long-animation-frame' });
  const tick = (t) => { window.__frames.push(t - last); last = t;
    for (const p of document.querySelectorAll('.plot')) { const r = p.getBoundingClientRect(); if (r.bottom > 0 && r.top < innerHeight && !p.dataset.ink) window.__blank++; }
    window.__canvases = Math.max(window.__canvases || 0, document.querySelectorAll('.plot canvas').length); if (!window.__stop) requestAnimationFrame(tick); };
  requestAnimationFrame(tick); }"""


def quantile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


class Bench:
    def __init__(self, browser: Any, url: str) -> None:
        self.browser, self.url = browser, url
        self.rows: list[tuple[str, str, str]] = []

    def add(self, what: str, found: str, promised: str) -> None:
        self.rows.append((what, found, promised))
        print(f"{what:58} {found:>26}   {promised}", flush=True)

    def page(self, path: str, compact: bool = False) -> tuple[Any, Any]:
        context = self.browser.new_context(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
        if compact:  # twelve charts in view
            context.add_init_script("localStorage.setItem('rollscope.density', 'compact')")
        page = context.new_page()
        page.goto(self.url + path)
        return context, page

    def navigation(self) -> None:
        fresh, again = [], []
        for _ in range(5):
            context, page = self.page("r/run-00/metrics")
            fresh.append(page.evaluate(FIRST_INK))
            page.reload()
            again.append(page.evaluate(FIRST_INK))
            context.close()
        self.add("navigation to first series ink, fresh profile", f"{statistics.median(fresh):.0f} ms ({min(fresh):.0f}-{max(fresh):.0f})", "<= 600 ms")
        self.add("reload to first series ink", f"{statistics.median(again):.0f} ms ({min(again):.0f}-{max(again):.0f})", "<= 300 ms")

    def scrolling(self, speed: int) -> None:
        context, page = self.page("r/run-00/metrics")
        page.evaluate(FIRST_INK)
        time.sleep(1)
        page.evaluate(FRAMES)
        session = context.new_cdp_session(page)
        session.send("Input.synthesizeScrollGesture", {"x": 900, "y": 600, "yDistance": -12000, "speed": speed, "gestureSourceType": "mouse"})
        frames, blank, long_, canvases = page.evaluate(
            "() => { window.__stop = 1; return [window.__frames.slice(2), window.__blank, window.__long, window.__canvases]; }"
        )
        promised = "p95 <= 34, none > 67, 0 blank, 0 long" if speed < 3000 else "none > 84 ms"
        self.add(f"scroll at {speed:,} px/s: frame p95 / worst", f"{quantile(frames, 0.95):.1f} / {max(frames):.1f} ms", promised)
        self.add("  card-frames blank in view, long frames, canvases alive", f"{blank}, {long_}, {canvases}", "0, 0, <= 40")
        self.memory(page)
        context.close()

    def memory(self, page: Any) -> None:
        """PSS of the largest renderer: canvases and text do not show in the JavaScript heap."""
        found = subprocess.run(["pgrep", "-f", "type=renderer"], capture_output=True, text=True).stdout.split()
        pss = []
        for pid in found:
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            pss.append(int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]) / 1000)
        self.add("  renderer memory (PSS)", f"{max(pss, default=float('nan')):.0f} MB", "<= 350 MB")

    def zooming(self) -> None:
        times, counts = [], []
        for _ in range(5):
            context, page = self.page("r/run-00/metrics")
            page.evaluate(ALL_INK, [10**6, "series="])
            time.sleep(0.5)
            box = page.query_selector(".plot .u-over").bounding_box()
            page.evaluate("() => document.addEventListener('mouseup', () => { window.__t0 = performance.now(); }, true)")
            page.mouse.move(box["x"] + 60, box["y"] + 40)
            page.mouse.down()
            page.mouse.move(box["x"] + 180, box["y"] + 40, steps=3)
            wanted = "lo="
            before = page.query_selector(".plot[data-ink]").get_attribute("data-ink").split("lo=")[1]
            page.mouse.up()
            found = page.evaluate(
                """(before) => new Promise(done => { const seen = () => { const shown = [...document.querySelectorAll('.plot')].filter(p => { const r = p.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; });
                if (shown.every(p => p.dataset.ink && !p.dataset.ink.endsWith('lo=' + before))) done([performance.now() - window.__t0, shown.length]); else requestAnimationFrame(seen); }; seen(); })""",
                before,
            )
            assert wanted
            times.append(found[0])
            counts.append(found[1])
            context.close()
        self.add(
            f"zoom: mouse up to ink of all {counts[0]} visible charts", f"{statistics.median(times):.0f} ms ({min(times):.0f}-{max(times):.0f})", "<= 120 ms"
        )

    def overlay(self) -> None:
        times = []
        others = ",".join(f"run-{i:02d}" for i in range(2, 20))
        for _ in range(3):
            context, page = self.page(f"r/run-01/metrics?runs={others}&q=metric_00", compact=True)
            page.evaluate(ALL_INK, [60, "series=19"])
            page.evaluate("() => { window.__t0 = performance.now(); document.querySelector('.rail button[aria-label=\"show run-00 on charts\"]').click(); }")
            times.append(page.evaluate(ALL_INK, [60, "series=20"]))
            shown = page.evaluate(VISIBLE)
            context.close()
        self.add(f"{shown} visible charts x 20 runs: click to ink", f"{statistics.median(times):.0f} ms ({min(times):.0f}-{max(times):.0f})", "<= 700 ms")

    def cursor(self) -> None:
        others = ",".join(f"run-{i:02d}" for i in range(2, 20))
        context, page = self.page(f"r/run-01/metrics?runs={others},run-00&q=metric_00", compact=True)
        page.evaluate(ALL_INK, [60, "series=20"])
        time.sleep(1)
        box = page.query_selector(".plot .u-over").bounding_box()
        page.evaluate(FRAMES)
        for i in range(120):
            page.mouse.move(box["x"] + 10 + i * 2, box["y"] + 50 + (i % 7))
            time.sleep(0.012)
        frames = page.evaluate("() => { window.__stop = 1; return window.__frames.slice(2); }")
        self.add("shared cursor over 20 runs: frame p95 / worst", f"{quantile(frames, 0.95):.1f} / {max(frames):.1f} ms", "p95 <= 17 ms")
        context.close()


def live(browser: Any) -> tuple[float, float]:
    """Seconds from commit() to ink of the new step, several times."""
    folder = Path(tempfile.mkdtemp())
    with rs.init(project="p", name="live", id="live", dir=folder, host=False) as run:
        for step in range(50):
            run.log({f"m/{i}": step / (i + 1) for i in range(100)}, step=step)
            run.commit(step)
        served = Served(folder)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(served.url + "r/live/metrics")
        page.evaluate(FIRST_INK)
        times = []
        for step in range(50, 58):
            began = time.monotonic()
            run.log({f"m/{i}": step / (i + 1) for i in range(100)}, step=step)
            run.commit(step)
            page.wait_for_selector(f'.plot[data-ink*="hi={step}"]')
            times.append(time.monotonic() - began)
            time.sleep(0.7)
        page.close()
        served.stop()
    return statistics.median(times), max(times)


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    served = Served(args.folder)
    time.sleep(5)  # the server has looked at the store
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        bench = Bench(browser, served.url)
        parts: dict[str, Callable[[], None]] = {
            "navigation": bench.navigation,
            "scroll": lambda: bench.scrolling(1500),
            "fast": lambda: bench.scrolling(6000),
            "zoom": bench.zooming,
            "overlay": bench.overlay,
            "cursor": bench.cursor,
            "live": lambda: bench.add("committed step on screen", "{:.2f} s (worst {:.2f})".format(*live(browser)), "<= 1 s"),
        }
        for name, part in parts.items():
            if not args.only or name in args.only:
                part()
        browser.close()
    served.stop()
    if args.json:
        args.json.write_text(json.dumps(bench.rows, indent=1))


if __name__ == "__main__":
    main()
