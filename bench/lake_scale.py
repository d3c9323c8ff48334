"""Questions to a lake of more and more samples: which of them take longer as it grows.

`.venvs/lake/bin/python bench/lake_scale.py [MILLIONS...] [--minutes M] [--dry]` (`make team` makes
that environment) writes runs of 500,000 samples with a short text into an embedded lake, by the
recorder, the sealer and pushes, up to 1 and 10 million samples, and asks at each size. A project is
two runs, so one run and one project stay as large as they are while the lake grows. With
`--minutes`, writing ends in time for the questions to be asked of as many samples as there are by
then. With `--dry`, the numbers are printed and not kept.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any

import results
import rollscope as rs
from rollscope.lake import ledger, making, tidy
from rollscope.lake.ledger import Order, State
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher
from rollscope.store.seal import compact, logs

STEPS, SAMPLES = 500, 1000  # of a run
OF_A_PROJECT = 2  # runs
REPEATS = 5
ASKING_SECONDS = 60.0  # that are left for the questions when the minutes are over
_turn: Lock  # of a worker: a catalogue in a file is open in one process at a time


def begin_worker(turn: Lock) -> None:
    global _turn
    _turn = turn
    os.environ["ROLLSCOPE_SEAL"] = "0"  # the worker seals


def write_run(lake: Place, root: str, number: int) -> None:
    """Record a run, seal and push it, and remove its folder."""
    id = f"run-{number:05d}"
    record(id, f"p{number // OF_A_PROJECT}", root)
    path = os.path.join(root, id)
    logs.seal(path, force=True)
    compact.compact(path, everything=True)
    Pusher(lake, path, state=State(), commit=lambda order: commit(lake, order)).push()
    shutil.rmtree(path)


def commit(lake: Place, order: Order) -> None:
    with _turn:
        ledger.commit(lake, order)


def record(id: str, project: str, root: str) -> None:
    with rs.init(project=project, id=id, dir=root, host=False) as run:
        for step in range(STEPS):
            ids = [f"{id}-{step}-{i}" for i in range(SAMPLES)]
            columns = {"id": ids, "group": [one[:-1] for one in ids], "reward": [float(i % 7) for i in range(SAMPLES)]}
            texts = [f"answer {i} of step {step}, {'needle' if i == step else 'hay'}" for i in range(SAMPLES)]
            run.log_samples(step=step, samples={**columns, "completion": texts})
            run.log({"loss": 1 / (step + 1), "reward/mean": 3.0}, step=step)


class Writing:
    """Runs that are written by one process per core, in the order of their numbers."""

    def __init__(self, pool: ProcessPoolExecutor, lake: Place, root: str) -> None:
        self._pool, self._lake, self._root = pool, lake, root
        self.written = 0

    def up_to(self, samples: float, until: float) -> None:
        """Write until the lake has so many samples, or the time is over."""
        numbers = iter(range(self.written, round(samples / (STEPS * SAMPLES))))
        going = set(self._begun(numbers, os.cpu_count() or 1))
        while going:
            done, going = wait(going, return_when=FIRST_COMPLETED)
            self.written += len([one.result() for one in done])
            going |= set(self._begun(numbers, len(done) if time.monotonic() < until else 0))

    def _begun(self, numbers: Iterator[int], how_many: int) -> list[Future[None]]:
        chosen = [number for _, number in zip(range(how_many), numbers, strict=False)]
        return [self._pool.submit(write_run, self._lake, self._root, number) for number in chosen]


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


def asked(lake: Place, samples: int, dry: bool) -> None:
    """Ask each question of a lake of this size, and keep how long it took."""
    rows = []
    for name, ask in questions(lake).items():
        rows.append(results.row(f"lake of {samples / 1e6:g} M samples: {name}", "s", seconds(ask)))
        print(rows[-1], flush=True)
    if not dry:
        results.append(rows)


def grow(lake: Place, writing: Writing, args: argparse.Namespace) -> None:
    began = time.monotonic()
    until = began + 60 * args.minutes - ASKING_SECONDS
    for size in sorted(args.millions):
        before = writing.written
        writing.up_to(size * 1e6, until)
        if writing.written == before:
            break
        wrote = time.monotonic() - began
        tidy.tidy(lake, 0)
        samples, now = writing.written * STEPS * SAMPLES, time.monotonic() - began
        print(
            f"{samples / 1e6:g} M samples of {writing.written:,} runs: {size_of(lake.folder) / 1e9:.2f} GB, written"
            f" {wrote:.0f} s after the start, tidied {now - wrote:.0f} s later",
            flush=True,
        )
        asked(lake, samples, args.dry)


def main(args: argparse.Namespace) -> None:
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        os.environ["ROLLSCOPE_CACHE"] = str(Path(place) / "cache")
        lake = making.init(str(Path(place) / "lake"))
        with ProcessPoolExecutor(os.cpu_count(), processes, begin_worker, (processes.Lock(),)) as pool:
            grow(lake, Writing(pool, lake, str(Path(place) / "runs")), args)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", type=float, nargs="*", default=[1, 10])
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--dry", action="store_true")
    main(parser.parse_args())
