"""Train a small policy from a TOML configuration, recorded while it runs.

rollscope train examples/grpo.toml
rollscope train examples/grpo.toml --set rollout.workers=2 --set run.seed=1
rollscope train examples/grpo.toml --resume grpo-countdown-0-1115-0304-9msy
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from rollscope.trainer.config import Config
    from rollscope.trainer.orchestrator import Progress as Told


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", help="TOML file; examples/ has one for each algorithm")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one key, such as rollout.repeats=4"
    )
    parser.add_argument("--resume", metavar="RUN", help="go on from the checkpoint of this run")


def run(args: argparse.Namespace) -> int:
    from rollscope.trainer import config

    made = config.read(args.config, args.set)
    try:
        id = train(made, args.dir, args.resume, quiet=args.json)
    except KeyboardInterrupt:
        print(
            "stopped; what was recorded so far can be read, and --resume RUN goes on from the last checkpoint",
            file=sys.stderr,
        )
        return 130
    print(
        json.dumps({"run": id, "dir": str(args.dir)})
        if args.json
        else f"run {id} in {args.dir}. Look at it with: rollscope show {id}"
    )
    return 0


def train(config: Config, dir: str, resume: str | None = None, quiet: bool = False) -> str:
    """Train with a progress bar; the run's id."""
    from rollscope.trainer.train import train

    if quiet:
        return train(config, dir, resume)
    with bar() as progress:
        warming, said = _listeners(progress)
        return train(config, dir, resume, said, warming)


def bar() -> Progress:
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[told]}"),
    ]
    return Progress(*columns, console=Console(stderr=True))


def _listeners(progress: Progress) -> tuple[Callable[[int, int, float], None], Callable[[Told], None]]:
    bars: dict[str, int] = {}
    last = {"eval": ""}

    def show(name: str, done: int, of: int, told: str) -> None:
        if name not in bars:
            bars[name] = progress.add_task(name, total=of, told="")
        progress.update(bars[name], completed=done, total=of, told=told)  # type: ignore[arg-type]

    def warming(step: int, steps: int, loss: float) -> None:
        show("warm-up", step, steps, f"loss {loss:.2f}")

    def said(told: Told) -> None:
        if told.evaluation is not None:
            last["eval"] = f"  eval {told.evaluation:.2f}"
        show(
            "training",
            told.step,
            told.steps,
            f"reward {told.reward:.2f}  trained {told.trained}  discarded {told.discarded}{last['eval']}",
        )

    return warming, said
