"""Training with a progress bar, for `rollscope train` and `rollscope demo`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ._terminal import say

if TYPE_CHECKING:
    from rollscope.trainer.config import Config
    from rollscope.trainer.progress import Progress as StepProgress

    WarmupListener = Callable[[int, int, float], None]
    StepListener = Callable[[StepProgress], None]


def train(config: Config, dir: str, resume: str | None = None, quiet: bool = False) -> str:
    """Train and return the run's id. Shows a progress bar on stderr unless `quiet`.

    A training that stopped short says so on stderr.
    """
    from rollscope.trainer.train import train

    short: list[str] = []
    if quiet:
        id = train(config, dir, resume, lambda now: short.append(now.short))
    else:
        with _bar() as progress:
            id = train(config, dir, resume, *_listeners(progress, short))
    for text in filter(None, short):
        say(f"{id} {text}", sys.stderr)
    return id


def _bar() -> Progress:
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[status]}"),
    ]
    return Progress(*columns, console=Console(stderr=True))


def _listeners(progress: Progress, short: list[str]) -> tuple[StepListener, WarmupListener]:
    """One bar for training, one for the warm-up; each appears with its first step."""
    bars: dict[str, int] = {}
    evaluation = ""

    def show(name: str, done: int, total: int, status: str) -> None:
        if name not in bars:
            bars[name] = progress.add_task(name, total=total, status="")
        progress.update(bars[name], completed=done, total=total, status=status)  # type: ignore[arg-type]

    def on_warmup(step: int, steps: int, loss: float) -> None:
        show("warm-up", step, steps, f"loss {loss:.2f}")

    def on_step(now: StepProgress) -> None:
        nonlocal evaluation
        if now.evaluation is not None:
            evaluation = f"  eval {now.evaluation:.2f}"
        status = f"reward {now.reward:.2f}  trained {now.trained}  discarded {now.discarded}{evaluation}"
        show("training", now.step, now.steps, status)
        short.append(now.short)

    return on_step, on_warmup
