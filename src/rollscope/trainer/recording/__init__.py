"""What the trainer records and under which names: samples, batches, spans.

A sample is recorded three times: generated (its text), scored (its reward) and settled (trained on,
or discarded with a reason). Token arrays of a trained sample are those of its last pass through the
policy, so that every logged number can be computed again from them.

Door: the functions below, `Links`, which records spans with their causes, and `UnderWay`, which
shows what goes on now. `samples` and `batch` are the files of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollscope.record.run import Run
from rollscope.trainer.environment import Environment
from rollscope.trainer.timeline import Span

from .batch import machine, pair_level, sample_level
from .links import Links
from .samples import generated, scored, settled, token_columns
from .under_way import UnderWay, announced

Ranges = Mapping[str, tuple[float | None, float | None]]

__all__ = [
    "Links",
    "UnderWay",
    "announced",
    "declare",
    "generated",
    "machine",
    "pair_level",
    "sample_level",
    "scored",
    "settled",
    "spans",
    "token_columns",
]


def declare(run: Run, environments: Iterable[Environment], ranges: Ranges) -> None:
    """Record the ranges of environments' rewards and metrics, and those of step metrics."""
    for environment in environments:
        run.declare(
            env=environment.name,
            reward_min=environment.reward_min,
            reward_max=environment.reward_max,
            metrics_ranges=dict(environment.metrics_ranges),
        )
    if ranges:
        run.declare(ranges=dict(ranges))


def spans(run: Run, rows: Iterable[Span]) -> None:
    for span in rows:
        run.log_span(**span.columns())
