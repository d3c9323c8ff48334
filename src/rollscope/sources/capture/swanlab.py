"""Record calls to SwanLab: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from .record import Anything, Captured, missing


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


class Run(Anything):
    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.config = kwargs.get("config") or {}
        self._captured = capture(args, kwargs)

    def log(self, data: Any, step: int | None = None, *_: Any, **__: Any) -> None:
        self._captured.log(data, step, between="/")

    def finish(self, *_: Any, **__: Any) -> None:
        self._captured.end()

    def __bool__(self) -> bool:
        return True


def stand_in(module: ModuleType) -> None:
    current: list[Run] = []

    def init(*args: Any, **kwargs: Any) -> Run:
        current[:] = [Run(args, kwargs)]
        return current[0]

    def log(data: Any, step: int | None = None, *_: Any, **__: Any) -> None:
        if not current:
            raise RuntimeError("You must call swanlab.init() before using swanlab.log()")
        current[0].log(data, step)

    def finish(*_: Any, **__: Any) -> None:
        if current:
            current.pop().finish()

    module.__dict__.update(
        init=init,
        log=log,
        finish=finish,
        login=lambda *_, **__: True,
        get_run=lambda: current[0] if current else None,
        __version__="0.0.0",
    )
    module.__getattr__ = lambda name: missing(name)  # type: ignore[method-assign]
