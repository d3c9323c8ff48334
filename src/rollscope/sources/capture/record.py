"""Record captured calls. A program is one run, over all its processes and libraries.

A second `init` of the same library starts another run. Nothing here raises into the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from rollscope.record.start import init, join
from rollscope.sources.intake.gather import number
from rollscope.sources.intake.guess import origin
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.values import by_split, numbers, scalar
from rollscope.sources.wandb import AXES


class Captured:
    """The run that one `init` of one library started."""

    count: dict[str, int] = {}  # library -> how often it was initialised

    def __init__(self, library: str) -> None:
        self._library = library
        self._run: Any = None
        self.next_step = 0  # of a log call without a step
        self._facts: dict[str, Any] = {}
        self._pending: dict[str, Any] = {}  # values of calls with commit=False
        self._framework_known = False

    @quiet
    def begin(
        self,
        project: str | None = None,
        name: str | None = None,
        config: Any = None,
        group: str | None = None,
        tags: Any = None,
    ) -> None:
        nth = Captured.count[self._library] = Captured.count.get(self._library, 0) + 1
        shared = os.environ.get("ROLLSCOPE_RUN_ID")
        self._facts = {
            "config": plain(config) if config else None,
            "tags": list(tags or ()) or None,
            "group": group,
            "name": name,
            "project": project,
        }
        if shared and nth == 1:
            shard, shards = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
            self._run = join(shared, os.environ["ROLLSCOPE_DIR"], shard=shard, shards=shards)
            self._run.describe(**self._facts)
        else:
            id = f"{shared}-{nth}" if shared else None
            facts = {**self._facts, "tags": list(tags or ())}
            self._run = init(id=id, host=False, **facts)

    @quiet
    def configure(self, config: Any) -> None:
        if self._run is not None:
            self._facts["config"] = {**(self._facts.get("config") or {}), **plain(config)}
            self._run.describe(config=self._facts["config"])

    @quiet
    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, between: str = "."
    ) -> None:
        """Record one call of a library that counts its calls.

        Without a step, the step is the x axis in the row, else the number of the call.
        """
        if self._run is None:
            self.begin()
        flat = dict(flatten(data, between))
        self._pending |= flat
        if commit is False:
            return
        flat, self._pending = self._pending, {}
        axis = next((number(scalar(flat[name])) for name in AXES if name in flat), None)
        at = self.next_step if step is None else int(step)
        self.next_step = at + 1
        self.numbers(flat, at if axis is None else int(axis))

    @quiet
    def numbers(self, flat: Mapping[str, Any], step: int) -> None:
        if self._run is None:
            self.begin()
        values = numbers(flat)
        for split, some in by_split(values, lambda name: name.startswith(("eval/", "val/", "val-"))):
            self._run.log(some, step=step, split=split)
        if not self._framework_known and len(values) > 3:
            self._framework_known = True
            self._run.describe(**origin(values, self._facts.get("config")))
        for name, raw in flat.items():
            self._record_table(name, raw, step)

    def _record_table(self, name: str, value: Any, step: int) -> None:
        """Record the samples of a table of generated text: anything with columns and rows."""
        from rollscope.sources.intake.tables import samples

        columns, data = getattr(value, "columns", None), getattr(value, "data", None)
        if isinstance(columns, list) and isinstance(data, list):
            self._run.log_samples(list(samples([str(c) for c in columns], data, f"{name}/{step}", step, 0)), step=step)

    @quiet
    def note(self, text: str, **data: Any) -> None:
        if self._run is not None:
            self._run.note(text, **data)

    @quiet
    def end(self) -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None


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


class Anything:
    """Stands for any part of a missing library: it can be called, entered, iterated, read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False


def missing(name: str) -> Any:
    """What a stand-in lacks: a class if the name begins with a capital, else an object."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything if name[:1].isupper() else Anything()


class Table:
    """The stand-in for a tracker's table."""

    def __init__(
        self,
        columns: list[str] | None = None,
        data: list[list[Any]] | None = None,
        rows: Any = None,
        dataframe: Any = None,
        **_: Any,
    ) -> None:
        if dataframe is not None:
            columns, data = list(dataframe.columns), dataframe.values.tolist()
        self.columns = list(columns or [])
        self.data = [list(row) for row in data or rows or []]

    def add_data(self, *row: Any) -> None:
        self.data.append(list(row))
