"""What recording costs TRL: CPU time per GRPO step in our hooks and in the recorder's threads.

    .venvs/trl/bin/python bench/trl_cost.py        (with src on PYTHONPATH)

It is compared with the CPU time of the whole step, for three models. The worst case is a tiny one,
whose step takes a few hundredths of a second, which no real training has. The second has steps of
about half a second. The third is as large as two cores can train, with 64 completions of up to 96
tokens a step.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "frameworks"), str(Path(__file__).parent)]

import our_threads  # noqa: E402

MODELS = {  # description, warm-up steps, steps of one reading
    "grpo_cost": ("0.03 M parameters, 8 samples", 10, 20),
    "grpo_half": ("11 M parameters, 8 samples of 20 tokens", 4, 2),
    "grpo_size": ("11 M parameters, 64 samples of 96 tokens", 2, 1),
}
SPENT = {"hooks": 0.0}
DEPTH = [0]


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces the guard of every hook, and counts its CPU time."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        began = time.thread_time()
        DEPTH[0] += 1
        try:
            return function(*args, **kwargs)
        finally:
            DEPTH[0] -= 1
            if not DEPTH[0]:
                SPENT["hooks"] += time.thread_time() - began

    return guarded


class Clock(TrainerCallback):  # type: ignore[misc]
    """Reads the CPU times of hooks, threads and the process after every step."""

    def __init__(self) -> None:
        self.read: list[tuple[float, float, float]] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.read.append((SPENT["hooks"], our_threads.cpu_seconds(), time.process_time()))

    def parts(self, warm: int, each: int) -> list[tuple[float, float, float]]:
        """Seconds per step of hooks, threads, process, for every `each` steps after `warm`."""
        readings = itertools.pairwise(self.read[warm - 1 :: each])
        differences = [[(b - a) / each for a, b in zip(first, last, strict=True)] for first, last in readings]
        return [(hooks, threads, total) for hooks, threads, total in differences]


def measure(kind: str) -> list[dict[str, str]]:
    import trl_run

    import results
    import rollscope.sources.trl as source

    model, warm, each = MODELS[kind]
    SPENT["hooks"] = 0.0
    trainer: Any = trl_run.rollouts(kind, tempfile.mkdtemp())
    attached = source.attach(trainer, host=False)
    for name in ("begin", "on_train_begin", "on_step_begin", "on_step_end", "on_log"):
        setattr(attached, name, counted(getattr(attached, name).__wrapped__.__get__(attached)))
    clock = Clock()
    trainer.add_callback(clock)
    trainer.train()
    hooks, threads, total = zip(*clock.parts(warm, each), strict=True)
    share = [(h + t) / all_ * 100 for h, t, all_ in zip(hooks, threads, total, strict=True)]
    steps = len(clock.read) - warm
    ours, theirs = f"rollscope in TRL GRPO ({model})", f"TRL GRPO ({model})"
    times = {f"{ours}: hooks on the trainer's thread": hooks, f"{ours}: recorder's threads": threads}
    times[f"{theirs}: a step"] = total
    rows = [results.row(name, "ms CPU/step", [1e3 * x for x in seconds], steps) for name, seconds in times.items()]
    return [*rows, results.row(f"{ours}: share of the step", "%", share, steps)]


def main(kinds: list[str]) -> list[dict[str, str]]:
    os.environ["ROLLSCOPE_DIR"] = tempfile.mkdtemp()
    import rollscope.sources.live.quiet as guard  # before the hooks, which import it

    guard.quiet = counted
    return [row for kind in kinds for row in measure(kind)]


if __name__ == "__main__":
    import results

    rows = main(sys.argv[1:] or list(MODELS))
    results.show(rows)
    results.append(rows)
