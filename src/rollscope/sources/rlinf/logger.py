"""The logger backend "rollscope" of RLinf's driver."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from typing import Any

from rollscope.sources.live.caller import calling
from rollscope.sources.live.quiet import print_once, quiet
from rollscope.sources.live.values import by_split, numbers
from rollscope.sources.ray import attach as attach_ray

from . import shared
from .sections import Sections

NAME = "rollscope"
EXTENSION = "RLINF_EXT_MODULE"  # the module whose `register` RLinf calls in every worker
WORKER = "rollscope.sources.rlinf.worker"


class Backend:
    """The logger that RLinf calls: `log(data=, step=)` and `finish()`.

    Never raises into the runner.
    """

    def __init__(self, run: Any, rank: int | None = None, group: str | None = None) -> None:
        self._run, self._owns = run, rank is None
        self._prefix = f"worker/{group}/rank_{rank}/" if group is not None else ""

    @quiet
    def log(self, data: Mapping[str, Any], step: int) -> None:
        for split, values in by_split(numbers(data), lambda name: name.startswith("eval/")):
            self._run.log({self._prefix + name: value for name, value in values.items()}, step=step, split=split)

    @quiet
    def finish(self) -> None:
        if self._owns:
            self._run.finish()


def attach(**options: Any) -> None:
    """Add the backend "rollscope" to RLinf's `MetricLogger`. Safe to call twice.

    `options` are those of `rs.init`. If Ray runs already, its nodes need `RLINF_EXT_MODULE` in
    their own environment.
    """
    from rlinf.utils.metric_logger import MetricLogger

    if NAME in MetricLogger.supported_logger:
        return
    _extend()
    MetricLogger.supported_logger = [*MetricLogger.supported_logger, NAME]
    theirs = MetricLogger._create_logger_bundle

    @functools.wraps(theirs)
    def bundle(self: Any, log_path: str, experiment_name: str, log_path_suffix: str = "") -> dict[str, Any]:
        loggers: dict[str, Any] = theirs(self, log_path, experiment_name, log_path_suffix)
        if NAME in self.logger_backends:
            try:
                loggers[NAME] = _backend(self, experiment_name, options)
            except Exception as error:
                print_once(f"rollscope: nothing is recorded ({error!r}); training goes on")
        return loggers

    MetricLogger._create_logger_bundle = bundle


def _extend() -> None:
    theirs = os.environ.setdefault(EXTENSION, WORKER)
    if theirs != WORKER:
        print_once(
            f"rollscope: {EXTENSION} is {theirs!r}, so workers record nothing; "
            f"call {WORKER}.register() in the register() of {theirs}"
        )


def _backend(logger: Any, experiment: str, options: Mapping[str, Any]) -> Backend:
    """The main logger starts the run; a worker's logger writes into it, with group and rank."""
    run = getattr(logger, "_rollscope_run", None)
    if run is None:
        run = logger._rollscope_run = _started(logger, experiment, options)
        shared.tell(run)
        attach_ray(run)
        _listen(run)
        return Backend(run)
    group, _, rank = experiment.removeprefix(f"{logger.experiment_name}-").rpartition("-rank_")
    return Backend(run, int(rank), group)


def _started(logger: Any, experiment: str, options: Mapping[str, Any]) -> Any:
    from rollscope.record.start import init

    version = getattr(sys.modules.get("rlinf"), "__version__", "")
    facts: dict[str, Any] = {
        "project": logger.project_name,
        "name": experiment,
        "config": logger.config,
        "shard": 0,
        "shards": 1,
        "framework": f"rlinf@{version}" if version else "rlinf",
    }
    return init(**{**facts, **options})


@quiet
def _listen(run: Any) -> None:
    """Listen to the runner that makes the logger, if one does."""
    runner = calling(lambda found: hasattr(getattr(found, "timer", None), "_timer"))
    if runner is not None:
        Sections(run, runner).listen()
