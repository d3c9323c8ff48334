"""RLinf, live: `rollscope.sources.rlinf.attach()` in the driver, before its runner is made, then `logger_backends: [tensorboard, rollscope]`.

Everything `MetricLogger.log` is given is stored, values of single workers as `worker/<group>/rank_<r>/<name>`. From files: its TensorBoard folders and its
Chrome trace are read by the sources of those formats.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number

NAME = "rollscope"


class Backend:
    """What RLinf calls: `log(data=, step=)` and `finish()`. Never raises into the runner."""

    def __init__(self, run: Any, rank: int | None = None, group: str | None = None) -> None:
        self._run, self._prefix, self._owns = (
            run,
            f"worker/{group}/rank_{rank}/" if group is not None else "",
            rank is None,
        )

    def log(self, data: Mapping[str, Any], step: int) -> None:
        numbers = {
            self._prefix + name: found
            for name, value in data.items()
            if (found := number(value.item() if hasattr(value, "item") else value)) is not None
        }
        for split in ("eval", "train"):
            if some := {
                name: value
                for name, value in numbers.items()
                if name.removeprefix(self._prefix).startswith("eval/") == (split == "eval")
            }:
                self._run.log(some, step=step, split=split)

    def finish(self) -> None:
        if self._owns:
            self._run.finish()


def attach(**options: Any) -> None:
    """Teach RLinf's `MetricLogger` the backend "rollscope". `options` are those of `rs.init`. Safe to call twice."""
    from rlinf.utils.metric_logger import MetricLogger

    if NAME in MetricLogger.supported_logger:
        return
    MetricLogger.supported_logger = [*MetricLogger.supported_logger, NAME]
    theirs = MetricLogger._create_logger_bundle

    @functools.wraps(theirs)
    def bundle(self: Any, log_path: str, experiment_name: str, log_path_suffix: str = "") -> dict[str, Any]:
        made: dict[str, Any] = theirs(self, log_path, experiment_name, log_path_suffix)
        if NAME in self.logger_backends:
            try:
                made[NAME] = _backend(self, experiment_name, options)
            except Exception as error:
                print(f"rollscope: nothing is recorded ({error!r}); training goes on", file=sys.stderr)
        return made

    MetricLogger._create_logger_bundle = bundle


def _backend(logger: Any, experiment: str, options: Mapping[str, Any]) -> Backend:
    """The main logger begins the run; those of single workers write into it, under their group and rank."""
    from rollscope.record.run import init

    run = getattr(logger, "_rollscope_run", None)
    if run is None:
        version = getattr(sys.modules.get("rlinf"), "__version__", "")
        told: dict[str, Any] = {
            "project": logger.project_name,
            "name": experiment,
            "config": logger.config,
            "shard": 0,
            "shards": 1,
        }
        run = logger._rollscope_run = init(
            **{**told, "framework": f"rlinf@{version}" if version else "rlinf", **options}
        )
        return Backend(run)
    group, _, rank = experiment.removeprefix(f"{logger.experiment_name}-").rpartition("-rank_")
    return Backend(run, int(rank), group)
