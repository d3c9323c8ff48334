"""Captured calls, recorded. One run for the whole program, however many processes and libraries it has; a second `init` of the same library begins another.

Nothing here may raise into the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from rollscope.record.run import init, join
from rollscope.sources.intake.gather import number
from rollscope.sources.intake.guess import algorithm, framework
from rollscope.sources.quiet import quiet
from rollscope.sources.wandb import AXES


class Captured:
    """What one `init` of one library began."""

    count: dict[str, int] = {}

    def __init__(self, library: str) -> None:
        self._library = library
        self._run: Any = None
        self._step = 0
        self._facts: dict[str, Any] = {}
        self._pending: dict[str, Any] = {}
        self._named = False

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
            self._run = init(
                id=id,
                name=name,
                project=project,
                config=self._facts["config"],
                group=group,
                tags=list(tags or ()),
                host=False,
            )

    @quiet
    def configure(self, config: Any) -> None:
        if self._run is not None:
            self._facts["config"] = {**(self._facts.get("config") or {}), **plain(config)}
            self._run.describe(config=self._facts["config"])

    @quiet
    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, between: str = "."
    ) -> None:
        """One call of a library that counts its own calls: without a step it is the number of the call, or the x axis the row carries."""
        if self._run is None:
            self.begin()
        flat = dict(flatten(data, between))
        self._pending |= flat
        if commit is False:
            return
        flat, self._pending = self._pending, {}
        axis = next((number(scalar(flat[name])) for name in AXES if name in flat), None)
        at = self._step if step is None else int(step)
        self._step = at + 1
        self.numbers(flat, at if axis is None else int(axis))

    @quiet
    def numbers(self, flat: Mapping[str, Any], step: int) -> None:
        if self._run is None:
            self.begin()
        found = {name: value for name, raw in flat.items() if (value := number(scalar(raw))) is not None}
        for split in ("eval", "train"):
            if some := {
                name: value
                for name, value in found.items()
                if name.startswith(("eval/", "val/", "val-")) == (split == "eval")
            }:
                self._run.log(some, step=step, split=split)
        if not self._named and len(found) > 3:
            self._named = True
            dialect = framework(found, self._facts.get("config"))
            self._run.describe(framework=dialect, algorithm=algorithm(dialect, self._facts.get("config")))
        for name, raw in flat.items():
            self._table(name, raw, step)

    def _table(self, name: str, value: Any, step: int) -> None:
        """A table of generated text: anything with columns and rows."""
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


def scalar(value: Any) -> Any:
    """A number out of a tensor or an array of one."""
    return (
        value.item()
        if hasattr(value, "item") and getattr(value, "ndim", 0) in (0, 1) and getattr(value, "shape", ()) in ((), (1,))
        else value
    )


def flatten(data: Mapping[str, Any], between: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from flatten(value, between, f"{prefix}{name}{between}")
        else:
            yield f"{prefix}{name}", value


def plain(config: Any) -> dict[str, Any]:
    """A configuration as a dict, whatever it came as: a mapping, a namespace, a dataclass."""
    if isinstance(config, Mapping):
        return dict(config)
    return {key: value for key, value in getattr(config, "__dict__", {}).items() if not key.startswith("_")}


class Anything:
    """Stands for whatever a missing library has that we do not need: may be called, used, entered and asked for anything."""

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


class Table:
    """A table as every tracker has one."""

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
