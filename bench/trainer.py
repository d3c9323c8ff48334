"""What recording costs a training step: its share of the process's CPU time.

    python bench/trainer.py            # 10 M parameters (a step takes seconds), and the demo
    python bench/trainer.py --steps 5

Recording costs time per sample and per metric, training per parameter and token: the share falls
with the size of the model.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import results
from rollscope.record.run import Run
from rollscope.trainer import config
from rollscope.trainer.train import train

COMMON = {
    "environment": {"name": "sorting", "train_tasks": 500},
    "evaluation": {"every": 0},
    "checkpoint": {"every": 0},
    "algorithm": {"microbatch": 32, "kl_coef": 0.01},
}
ALL_GROUPS = {"discard_group_zero_advantage": False}
CASES: dict[str, dict[str, Any]] = {
    "10 M parameters, 64 samples of up to 192 tokens": {
        "model": {"width": 384, "layers": 6, "heads": 6, "context": 224},
        "warmup": {"steps": 0},  # an untrained policy writes long answers, as a reasoning one does
        "rollout": {"groups_per_step": 8, "repeats": 8, "max_completion_tokens": 192, **ALL_GROUPS},
    },
    "0.1 M parameters, 112 samples of 5 tokens (the demo's)": {
        "model": {"width": 64, "layers": 2, "context": 32},
        "warmup": {"steps": 60},
        "rollout": {"groups_per_step": 14, "repeats": 8, "max_completion_tokens": 8, **ALL_GROUPS},
    },
}


class Calls:
    """CPU seconds of the trainer's thread inside the recorder's methods."""

    METHODS = ("log", "log_batch", "log_samples", "log_span", "log_eval", "commit", "note", "declare")

    def __init__(self) -> None:
        self.seconds = 0.0

    def measure(self) -> None:
        for name in self.METHODS:
            setattr(Run, name, self._timed(getattr(Run, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **more: Any) -> Any:
            start = time.thread_time()
            try:
                return method(*args, **more)
            finally:
                self.seconds += time.thread_time() - start

        return timed


def recorder_threads() -> float:
    """CPU seconds so far of the recorder's threads, from the kernel's clock of each."""
    ours = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("rollscope")]
    return sum(int(Path(f"/proc/self/task/{id}/schedstat").read_text().split()[0]) for id in ours) / 1e9


def measured(table: dict[str, Any], steps: int) -> tuple[float, float, float]:
    """(CPU seconds, those spent on recording, wall seconds) per step, without the first step."""
    calls = Calls()
    methods = {name: getattr(Run, name) for name in Calls.METHODS}
    calls.measure()
    marks: list[tuple[float, float, float]] = []

    def mark(_: object) -> None:
        marks.append((time.process_time(), calls.seconds + recorder_threads(), time.perf_counter()))

    try:
        with tempfile.TemporaryDirectory() as folder:
            built = config.build(COMMON | table | {"run": {"steps": steps + 1, "threads": 1}})
            train(built, dir=folder, on_step=mark)
    finally:
        for name, method in methods.items():
            setattr(Run, name, method)
    total, recording, wall = ((last - first) / steps for first, last in zip(marks[0], marks[-1], strict=True))
    return total, recording, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    rows: list[dict[str, str]] = []
    for name, table in CASES.items():
        total, recording, wall = measured(table, args.steps)
        share, milliseconds = 100 * recording / total, 1000 * recording
        print(
            f"{name}: {total:.2f} s CPU per step ({wall:.2f} s wall), recording {milliseconds:.0f} ms = {share:.2f} %"
        )
        what = f"trainer: recording, {name}"
        rows.append(results.row(what, "% of a step's CPU time", [share], args.steps))
        rows.append(results.row(what, "ms CPU per step", [milliseconds], args.steps))
    results.append(rows)


if __name__ == "__main__":
    main()
