"""Take pictures of every page: `make pictures`, or `python scripts/screenshots.py [FOLDER [RUN]]`.

FOLDER is one that `rollscope demo --no-serve` recorded; without it the demo runs first. The
pictures, light, dark and 400 px wide, go to docs/screenshots/. Each is taken when the charts in
view say that they are drawn, not after a time.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx

from rollscope.store.project.log import ProjectLog
from tests.web import compare_runs
from tests.web.conftest import CHROMIUM, FLAGS, Served

TARGET = Path(__file__).parent.parent / "docs/screenshots"
SHAPES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 400, "height": 860}, "color_scheme": "dark"},
}
# The charts in view are drawn, and the page has text.
READY = """(() => {
  const text = document.querySelector('#page').innerText;
  const inView = [...document.querySelectorAll('.plot')].filter((plot) => {
    const { top, bottom, height } = plot.getBoundingClientRect();
    return bottom > 0 && top < innerHeight && height;
  });
  const reading = /^Reading /m.test(text) || text.includes('Their findings appear here');
  return inView.every((plot) => plot.dataset.ink) && text.trim().length > 20 && !reading;
})()"""


SHOWN = {"compare": ".compare-card canvas[data-ink]"}  # pages whose charts come after their text
BOARD = "GRPO"  # charts arranged by hand, as a person would keep them
PANELS: list[list[str]] = [
    ["reward/generated/mean", "reward/trained/mean"],
    ["policy/entropy", "policy/kl_ref_k3"],
    ["length/completion/generated/mean", "length/truncated/generated"],
    ["optimiser/grad_norm"],
    ["group/zero_spread"],
    ["perf/throughput"],
]


def keep_board(folder: Path) -> None:
    panels = [
        {"id": str(i), "kind": "chart", "metrics": [{"name": name, "right": at > 0} for at, name in enumerate(names)]}
        for i, names in enumerate(PANELS)
    ]
    ProjectLog(str(folder)).append("board", BOARD, {"panels": panels})


def pages(run: str, step: int) -> dict[str, str]:
    names = (
        *("overview", "metrics", "rollouts", "timeline", "system", "environment", "evals", "findings"),
        *("sql", "facts", "console"),
    )
    return {
        "runs": "",
        "glossary": f"r/{run}/glossary?q=actor/ppo_kl",
        "board": f"r/{run}/metrics?board={BOARD}&step={step}",
        **{name: f"r/{run}/{name}?step={step}" for name in names},
    }


def wait(page: Any, seconds: float = 40) -> None:
    """Wait until the page is ready for 0.8 s in a row."""
    deadline, quiet = time.monotonic() + seconds, 0
    while quiet < 8 and time.monotonic() < deadline:
        quiet = quiet + 1 if page.evaluate(READY) else 0
        time.sleep(0.1)


def take(browser: Any, url: str, shown: dict[str, str]) -> None:
    for shape, options in SHAPES.items():
        context = browser.new_context(**options)
        page = context.new_page()
        for name, path in shown.items():
            page.goto(url + path)
            page.wait_for_selector("#page:not([data-page=''])")
            if name in SHOWN:
                page.wait_for_selector(SHOWN[name])
            wait(page)
            page.screenshot(path=TARGET / f"{name}-{shape}.png")
            print(f"{name}-{shape}", flush=True)
        context.close()


def compress(folder: Path) -> None:
    """Make the files smaller if pngquant is installed."""
    if shutil.which("pngquant"):
        options = ["--force", "--ext", ".png", "--skip-if-larger"]
        subprocess.run(["pngquant", *options, *map(str, folder.glob("*.png"))], check=False)


@contextmanager
def recorded(folder: Path | None) -> Iterator[Path]:
    """The folder, or one that the demo recorded just now."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([sys.executable, "-m", "rollscope", "demo", "--no-serve", "--dir", made], check=True)
        yield Path(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("run", nargs="?")
    args = parser.parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    with recorded(args.folder) as folder:
        keep_board(folder)
        picture(folder, args.run)
    compress(TARGET)


def picture(folder: Path, wanted: str | None) -> None:
    """Take every picture of a run: the one that is wanted, else the first GRPO run."""
    from playwright.sync_api import sync_playwright

    served = Served(folder)
    runs = httpx.get(served.url + "api/runs", timeout=120).json()["runs"]
    run = next(r for r in runs if wanted in (None, r["id"], r["name"]) and (wanted or r["algorithm"] == "grpo"))
    httpx.get(f"{served.url}api/runs/{run['id']}/findings", timeout=120)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        take(browser, served.url, pages(run["id"], int((run["step"] or 0) * 0.75)))
        with tempfile.TemporaryDirectory() as seeds:  # two configurations with seeds to compare
            compare_runs.record(Path(seeds))
            repeated = Served(Path(seeds))
            take(browser, repeated.url, {"compare": "r/base-0/compare?runs=hi-0"})
            repeated.stop()
        browser.close()
    served.stop()


if __name__ == "__main__":
    main()
