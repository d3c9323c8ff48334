"""Record calls to SwanLab: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from rollscope.sources.capture.stand_in.swanlab import stand_in

from .record import Captured

__all__ = ["listen", "stand_in"]


def listen(module: ModuleType) -> None:
    theirs, log, finish = module.init, module.log, module.finish
    current: list[Captured] = []

    def init(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("mode") and not os.environ.get("SWANLAB_MODE") and not os.environ.get("SWANLAB_API_KEY"):
            kwargs["mode"] = "disabled"  # it would stop and ask for a key
        run = theirs(*args, **kwargs)
        current[:] = [capture(args, kwargs)]
        if run is not None:
            _listen(run, current[0])
        return run

    def logged(data: Any, step: int | None = None, *args: Any, **kwargs: Any) -> Any:
        if current:
            current[0].log(data, step, between="/")
        return log(data, step, *args, **kwargs)

    def finished(*args: Any, **kwargs: Any) -> Any:
        if current:
            current.pop().end()
        return finish(*args, **kwargs)

    module.__dict__.update(init=init, log=logged, finish=finished)


def _listen(run: Any, captured: Captured) -> None:
    log = run.log

    def logged(data: Any, step: int | None = None, *args: Any, **kwargs: Any) -> Any:
        captured.log(data, step, between="/")
        return log(data, step, *args, **kwargs)

    try:
        run.log = logged
    except AttributeError:
        captured.note("calls to the SwanLab run object are not recorded; calls to swanlab.log are")


def capture(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Captured:
    captured = Captured("swanlab")
    project = args[0] if args else kwargs.get("project")
    name = kwargs.get("experiment_name") or kwargs.get("name")
    captured.begin(project, name, kwargs.get("config"), kwargs.get("group"), kwargs.get("tags"))
    return captured
