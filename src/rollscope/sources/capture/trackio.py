"""Record calls to Trackio: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rollscope.sources.capture.stand_in.trackio import stand_in

from .record import Captured

__all__ = ["listen", "stand_in"]


def listen(module: ModuleType) -> None:
    theirs, log, finish = module.init, module.log, module.finish
    current: list[Captured] = []

    def init(project: Any = None, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        run = theirs(project, name, *args, **kwargs)
        current[:] = [capture(project, name, kwargs)]
        if hasattr(run, "log"):
            _listen(run, current[0])
        return run

    def logged(metrics: Any, step: int | None = None) -> Any:
        return log(metrics, step=step)  # it calls run.log, which is recorded

    def finished(*args: Any, **kwargs: Any) -> Any:
        if current:
            current.pop().end()
        return finish(*args, **kwargs)

    module.__dict__.update(init=init, log=logged, finish=finished)


def _listen(run: Any, captured: Captured) -> None:
    log = run.log

    def logged(metrics: Any, step: int | None = None, *args: Any, **kwargs: Any) -> Any:
        captured.log(metrics, step)
        return log(metrics, step, *args, **kwargs)

    run.log = logged


def capture(project: Any, name: Any, kwargs: dict[str, Any]) -> Captured:
    captured = Captured("trackio")
    captured.begin(project, name, kwargs.get("config"), kwargs.get("group"))
    return captured
