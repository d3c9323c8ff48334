"""Record calls to W&B: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from rollscope.sinks.login import wandb_is_set_up
from rollscope.sources.capture.stand_in.wandb import stand_in

from .record import Captured

__all__ = ["listen", "stand_in"]


def listen(module: ModuleType) -> None:
    theirs = module.init

    def init(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("mode") and not wandb_is_set_up():
            kwargs["mode"] = "disabled"  # it would stop and ask for a key
        run = theirs(*args, **kwargs)
        captured = Captured("wandb")
        captured.begin(
            kwargs.get("project"), kwargs.get("name"), kwargs.get("config"), kwargs.get("group"), kwargs.get("tags")
        )
        _listen(module, run, captured)
        return run

    module.init = init  # type: ignore[attr-defined]


def _listen(module: ModuleType, run: Any, captured: Captured) -> None:
    log, finish = run.log, run.finish

    def logged(data: Any, step: int | None = None, commit: bool | None = None, **kwargs: Any) -> Any:
        captured.log(data, step, commit)
        return log(data, step=step, commit=commit, **kwargs)

    def finished(*args: Any, **kwargs: Any) -> Any:
        captured.end()
        return finish(*args, **kwargs)

    def define_metric(name: str, step_metric: Any = None, **kwargs: Any) -> Any:
        captured.define(name, step_metric)
        return their_define_metric(name, step_metric=step_metric, **kwargs)

    their_define_metric, their_update = run.define_metric, run.config.update

    def update(config: Any, *args: Any, **kwargs: Any) -> Any:
        captured.configure(config)
        return their_update(config, *args, **kwargs)

    for name, ours in (("log", logged), ("finish", finished), ("define_metric", define_metric)):
        object.__setattr__(run, name, ours)
        if hasattr(module, name):
            setattr(module, name, ours)
    with contextlib.suppress(AttributeError, TypeError):
        object.__setattr__(run.config, "update", update)
