"""Record captured calls. A program is one run, over all its processes and libraries.

A second `init` of the same library starts another run. Nothing here raises into the program.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.record.rank import launched
from rollscope.record.start import init, join
from rollscope.sources.intake.guess import origin
from rollscope.sources.live.quiet import print_once, quiet
from rollscope.sources.live.values import by_split, numbers

from .axes import Axes
from .objects import Objects
from .steps import Calls, Steps

Said = tuple[int, str | None, float]  # step, clock and value of a number


class Captured:
    """The run that one `init` of one library started."""

    count: dict[str, int] = {}  # library -> how often it was initialised
    newest: dict[tuple[str | None, str], tuple[str, Said]] = {}  # run and name -> who logged it last, and what

    def __init__(self, library: str, off: bool = False) -> None:
        self._library, self._off = library, off
        self._run: Any = None
        self.steps, self.axes = Steps() if library == "wandb" else Calls(), Axes()
        self.last = 0  # the step that the last numbers are at
        self._facts: dict[str, Any] = {}
        self._objects: Objects | None = None
        self._names: dict[str, int] | None = {}  # name -> its first step, until the framework is guessed

    @property
    def folder(self) -> Path | None:
        return None if self._run is None else self._run.folder

    @property
    def id(self) -> str | None:
        return None if self._run is None else self._run.id

    @quiet
    def begin(
        self,
        project: str | None = None,
        name: str | None = None,
        config: Any = None,
        group: str | None = None,
        tags: Any = None,
        **which: Any,
    ) -> None:
        """Start the run. `which` are arguments of `rs.init` that say which run it is."""
        if self._off:
            return
        nth = Captured.count[self._library] = Captured.count.get(self._library, 0) + 1
        shared = os.environ.get("ROLLSCOPE_RUN_ID")
        self._facts = {
            "config": plain(config) if config else None,
            "tags": list(tags or ()) or None,
            "group": group,
            "name": name,
            "project": project,
        }
        self.axes.configure(self._facts["config"] or {})
        if shared and nth == 1:
            shard, shards = launched(print_once)
            self._run = join(shared, os.environ["ROLLSCOPE_DIR"], shard=shard, shards=shards)
            self._run.describe(**self._facts)
        else:
            facts = {**self._facts, "tags": list(tags or ())}
            one_of_many = {"id": f"{shared}-{nth}", "host": False} if shared else {}
            self._run = _start(facts, {**which, **one_of_many})
        self.steps.current = self._run.step
        atexit.register(self._rest)  # before the run ends: that was registered earlier
        os.register_at_fork(after_in_child=self.steps.drop)  # the parent records it
        self._objects = Objects(self._run)

    @quiet
    def describe(self, **facts: Any) -> None:
        """Take over facts that the program says after `init`."""
        if self._run is not None:
            self._facts |= facts
            self._run.describe(**facts)

    @quiet
    def configure(self, config: Any) -> None:
        if self._run is not None:
            self._facts["config"] = {**(self._facts.get("config") or {}), **plain(config)}
            self.axes.configure(self._facts["config"])
            self._run.describe(config=self._facts["config"])

    @quiet
    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, between: str = "."
    ) -> None:
        """Record one call of a library that counts its calls.

        Without a step, the step is the x axis in the row, else the number of the call.
        """
        if not self._is_on():
            return
        at = None if step is None else int(step)
        # The whole list first: another thread that logs must find the steps counted.
        for own, row in list(self.steps.take(dict(flatten(data, between)), at, commit)):
            self._place(row, own)

    @quiet
    def define(self, name: Any, axis: Any) -> None:
        """Say which metric is on the x axis of a name, or of a prefix with `*`."""
        self.axes.define(str(name), None if axis is None else str(getattr(axis, "name", axis)))

    def _is_on(self) -> bool:
        if self._run is None and not self._off:
            self.begin()
        return self._run is not None

    def _place(self, row: dict[str, Any], step: int) -> None:
        for (at, clock), some in self.axes.place(row, step):
            self.numbers(some, at, clock)

    @quiet
    def numbers(self, flat: Mapping[str, Any], step: int, clock: str | None = None) -> None:
        """Record the numbers of a row, and the tables, pictures and texts in it."""
        if not self._is_on():
            return
        values = numbers(flat)
        self.last = step if clock is None else self.last
        fresh = {name: value for name, value in values.items() if self._is_new(name, (step, clock, value))}
        for split, some in by_split(
            fresh, lambda name: name.startswith(("eval/", "val/", "val-", "val_", "validation"))
        ):
            self._run.log(some, step=step, split=split, clock=clock)
        self._guess(values, step)
        if len(values) < len(flat) and self._objects is not None:
            self._objects.record({name: raw for name, raw in flat.items() if name not in values}, step)

    def _is_new(self, name: str, said: Said) -> bool:
        """False if another library has just logged the same: some programs log to all they find."""
        library, last = Captured.newest.get((self.id, name), (self._library, None))
        if library != self._library and last == said:
            return False
        Captured.newest[self.id, name] = self._library, said
        return True

    def _guess(self, values: Mapping[str, float], step: int) -> None:
        """Guess the framework once names come again: by then all of a step are known."""
        if self._names is None:
            return
        if any(self._names.setdefault(name, step) != step for name in values):
            self._describe()

    def _describe(self) -> None:
        names, self._names = self._names, None
        if names and len(names) > 3:
            self._run.describe(**origin(names, self._facts.get("config")))

    @quiet
    def _rest(self) -> None:
        """Record what waits for a call that did not come."""
        for step, row in list(self.steps.rest()):
            self._place(row, step)

    @quiet
    def note(self, text: str, **data: Any) -> None:
        if self._run is not None:
            self._run.note(text, **data)

    @quiet
    def end(self, state: str = "finished", reason: str | None = None) -> None:
        self._rest()
        if self._run is not None:
            self._describe()
            self._run.finish(state, reason)
            self._run = None
        atexit.unregister(self._rest)
        self._off = True


def _start(facts: dict[str, Any], which: dict[str, Any]) -> Any:
    """The run that was asked for; a new one if there is no such run."""
    try:
        return init(**facts, **which)
    except RollscopeError as error:
        print_once(f"rollscope: {error} A new run is recorded instead.")
        return init(**facts)


def flatten(data: Mapping[str, Any], between: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from flatten(value, between, f"{prefix}{name}{between}")
        else:
            yield f"{prefix}{name}", value


def plain(config: Any) -> dict[str, Any]:
    """A configuration as a dict; it may be a mapping, a namespace or a dataclass."""
    if isinstance(config, Mapping):
        return dict(config)
    return {key: value for key, value in getattr(config, "__dict__", {}).items() if not key.startswith("_")}
