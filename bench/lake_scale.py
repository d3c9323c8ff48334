"""Questions to a lake of more and more samples: which of them take longer as it grows.

`.venvs/lake/bin/python bench/lake_scale.py [MILLIONS...] [--dry]` (`make team` makes that
environment) writes runs of 20,000 samples with a short text into an embedded lake, by the recorder
and by pushes, up to 1 and 10 million samples, and asks at each size. With `--dry`, the numbers are
printed and not kept.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import results
import rollscope as rs
from rollscope.lake import making, tidy
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher

STEPS, SAMPLES = 100, 200  # of a run
REPEATS = 5
PROJECTS = 10


def write_run(lake: Place, root: Path, number: int) -> None:
    """Record a run, push it, and remove its folder."""
    id = f"run-{number:05d}"
    with rs.init(project=f"p{number % PROJECTS}", id=id, dir=str(root), host=False) as run:
        for step in range(STEPS):
            ids = [f"{id}-{step}-{i}" for i in range(SAMPLES)]
            columns = {"id": ids, "group": [one[:-1] for one in ids], "reward": [float(i % 7) for i in range(SAMPLES)]}
            texts = [f"answer {i} of step {step}, {'needle' if i == step else 'hay'}" for i in range(SAMPLES)]
            run.log_samples(step=step, samples={**columns, "completion": texts})
            run.log({"loss": 1 / (step + 1), "reward/mean": 3.0}, step=step)
    Pusher(lake, str(root / id)).push()
    shutil.rmtree(root / id)


def questions(lake: Place) -> dict[str, Callable[[], Any]]:
    """Each question, about the first run or its project, asked of a store that is open."""
    store = rs.open(lake.folder)
    store.run("run-00000")
    by_step = "SELECT step, avg(reward) FROM samples WHERE run = 'run-00000' GROUP BY step"
    return {
        "step statistics of one run in SQL": lambda: store.sql(by_step),
        "one sample by id in SQL": lambda: store.sql(
            "SELECT completion FROM samples WHERE run = 'run-00000' AND id = 'run-00000-7-3'"
        ),
        "one sample by id of an open run": lambda: store.run("run-00000").sample("run-00000-7-3"),
        "one series": lambda: store.run("run-00000").series("loss"),
        "text search in one run": lambda: list(store.run("run-00000").search("needle")),
        "SQL over a project": lambda: store.sql("SELECT avg(reward) FROM samples WHERE project = 'p0'"),
        "SQL over the lake": lambda: store.sql("SELECT count(*), avg(reward) FROM samples"),
    }


def seconds(ask: Callable[[], Any]) -> list[float]:
    ask()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return times


def size_of(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def main(millions: list[float], dry: bool) -> None:
    rows, written, began = [], 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        os.environ["ROLLSCOPE_CACHE"] = str(Path(place) / "cache")
        lake = making.init(str(Path(place) / "lake"))
        for size in sorted(millions):
            while written * STEPS * SAMPLES < size * 1e6:
                write_run(lake, Path(place) / "runs", written)
                written += 1
            tidy.tidy(lake, 0)
            spent, held = time.perf_counter() - began, size_of(lake.folder)
            print(f"{size:g} M samples of {written:,} runs: {held / 1e9:.2f} GB, {spent:.0f} s since the start")
            for name, ask in questions(lake).items():
                rows.append(results.row(f"lake of {size:g} M samples: {name}", "s", seconds(ask)))
                print(rows[-1], flush=True)
    if not dry:
        results.append(rows)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--dry"]
    main([float(word) for word in words] or [1, 10], "--dry" in sys.argv)
