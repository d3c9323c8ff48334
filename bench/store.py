"""How fast a large run is read back: 1,000 metrics x 10,000 steps, and 1 M samples in 2,000 steps with about 2 kB of text each.

Cold is a new process with the files in the page cache; warm is the same reader asked again for something else. Run: python bench/store.py [--keep DIR]
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
STATISTICS = "from rollscope.views.steps import step_statistics; assert len(step_statistics(run)['reward/generated/mean']['step']) == 2000"


def timed(work: Callable[[int], Any], repeats: int) -> list[float]:
    """Milliseconds of each repeat, the first one apart."""
    work(0)
    found = []
    for i in range(1, repeats + 1):
        start = time.perf_counter()
        work(i)
        found.append((time.perf_counter() - start) * 1e3)
    return found


def cold(root: Path, run: str, ask: str, repeats: int = 7) -> list[float]:
    """Milliseconds from the first import to the answer, in a process of its own."""
    program = [sys.executable, "-c", COLD.format(ask=ask), str(root), run]
    env = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }  # an installed package has its bytecode
    return [
        float(json.loads(subprocess.run(program, capture_output=True, check=True, env=env).stdout))
        for _ in range(repeats + 1)
    ][1:]


def size(path: Path, pattern: str = "*") -> int:
    return sum(file.stat().st_size for file in path.rglob(pattern) if file.is_file())


def make(root: Path, name: str, write: Callable[[Path], None]) -> None:
    """A run as it is left when it is over: sealed and merged."""
    if not (root / name).exists():
        write(root / name)
        logs.seal(str(root / name))
        compact.compact(str(root / name), everything=True)


def metrics(root: Path) -> Iterator[dict[str, str]]:
    make(root, "real", lambda path: store_run.metrics(path, NAMES, STEPS))
    make(root, "random", lambda path: store_run.metrics(path, NAMES, STEPS, random=True))
    for name, words in (("real", "readings of a real run"), ("random", "random doubles")):
        yield results.row(
            f"store: bytes a point, sealed, {words}, all files",
            "B",
            [size(root / name, "*.sealed/*") / NAMES / STEPS],
            NAMES * STEPS,
        )
    yield results.row("store: open a run of 10 M points and read a series, new process", "ms", cold(root, "real", OPEN))
    run = rs.open(root).run("real")
    names = run.metrics()["name"].tolist()
    yield results.row(
        "store: one series of 10 M points, warm", "ms", timed(lambda i: run.series(names[37 * i % NAMES]), 20)
    )
    yield results.row(
        "store: one series in 500 buckets, warm",
        "ms",
        timed(lambda i: run.series(names[41 * i % NAMES], points=500), 20),
    )
    yield results.row("store: 1,000 names with their last values", "ms", timed(lambda i: run._metrics(), 10))
    yield results.row(
        "store: 1,000 sparklines of 100 buckets", "ms", timed(lambda i: run.buckets(names, 0, STEPS - 1, 100), 10)
    )
    yield results.row(
        "store: 20 charts of 500 buckets",
        "ms",
        timed(lambda i: run.buckets(names[20 * i : 20 * i + 20], 0, STEPS - 1, 500), 10),
    )


def samples(root: Path) -> Iterator[dict[str, str]]:
    make(root, "samples", lambda path: store_run.samples(path, SAMPLE_STEPS, SIZE))
    for log in (root / "samples").glob("*.log"):
        log.unlink()  # of an earlier measurement
    yield results.row(
        "store: step statistics with Gini over 1 M samples, new process", "ms", cold(root, "samples", STATISTICS)
    )
    run = rs.open(root).run("samples")
    steps = timed(lambda i: run.samples(step=97 * i % SAMPLE_STEPS), 20)
    yield results.row("store: the 500 samples of a step, with text", "ms", steps)
    narrow = ["id", "group", "reward", "trained", "completion_tokens"]
    yield results.row(
        "store: the 500 samples of a step, five columns",
        "ms",
        timed(lambda i: run.samples(step=89 * i % SAMPLE_STEPS, columns=narrow), 20),
    )
    text = sum(row["total_uncompressed_size"] for row in _text_groups(run)) / 1e9
    yield results.row(
        "store: search, first 50 hits of a word that is everywhere",
        "ms",
        timed(lambda i: list(run.search("which", limit=50)), 10),
    )
    whole = timed(lambda i: list(run.search("serendipity" + "!" * (i % 2))), 5)
    yield results.row("store: search, all text, s a GB", "s/GB", [ms / 1e3 / text for ms in whole])
    folded = timed(lambda i: list(run.search("Serendipity" + "!" * (i % 2), ignore_case=True)), 5)
    yield results.row(
        "store: search, all text, without regard to case, s a GB", "s/GB", [ms / 1e3 / text for ms in folded]
    )
    many = timed(lambda i: list(run.search("which", limit=200_000)), 3)
    yield results.row("store: search, a word that is everywhere, a hit", "us", [ms * 1e3 / 200_000 for ms in many])
    step_statistics(run)
    more = [_again(run, root / "samples", SAMPLE_STEPS + i) for i in range(7)]
    yield results.row("store: step statistics again, one step more", "ms", more)


def _again(run: Any, folder: Path, step: int) -> float:
    """Milliseconds until the statistics have a step that was not there before."""
    store_run.one_more_step(folder, step)
    start = time.perf_counter()
    run.refresh()
    found = step_statistics(run)["reward/generated/mean"]["step"]
    took = (time.perf_counter() - start) * 1e3
    assert found[-1] == step
    return took


def _text_groups(run: Any) -> Iterator[dict[str, int]]:
    for piece in run.folder.sets:
        metadata = piece.files["samples.text.parquet"].metadata
        yield from (
            {"total_uncompressed_size": metadata.row_group(i).total_byte_size} for i in range(metadata.num_row_groups)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--keep", type=Path, help="folder for the runs, used again next time (default: a temporary one)"
    )
    parser.add_argument("--only", choices=("metrics", "samples"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = args.keep or Path(folder)
        found = [
            row
            for name, part in (("metrics", metrics), ("samples", samples))
            if args.only in (None, name)
            for row in part(root)
        ]
    results.show(found)
    results.append(found)


if __name__ == "__main__":
    main()
