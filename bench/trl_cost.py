"""What recording costs TRL: CPU time spent in our hooks on the trainer's thread, and by the recorder's threads, per GRPO step.

    .venvs/trl/bin/python bench/trl_cost.py        (with src on PYTHONPATH)

The model is tiny, so a step is short: of a real one the share is smaller.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "frameworks"), str(Path(__file__).parent)]
SPENT = {"hooks": 0.0}
DEPTH = [0]
WARM = 10


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The guard that every hook wears, with a clock in it."""

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


def threads_cpu() -> float:
    """CPU seconds of the recorder's threads so far."""
    ours = {t.native_id for t in threading.enumerate() if t.name.startswith("rollscope")}
    ticks = 0
    for thread in ours:
        with open(f"/proc/self/task/{thread}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Clock(TrainerCallback):  # type: ignore[misc]
    """Reads the clocks after the first steps, when a run has begun, and at the end."""

    def __init__(self, attached: Any) -> None:
        self.first = self.last = (0.0, 0.0, 0.0)
        self.steps = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        now = (SPENT["hooks"], threads_cpu(), time.process_time())
        if state.global_step == WARM:
            self.first = now
        self.last, self.steps = now, state.global_step - WARM


def main() -> None:
    os.environ["ROLLSCOPE_DIR"] = tempfile.mkdtemp()
    import trl_run

    import rollscope.sources.trl.callback as callback

    callback.quiet = counted
    import rollscope.sources.trl as source

    trainer: Any = trl_run.rollouts("grpo_cost", tempfile.mkdtemp())
    attached = source.attach(trainer, host=False)
    for name in ("begin", "on_train_begin", "on_step_begin", "on_step_end", "on_log"):
        setattr(attached, name, counted(getattr(attached, name).__wrapped__.__get__(attached)))
    clock = Clock(attached)
    trainer.add_callback(clock)
    trainer.train()
    import results

    steps = clock.steps
    hooks, threads, total = (last - first for first, last in zip(clock.first, clock.last, strict=True))
    rows = [results.row("rollscope in TRL GRPO (tiny model): hooks on the trainer's thread", "ms CPU/step", [hooks / steps * 1e3], steps)]
    rows += [results.row("rollscope in TRL GRPO (tiny model): recorder's threads", "ms CPU/step", [threads / steps * 1e3], steps)]
    rows += [results.row("TRL GRPO (tiny model): a step", "ms CPU/step", [total / steps * 1e3], steps)]
    rows += [results.row("rollscope in TRL GRPO (tiny model): share of the step", "%", [(hooks + threads) / total * 100], steps)]
    rows += [results.row("rollscope in TRL: beginning a run, once", "ms CPU", [(clock.first[0] + clock.first[1]) * 1e3])]
    results.show(rows)
    results.append(rows)


if __name__ == "__main__":
    main()
