"""Record calls to W&B: a listener for the installed library, a stand-in for a missing one."""

from __future__ import annotations

import contextlib
import os
from types import ModuleType
from typing import Any

from rollscope.sinks.login import wandb_is_set_up

from .record import Anything, Captured, Table, missing


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


class Config(dict[str, Any]):
    """The stand-in for `wandb.config`: a mapping whose keys are also attributes."""

    captured: Captured | None = None

    def update(self, other: Any = None, /, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("allow_val_change", None)
        settings = dict(other or {}) if isinstance(other, dict) or other is None else vars(other)
        super().update(settings, **kwargs)
        if self.captured is not None:
            self.captured.configure(dict(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "captured":
            object.__setattr__(self, name, value)
        else:
            self.update({name: value})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Run(Anything):
    """The stand-in for the run that `wandb.init` returns."""

    def __init__(self, module: ModuleType, **kwargs: Any) -> None:
        self._module, self.config, self.summary = module, Config(), Config()
        self.name, self.project, self.id = kwargs.get("name"), kwargs.get("project"), "rollscope"
        self.dir, self.url = os.getcwd(), None
        self.step, self.mode, self.disabled = 0, "rollscope", False
        self._captured = Captured("wandb")
        self._captured.begin(self.project, self.name, kwargs.get("config"), kwargs.get("group"), kwargs.get("tags"))
        config = kwargs.get("config")
        dict.update(self.config, config if isinstance(config, dict) else getattr(config, "__dict__", None) or {})
        self.config.captured = self._captured

    def log(self, data: Any, step: int | None = None, commit: bool | None = None, **_: Any) -> None:
        self._captured.log(data, step, commit)
        self.step = self._captured.next_step
        dict.update(self.summary, data)

    def alert(self, title: str = "", text: str = "", **_: Any) -> None:
        self._captured.note(f"{title}: {text}")

    def finish(self, *_: Any, **__: Any) -> None:
        self._captured.end()
        self._module.run = None  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        return True

    def __exit__(self, *args: Any) -> None:
        self.finish()


def stand_in(module: ModuleType) -> None:
    def init(**kwargs: Any) -> Run:
        run = Run(module, **kwargs)
        for name in ("log", "finish", "config", "summary", "alert"):
            setattr(module, name, getattr(run, name))
        module.run = run  # type: ignore[attr-defined]
        return run

    def no_run(*_: Any, **__: Any) -> None:
        raise RuntimeError("You must call wandb.init() first")

    module.__dict__.update(
        init=init,
        log=no_run,
        finish=lambda *_, **__: None,
        run=None,
        config=Config(),
        summary=Config(),
        Table=Table,
        __version__="0.0.0",
    )
    module.__dict__.update(
        login=lambda *_, **__: True, Api=Anything, api=Anything(), setup=Anything(), Error=RuntimeError
    )
    module.__getattr__ = lambda name: missing(name)  # type: ignore[method-assign]
