"""A veRL tracker: importing this module makes "rollscope" a valid entry of `trainer.logger`.

Everything that `Tracking.log` gets is recorded at its step under veRL's names. The stages of a step
become spans, the batch of every update and the validation generations become samples. A request to
stop makes the next step the last, with its checkpoint. A failure in here is printed once and never
reaches the trainer.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.live.caller import calling
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.values import by_split, numbers, scalar
from rollscope.sources.ray import attach

from .stages import TIMING, Stages
from .taking import Taking

NAME = "rollscope"
SAVED = f"{TIMING}save_checkpoint"
LAST = "total_training_steps"  # what every trainer has that asks whether a step is its last


class Backend:
    """The logger that veRL calls: `log(data=, step=)` and `finish()`."""

    def __init__(self, project: str, experiment: str, config: Mapping[str, Any] | None, trainer: Any = None) -> None:
        self.run: Any = None
        self._stoppable: Any = None
        self._stages = Stages()
        self._taking: Taking | None = None
        self._begin(project, experiment, config)
        if trainer is not None:
            self._listen(trainer)

    @quiet
    def _begin(self, project: str, experiment: str, config: Mapping[str, Any] | None) -> None:
        from rollscope.record.start import init

        version = getattr(sys.modules.get("verl"), "__version__", "")
        algorithm = (config or {}).get("algorithm") or {}
        estimator = algorithm.get("adv_estimator") if isinstance(algorithm, Mapping) else None
        self.run = init(
            project=project,
            name=experiment,
            config=dict(config or {}),
            algorithm=estimator and str(estimator),
            framework=f"verl@{version}" if version else "verl",
            shard=0,  # the driver is one process, even if RANK is set in its environment
            shards=1,
        )
        attach(self.run)

    @quiet
    def _listen(self, trainer: Any) -> None:
        self._stoppable = trainer if hasattr(trainer, LAST) else None
        if self.run is not None:
            self._stages = Stages(trainer)
            self._taking = Taking(self.run, trainer)
            self._taking.watch()

    @quiet
    def log(self, data: Mapping[str, Any], step: int) -> None:
        if self.run is not None:
            values = numbers(data)
            for split, some in by_split(values, lambda name: name.startswith("val-")):
                self.run.log(some, step=step, split=split)
            for name, start, end, placed in self._stages.spans(values, time.time_ns()):
                how = {} if placed is None else {"placed": placed}
                self.run.log_span(name, start, end, lane="driver/0", step=step, **how)
            if SAVED in values:
                self.run.note(f"checkpoint of step {step}", step, kind="checkpoint")
            if self._stoppable is not None and self.run.should_stop(step):
                end_after_next(self._stoppable)

    @quiet
    def generations(self, samples: Sequence[Sequence[Any]], step: int) -> None:
        if self.run is not None:
            rows = [
                {"id": f"val/{step}/{i}", "prompt": prompt, "completion": completion, "score": number(scalar(score))}
                for i, (prompt, completion, score, *_) in enumerate(samples)
            ]
            self.run.log_samples([{**row, "split": "eval"} for row in rows], step=step)

    @quiet
    def finish(self, *_: Any, **__: Any) -> None:
        if self._taking is not None:
            self._taking.close()
        if self.run is not None:
            self.run.finish()


def is_trainer(found: Any) -> bool:
    return hasattr(found, "config") and (hasattr(found, LAST) or hasattr(found, "_update_actor"))


def end_after_next(trainer: Any) -> None:
    """Make the next step the last one: veRL then validates, saves a checkpoint and returns."""
    trainer.total_training_steps = min(trainer.total_training_steps, trainer.global_steps + 1)
    settings = trainer.config.trainer
    if settings.save_freq <= 0:  # no checkpoint would be saved, not even after the last step
        settings.save_freq = trainer.total_training_steps


def plug() -> None:
    """Add "rollscope" to the backends of `Tracking`. Safe to call twice."""
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
            self.logger[NAME] = Backend(project_name, experiment_name, config, calling(is_trainer))
            Open.latest = self.logger[NAME]

    @functools.wraps(generations)
    def log(self: Any, loggers: Any, samples: Any, step: int) -> None:
        generations(self, loggers, samples, step)
        if NAME in loggers and Open.latest is not None:
            Open.latest.generations(samples, step)

    tracking.Tracking.__init__ = init
    tracking.ValidationGenerationsLogger.log = log
    for name in ("finish", "__del__"):  # both finish only the backends that veRL knows
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
    """The backend of the latest `Tracking`: veRL's validation logger gets only names."""

    latest: Backend | None = None


if "verl" in sys.modules:
    plug()
