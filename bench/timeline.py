"""The timeline: how long its answers take with a million spans, and whether its predictions hold.

`python bench/timeline.py [--spans 1000000] [--seeds 5] [--only predictions]`. For a prediction a
healthy training is recorded, and each change is played on its timeline; then the training is run
with that change. Workers sleep instead of computing, so two cores are enough for three of them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import results
import rollscope as rs
from rollscope.trainer import config
from rollscope.trainer.failures import Faults
from rollscope.trainer.train import train
from rollscope.views.answers.answer import answer
from rollscope.views.answers.levers import Change, saves
from rollscope.views.answers.plan import plan
from rollscope.views.answers.simulate import Duration
from rollscope.views.answers.stretch import stretch
from rollscope.views.timeline.graph import SHORT_NS, Graph
from rollscope.views.timeline.phases import Phase
from rollscope.views.timeline.picture import lanes_of, picture
from rollscope.views.timeline.rows import read_rows
from rollscope.views.timeline.window import Batches, step_bounds, window

S = 10**9
STEPS, FIRST = 7, 2  # of a training, and the first that counts
LANES, STEP_SPANS = 64, 1000
BASE = 0.5  # seconds that every generation sleeps: long beside what it computes


def longer(seconds: float, phase: Phase, lane: str = "") -> Callable[[Graph], Duration]:
    """Work of a phase, on one lane or all of inference, takes so much longer."""

    def of(graph: Graph) -> Duration:
        def duration(i: int) -> int:
            slow = graph.phase(i) == phase and not graph.on_trainer(i) and (not lane or graph.lane(i) == lane)
            return graph.end[i] - graph.start[i] + (round(seconds * S) if slow else 0)

        return duration

    return of


def tailed(seconds: float, seed: int) -> Callable[[Graph], Duration]:
    """Requests that hold a late sample take so much longer."""
    faults = Faults(seed=seed)

    def of(graph: Graph) -> Duration:
        detail, units = graph.detail, graph.detail.units()

        def duration(i: int) -> int:
            work = graph.end[i] - graph.start[i]
            if graph.phase(i) != "generate" or graph.on_trainer(i):
                return work
            own = (detail.start >= graph.start[i] - SHORT_NS) & (detail.end <= graph.end[i] + SHORT_NS)
            ids = [
                detail.samples[detail.sample[x]] for x in np.flatnonzero(own) if units[detail.lane[x]] == graph.unit(i)
            ]
            return work + (round(seconds * S) if any(map(faults._is_late, ids)) else 0)

        return duration

    return of


def changes(seed: int) -> dict[str, tuple[Change, dict[str, Any]]]:
    """Each change as the timeline plays it, and as the trainer runs it."""
    return {
        "slow worker": (Change("", longer(0.4, "generate", "inference/0")), {"faults": {"worker_delay": 0.4}}),
        "slow grader": (Change("", longer(0.25, "grader")), {"faults": {"reward_delay": 0.25}}),
        "slow sync": (Change("", longer(0.5, "sync")), {"faults": {"sync_delay": 0.5}}),
        "long tail": (Change("", tailed(0.8, seed)), {"faults": {"tail_delay": 0.8}}),
        "one worker more": (Change("", engines=1), {"workers": 3}),
    }


def trained(folder: Path, seed: int, workers: int = 2, faults: dict[str, float] | None = None) -> Any:
    rollout = {"groups_per_step": 6, "groups_per_request": 1, "repeats": 4, "max_completion_tokens": 2}
    rollout |= {"workers": workers, "max_async": 0, "discard_group_zero_advantage": False}
    table = {
        "run": {"steps": STEPS, "seed": seed},
        "model": {"width": 16, "layers": 1, "heads": 2},
        "environment": {"name": "sorting"},
        "warmup": {"steps": 2},
        "rollout": rollout,
        "evaluation": {"every": 0},
        "checkpoint": {"every": 0},
    }
    chosen = config.build(table)
    chosen.failure.faults.seed = seed
    for name, value in {"generate_delay": BASE, **(faults or {})}.items():
        setattr(chosen.failure.faults, name, value)
    train(chosen, dir=folder)
    return rs.open(folder).run()


def seconds_a_step(run: Any) -> float:
    bounds = step_bounds(read_rows(run))
    return (bounds[STEPS - 1][1] - bounds[FIRST - 1][1]) / 1e9 / (STEPS - FIRST)


def predictions(seeds: int) -> list[dict[str, str]]:
    found: dict[str, list[tuple[float, float, float]]] = {}  # change -> predicted, measured, error
    print(f"{'change':<18}{'seed':>5}{'healthy':>10}{'predicted':>11}{'measured':>10}{'error':>8}")
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            healthy = trained(Path(folder) / "healthy", seed)
            before = seconds_a_step(healthy)
            recorded = plan(window(read_rows(healthy), STEPS - 1, Batches({}), STEPS - FIRST))
            for name, (change, how) in changes(seed).items():
                predicted = before - saves(recorded, change) / 1e9 / (STEPS - FIRST)
                measured = seconds_a_step(trained(Path(folder) / name.replace(" ", "-"), seed, **how))
                error = 100 * abs(predicted - measured) / measured
                found.setdefault(name, []).append((predicted, measured, error))
                line = f"{name:<18}{seed:>5}{before:>10.3f}{predicted:>11.3f}{measured:>10.3f}"
                print(f"{line}{error:>7.1f}%", flush=True)
    return [
        results.row(f"timeline: {what}, {name}", unit, [run[i] for run in runs])
        for name, runs in found.items()
        for i, (what, unit) in enumerate((("predicted step", "s"), ("measured step", "s"), ("error", "%")))
    ]


def large(folder: Path, spans: int) -> Any:
    """A run of many spans: steps of a thousand on 64 lanes."""
    draw = random.Random(0)
    engines = LANES - 4
    with rs.init(project="bench", id="large", dir=folder, host=False) as run:
        at, each = 10**18, (STEP_SPANS - 8) // engines
        for step in range(spans // STEP_SPANS):
            ready = at
            for engine in range(engines):
                free = at
                for i in range(each):
                    end = free + draw.randint(1, 20) * 10**6
                    id = f"{step}.{engine}.{i}"
                    more = {"step": step, "sample": id, "version": step, "queued_ns": at}
                    run.log_span("generate", free, end, f"inference/{engine // 8}/{engine % 8}", **more)
                    free = end
                ready = max(ready, free)
            for rank in range(4):
                run.log_span("wait_data", at, ready, f"trainer/{rank}", kind="wait", step=step)
                run.log_span("update", ready, ready + 10**8, f"trainer/{rank}", step=step)
            at = ready + 10**8
            run.commit(step)
            if step % 50 == 0:
                run.flush(60)
    return rs.open(folder)


def timed(work: Callable[[], object], times: int) -> list[float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return found


def answers(spans: int) -> list[dict[str, str]]:
    folder = Path(tempfile.mkdtemp())
    try:
        store = large(folder, spans)
        steps, words = spans // STEP_SPANS, f"{spans:,} spans"
        cold = timed(lambda: answer(store.run("large"), steps // 2), 5)
        run = store.run("large")
        warm = timed(lambda: answer(run, steps // 2 + 1), 5)
        first = timed(lambda: lanes_of(run), 1)
        lanes = lanes_of(run)
        middle = (lanes.origin + lanes.end) // 2
        whole = timed(lambda: picture(run, lanes.origin, lanes.end, 3600), 3)
        near = timed(lambda: picture(run, middle, middle + 2 * S, 3600), 9)
        return [
            results.row(f"timeline: answer for a step, {words}, just opened", "ms", cold),
            results.row(f"timeline: answer for a step, {words}", "ms", warm),
            results.row(f"timeline: medians of {steps:,} steps, {words}", "ms", timed(lambda: stretch(run), 3)),
            results.row(f"timeline: lanes of {words}, first time", "ms", first),
            results.row(f"timeline: picture of the whole run, {words}", "ms", whole),
            results.row(f"timeline: picture of three steps, {words}", "ms", near),
        ]
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("predictions", "answers"))
    args = parser.parse_args()
    rows = [] if args.only == "predictions" else answers(args.spans)
    rows += [] if args.only == "answers" else predictions(args.seeds)
    for row in rows:
        print(f"{row['what']:<70} {row['p50']:>9} {row['unit']}")
    results.append(rows)


if __name__ == "__main__":
    main()
