"""Record calls to MLflow: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rollscope.sources.capture.stand_in.anything import Anything, missing

from .record import Captured


class Calls:
    """Records the calls in `CALLS`."""

    def __init__(self) -> None:
        self._captured: Captured | None = None
        self._experiment: str | None = None
        self._params: dict[str, Any] = {}

    @property
    def active(self) -> bool:
        return self._captured is not None

    def set_experiment(self, experiment_name: Any = None, *_: Any, **__: Any) -> None:
        self._experiment = experiment_name

    def start_run(
        self, run_id: Any = None, experiment_id: Any = None, run_name: Any = None, *_: Any, **__: Any
    ) -> None:
        if self._captured is None:
            self._captured = Captured("mlflow")
            self._captured.begin(self._experiment, run_name)

    def log_metric(self, key: str, value: Any, step: int | None = None, *_: Any, **__: Any) -> None:
        self.log_metrics({key: value}, step)

    def log_metrics(self, metrics: Any, step: int | None = None, *_: Any, **__: Any) -> None:
        self.start_run()
        assert self._captured is not None
        self._captured.numbers(dict(metrics), int(step or 0))

    def log_param(self, key: str, value: Any, *_: Any, **__: Any) -> None:
        self.log_params({key: value})

    def log_params(self, params: Any, *_: Any, **__: Any) -> None:
        self.start_run()
        assert self._captured is not None
        self._params |= dict(params)
        self._captured.configure(self._params)

    def end_run(self, *_: Any, **__: Any) -> None:
        if self._captured is not None:
            self._captured.end()
            self._captured = None


CALLS = ("set_experiment", "start_run", "log_metric", "log_metrics", "log_param", "log_params", "end_run")


def listen(module: ModuleType) -> None:
    calls = Calls()
    for name in CALLS:
        if hasattr(module, name):
            setattr(module, name, _both(getattr(calls, name), getattr(module, name)))


def _both(ours: Any, theirs: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        ours(*args, **kwargs)
        return theirs(*args, **kwargs)

    return call


class ActiveRun(Anything):
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.info = Anything()

    def __exit__(self, *args: Any) -> None:
        self._calls.end_run()

    def __bool__(self) -> bool:
        return True


def stand_in(module: ModuleType) -> None:
    calls = Calls()
    for name in CALLS:
        setattr(module, name, getattr(calls, name))

    def start_run(*args: Any, **kwargs: Any) -> ActiveRun:
        calls.start_run(*args, **kwargs)
        return ActiveRun(calls)

    def active_run() -> ActiveRun | None:
        return ActiveRun(calls) if calls.active else None

    module.__dict__.update(start_run=start_run, active_run=active_run, __version__="0.0.0")
    module.__getattr__ = lambda name: missing("mlflow", name)  # type: ignore[method-assign]
