"""A stand-in as a module: its current run, and the functions that pass on to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from rollscope.sources.live.quiet import print_once

from .anything import Error, missing
from .config import Config, settings
from .parts import Parts, install
from .run import Run
from .summary import Summary

NEW = (True, "finish_previous", "create_new")  # values of `reinit` that begin another run
Start = Callable[[tuple[Any, ...], dict[str, Any]], Run]


class Door:
    """`start` makes a run of the arguments of `init`; `no_account` names what needs a server."""

    def __init__(self, library: str, start: Start, no_account: Iterable[str] = (), again: bool = False) -> None:
        self._library, self._start, self._again = library, start, again
        self._no_account = {*no_account}
        self._runs: list[Run] = []  # the last is the current one
        self._before = {"config": Config(), "summary": Summary()}  # without a run

    @property
    def run(self) -> Run | None:
        return self._runs[-1] if self._runs else None

    def init(self, *args: Any, **kwargs: Any) -> Run:
        """Begin a run. A second call returns the current one, unless `reinit` asks for another."""
        reinit = kwargs.get("reinit")
        if self._runs and not self._again and reinit not in NEW:
            self._runs[-1].config.update(settings(kwargs.get("config")))
            return self._runs[-1]
        if reinit != "create_new":
            self.finish()
        run = self._start(args, kwargs)
        run.ended = self._ended
        self._runs.append(run) if reinit != "create_new" else self._runs.insert(0, run)
        return run

    def _ended(self, run: Run) -> None:
        self._runs = [other for other in self._runs if other is not run]

    def finish(self, *args: Any, **kwargs: Any) -> None:
        if self.run is not None:
            self.run.finish(*args, **kwargs)

    def call(self, name: str) -> Callable[..., Any]:
        """A function of the module that passes on to the current run."""

        def passed_on(*args: Any, **kwargs: Any) -> Any:
            if self.run is not None:
                return getattr(self.run, name)(*args, **kwargs)
            print_once(f"rollscope: {self._library}.{name} was called without a run; call {self._library}.init() first")
            return None

        passed_on.__name__ = name
        return passed_on

    def attribute(self, name: str) -> Any:
        if name == "run":
            return self.run
        if name in self._before:
            return self._before[name] if self.run is None else getattr(self.run, name)
        if name in self._no_account:
            return missing(self._library, name, "it needs an account, and there is none")
        if name in self._parts.names:
            return self._parts.part(name)
        return missing(self._library, name)

    def fill(
        self, module: ModuleType, version: str, calls: Iterable[str], kinds: Iterable[type], parts: Iterable[str] = ()
    ) -> None:
        """Put the functions and classes of the library into the module.

        `version` is the one whose interface this is. `parts` are modules below it.
        """
        self._parts = Parts(module, parts)
        install()
        module.__dict__.update({name: self.call(name) for name in calls})
        module.__dict__.update({kind.__name__: kind for kind in kinds})
        module.__dict__.update(init=self.init, finish=self.finish, login=lambda *_, **__: True, Error=Error)
        module.__version__, module.__path__ = version, self._parts  # type: ignore[attr-defined]
        module.__getattr__ = self.attribute  # type: ignore[method-assign]
