"""How fast a large run is read: 1,000 metrics x 10,000 steps, and 1 M samples in 2,000 steps.

Each sample has about 2 kB of text. Cold is a new process with the files in the page cache; warm is
the same reader with another question. Run: python bench/store.py [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import results
import rollscope as rs
import store_run
from rollscope.store.seal import compact, logs
from rollscope.store.series import metric_list
from rollscope.views.steps import step_statistics

STEPS, NAMES, SAMPLE_STEPS, SIZE = 10_000, 1_000, 2_000, 500
COLD = """
import json, sys, time
start = time.perf_counter()
import rollscope as rs
run = rs.open(sys.argv[1]).run(sys.argv[2])
{ask}
print(json.dumps((time.perf_counter() - start) * 1e3))
"""
OPEN = "run.series('section3/group0/metric_150')"
STATISTICS = """
from rollscope.views.steps import step_statistics
assert len(step_statistics(run)['reward/generated/mean']['step']) == 2000
"""


def timed(work: Callable[[int], Any], repeats: int) -> list[float]:
    """Milliseconds of each repeat, without the first."""
    work(0)
    milliseconds = []
    for i in range(1, repeats + 1):
        start = time.perf_counter()
        work(i)
        milliseconds.append((time.perf_counter() - start) * 1e3)
    return milliseconds


def cold(root: Path, run: str, ask: str, repeats: int = 7) -> list[float]:
    """Milliseconds from the first import to the answer, in a process of its own."""
    program = [sys.executable, "-c", COLD.format(ask=ask), str(root), run]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # as an installed package
    runs = [subprocess.run(program, capture_output=True, check=True, env=env) for _ in range(repeats + 1)]
    return [float(json.loads(done.stdout)) for done in runs[1:]]


def size(path: Path, pattern: str = "*") -> int:
    return sum(file.stat().st_size for file in path.rglob(pattern) if file.is_file())


def make(root: Path, name: str, write: Callable[[Path], None]) -> None:
    """Record a run as it is after its end: sealed and compacted."""
    if not (root / name).exists():
        write(root / name)
        logs.seal(str(root / name))
        compact.compact(str(root / name), everything=True)


def metrics(root: Path) -> Iterator[dict[str, str]]:
    make(root, "real", lambda path: store_run.metrics(path, NAMES, STEPS))
    make(root, "random", lambda path: store_run.metrics(path, NAMES, STEPS, random=True))
    for name, words in (("real", "readings of a real run"), ("random", "random doubles")):
        bytes_per_point = size(root / name, "*.sealed/*") / NAMES / STEPS
        what = f"store: bytes a point, sealed, {words}, all files"
        yield results.row(what, "B", [bytes_per_point], NAMES * STEPS)
    yield results.row("store: open a run of 10 M points and read a series, new process", "ms", cold(root, "real", OPEN))
    run = rs.open(root).run("real")
    names = run.metrics()["name"].tolist()
    one = timed(lambda i: run.series(names[37 * i % NAMES]), 20)
    yield results.row("store: one series of 10 M points, warm", "ms", one)
    bucketed = timed(lambda i: run.series(names[41 * i % NAMES], points=500), 20)
    yield results.row("store: one series in 500 buckets, warm", "ms", bucketed)
    listed = timed(lambda i: metric_list.columns(run.folder, run.derived(), run.naming.unit), 10)
    yield results.row("store: 1,000 names with their last values", "ms", listed)
    sparklines = timed(lambda i: run.buckets(names, 0, STEPS - 1, 100), 10)
    yield results.row("store: 1,000 sparklines of 100 buckets", "ms", sparklines)
    charts = timed(lambda i: run.buckets(names[20 * i : 20 * i + 20], 0, STEPS - 1, 500), 10)
    yield results.row("store: 20 charts of 500 buckets", "ms", charts)


def samples(root: Path) -> Iterator[dict[str, str]]:
    make(root, "samples", lambda path: store_run.samples(path, SAMPLE_STEPS, SIZE))
    for log in (root / "samples").glob("*.log"):
        log.unlink()  # of an earlier measurement
    statistics = cold(root, "samples", STATISTICS)
    yield results.row("store: step statistics with Gini over 1 M samples, new process", "ms", statistics)
    run = rs.open(root).run("samples")
    steps = timed(lambda i: run.samples(step=97 * i % SAMPLE_STEPS), 20)
    yield results.row("store: the 500 samples of a step, with text", "ms", steps)
    narrow = ["id", "group", "reward", "trained", "completion_tokens"]
    five = timed(lambda i: run.samples(step=89 * i % SAMPLE_STEPS, columns=narrow), 20)
    yield results.row("store: the 500 samples of a step, five columns", "ms", five)
    yield from searches(run)
    step_statistics(run)
    more = [_one_step_more(run, root / "samples", SAMPLE_STEPS + i) for i in range(7)]
    yield results.row("store: step statistics again, one step more", "ms", more)


def searches(run: Any) -> Iterator[dict[str, str]]:
    text = _text_bytes(run) / 1e9
    first = timed(lambda i: list(run.search("which", limit=50)), 10)
    yield results.row("store: search, first 50 hits of a word that is everywhere", "ms", first)
    exact = timed(lambda i: list(run.search("serendipity" + "!" * (i % 2))), 5)
    yield results.row("store: search, all text, s a GB", "s/GB", [ms / 1e3 / text for ms in exact])
    folded = timed(lambda i: list(run.search("Serendipity" + "!" * (i % 2), ignore_case=True)), 5)
    what = "store: search, all text, without regard to case, s a GB"
    yield results.row(what, "s/GB", [ms / 1e3 / text for ms in folded])
    many = timed(lambda i: list(run.search("which", limit=200_000)), 3)
    yield results.row("store: search, a word that is everywhere, a hit", "us", [ms * 1e3 / 200_000 for ms in many])


def _one_step_more(run: Any, folder: Path, step: int) -> float:
    """Milliseconds until the statistics include a new step."""
    store_run.one_more_step(folder, step)
    start = time.perf_counter()
    run.refresh()
    steps = step_statistics(run)["reward/generated/mean"]["step"]
    took = (time.perf_counter() - start) * 1e3
    assert steps[-1] == step
    return took


def _text_bytes(run: Any) -> int:
    """The size of all text, not compressed."""
    files = [sealed.files["samples.text.parquet"].metadata for sealed in run.folder.sets]
    return sum(file.row_group(i).total_byte_size for file in files for i in range(file.num_row_groups))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder for the runs, used again next time (default: temporary)")
    parser.add_argument("--only", choices=("metrics", "samples"))
    args = parser.parse_args()
    parts = {"metrics": metrics, "samples": samples}
    with tempfile.TemporaryDirectory() as folder:
        root = args.keep or Path(folder)
        rows = [row for name, part in parts.items() if args.only in (None, name) for row in part(root)]
    results.show(rows)
    results.append(rows)


if __name__ == "__main__":
    main()
