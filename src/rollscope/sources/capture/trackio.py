"""Record calls to Trackio: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .record import Anything, Captured, Table, missing


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


class Run(Anything):
    def __init__(self, project: Any, name: Any, kwargs: dict[str, Any]) -> None:
        self.project, self.name, self.config = project, name, kwargs.get("config") or {}
        self._captured = capture(project, name, kwargs)

    def log(self, metrics: Any, step: int | None = None) -> None:
        self._captured.log(metrics, step)

    def finish(self) -> None:
        self._captured.end()

    def __bool__(self) -> bool:
        return True


def stand_in(module: ModuleType) -> None:
    current: list[Run] = []

    def init(project: Any = None, name: Any = None, *_: Any, **kwargs: Any) -> Run:
        current[:] = [Run(project, name, kwargs)]
        return current[0]

    def log(metrics: Any, step: int | None = None) -> None:
        if not current:
            raise RuntimeError("Call trackio.init() before trackio.log().")
        current[0].log(metrics, step)

    def finish() -> None:
        if current:
            current.pop().finish()

    module.__dict__.update(init=init, log=log, finish=finish, Table=Table, __version__="0.0.0")
    module.__getattr__ = lambda name: missing(name)  # type: ignore[method-assign]
