"""veRL's trackers with one more: importing this module makes "rollscope" a name that `trainer.logger` may list. Nothing of veRL is replaced.

What `Tracking.log` is given is stored as it is, at its step; `timing_s/*` become spans too, and validation generations samples. A failure in here is
said once and never reaches the trainer.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.quiet import quiet

NAME = "rollscope"
TIMING = "timing_s/"
# stages in the order the trainer runs them: veRL tells how long each took, not when
STAGES = (
    "start_profile",
    "gen",
    "gen_max",
    "reward",
    "old_log_prob",
    "ref",
    "values",
    "adv",
    "update_critic",
    "update_actor",
    "update_weights",
)


class Backend:
    """What veRL calls: `log(data=, step=)` and `finish()`."""

    def __init__(self, project: str, experiment: str, config: Mapping[str, Any] | None) -> None:
        self.run: Any = None
        self._begin(project, experiment, config)

    @quiet
    def _begin(self, project: str, experiment: str, config: Mapping[str, Any] | None) -> None:
        from rollscope.record.run import init

        version = getattr(sys.modules.get("verl"), "__version__", "")
        algorithm = (config or {}).get("algorithm") or {}
        estimator = algorithm.get("adv_estimator") if isinstance(algorithm, Mapping) else None
        # the driver is one process, whatever RANK says in its environment
        told: dict[str, Any] = {
            "project": project,
            "name": experiment,
            "config": dict(config or {}),
            "algorithm": estimator and str(estimator),
            "shard": 0,
            "shards": 1,
        }
        self.run = init(**told, framework=f"verl@{version}" if version else "verl")

    @quiet
    def log(self, data: Mapping[str, Any], step: int) -> None:
        if self.run is not None:
            numbers = {name: found for name, value in data.items() if (found := number(_item(value))) is not None}
            for split in ("eval", "train"):
                if some := {
                    name: value for name, value in numbers.items() if name.startswith("val-") == (split == "eval")
                }:
                    self.run.log(some, step=step, split=split)
            for name, start, end in spans(numbers, time.time_ns()):
                self.run.log_span(
                    name, start, end, lane="driver/0", step=step, placed="from durations, in the order of the stages"
                )

    @quiet
    def generations(self, samples: Sequence[Sequence[Any]], step: int) -> None:
        if self.run is not None:
            rows = [
                {
                    "id": f"val/{step}/{i}",
                    "prompt": s[0],
                    "completion": s[1],
                    "score": number(_item(s[2])),
                    "split": "eval",
                }
                for i, s in enumerate(samples)
            ]
            self.run.log_samples(rows, step=step)

    @quiet
    def finish(self, *_: Any, **__: Any) -> None:
        if self.run is not None:
            self.run.finish()


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) in (1, ()) else value


def spans(numbers: Mapping[str, float], end_ns: int) -> list[tuple[str, int, int]]:
    """(name, start, end) of the step and its stages, laid one after the other from the step's beginning."""
    total = numbers.get(f"{TIMING}step")
    if total is None:
        return []
    start = end_ns - round(total * 1e9)
    found, at = [("step", start, end_ns)], start
    for stage in STAGES:
        seconds = numbers.get(TIMING + stage)
        if seconds is not None:
            found.append((stage, at, at + round(seconds * 1e9)))
            at = found[-1][2]
    return found


def plug() -> None:
    """Teach `Tracking` the name. Safe to call twice."""
    from verl.utils import tracking

    if NAME in tracking.Tracking.supported_backend:
        return
    tracking.Tracking.supported_backend.append(NAME)
    theirs, generations = tracking.Tracking.__init__, tracking.ValidationGenerationsLogger.log

    @functools.wraps(theirs)
    def init(
        self: Any, project_name: str, experiment_name: str, default_backend: Any = "console", config: Any = None
    ) -> None:
        theirs(self, project_name, experiment_name, default_backend, config)
        if NAME in ([default_backend] if isinstance(default_backend, str) else default_backend):
            self.logger[NAME] = Backend(project_name, experiment_name, config)
            Open.latest = self.logger[NAME]

    @functools.wraps(generations)
    def log(self: Any, loggers: Any, samples: Any, step: int) -> None:
        generations(self, loggers, samples, step)
        if NAME in loggers and Open.latest is not None:
            Open.latest.generations(samples, step)

    tracking.Tracking.__init__ = init
    tracking.ValidationGenerationsLogger.log = log
    for name in ("finish", "__del__"):  # both end on a fixed list of names
        if hasattr(tracking.Tracking, name):
            _finish_too(tracking.Tracking, name)


def _finish_too(cls: Any, name: str) -> None:
    theirs = getattr(cls, name)

    @functools.wraps(theirs)
    def finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        if NAME in getattr(self, "logger", {}):
            self.logger[NAME].finish()
        return theirs(self, *args, **kwargs)

    setattr(cls, name, finish)


class Open:
    latest: Backend | None = None  # validation generations are told to a logger that knows backends by name only


if "verl" in sys.modules:
    plug()
