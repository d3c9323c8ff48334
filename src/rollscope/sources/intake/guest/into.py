"""Rows of files for a run that is there.

Rollouts, numbers and spans are added at the steps that they name, and read on as their files grow.
Evaluations, which name no step, are put at one, once, with the metrics they give.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rollscope.catalog.evaluate import evaluate
from rollscope.errors import BadInput
from rollscope.sources import Points, Records, RunStart, SourceError

from .named import tracked

KIND = "evaluations"
IDS = {"samples": ("id", "group"), "turns": ("sample",), "spans": ("sample", "group"), "evals": ("sample",)}


@dataclass(frozen=True, slots=True)
class Into:
    """The run that rows go to. With a step they are evaluations, and belong there.

    The run keeps its `begin_ns`, its `end_ns` unless it is not over, and its numbers: what a file
    says under a name that another of the run's `writers` has is left out.
    """

    run: str
    attempt: int = 1
    step: int | None = None
    times: Mapping[int, int] = field(default_factory=dict)  # step -> when the run was there
    writers: dict[str, set[str]] = field(default_factory=dict)  # name of a number -> who wrote it
    begin_ns: int | None = None
    end_ns: int | None = None
    over: threading.Event | None = None  # set when the program that the run records has ended

    def start(self, digest: str) -> RunStart:
        """The same content goes to the same log, whatever its file is called."""
        return RunStart(id=self.run, kind=f"{KIND} {digest}")

    def guest(self, start: RunStart) -> RunStart:
        """Where the rows of another run go: what each source gave keeps a log of its own."""
        if start.alone is not None:
            raise SourceError(start.alone)
        return RunStart(id=self.run, kind=f"{start.kind} of {start.id}", facts=start.facts)

    def take(self, points: Points, writer: str, framework: str = "") -> tuple[Points, list[str]]:
        """The numbers that no other writer has, at times of the run; and the other names."""
        for name in points.names:
            self.writers.setdefault(name, {writer})
        left = [
            name
            for name in points.names
            if self.writers[name] != {writer} or self.writers.get(tracked(name, framework), {writer}) != {writer}
        ]
        kept = _without(points, left) if left else points
        return replace(kept, time_ns=np.clip(kept.time_ns, self.begin_ns, self.end_ns)), left

    @property
    def time_ns(self) -> int:
        before = [at for at in self.times if self.step is not None and at <= self.step]
        return self.times[max(before)] if before else next(iter(self.times.values()), 0)


def _without(points: Points, names: Sequence[str]) -> Points:
    """The points of all other names."""
    keep = np.array([name not in names for name in points.names])
    kept = [name for name, stays in zip(points.names, keep, strict=True) if stays]
    if points.index is None:
        return replace(points, names=kept, values=points.values[:, keep])
    rows, place = keep[points.index], (np.cumsum(keep) - 1).astype(np.uint32)
    columns = {name: getattr(points, name)[rows] for name in ("step", "time_ns", "values")}
    return replace(points, names=kept, index=place[points.index[rows]], **columns)


def with_prefix(records: Records, prefix: str) -> Records:
    """The rows with ids of samples and groups that no other source of the run has."""
    names = IDS.get(records.table, ()) if prefix else ()
    return replace(records, rows=[_prefixed(row, names, prefix) for row in records.rows]) if names else records


def _prefixed(row: Mapping[str, Any], names: Sequence[str], prefix: str) -> dict[str, Any]:
    return {**row, **{name: f"{prefix}{row[name]}" for name in names if row.get(name) is not None}}


@dataclass(slots=True)
class Placed:
    """Puts the rows of one file at the step, and computes the metrics of each set from them."""

    into: Into
    prefix: str  # of the samples' ids: each file may number them alike
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by set

    def place(self, item: Records | Points) -> Records:
        if not isinstance(item, Records) or item.table not in ("evals", "samples"):
            raise SourceError("it holds no evaluations; only those can be imported into a run. Leave out --into")
        rows = [{**row, "step": self.into.step, "time_ns": self.into.time_ns} for row in item.rows]
        if item.table == "evals":
            for row in rows:
                self.rows.setdefault(str(row["set"]), []).append(row)
        return with_prefix(Records(item.table, rows), self.prefix)

    def metrics(self) -> Iterator[Points]:
        """What `run.log_eval` would have computed from the rows, once."""
        rows, self.rows = self.rows, {}
        for name, some in rows.items():
            try:
                found = {key: partial.value for key, partial in evaluate(some, name).items()}
            except BadInput as error:
                raise SourceError(f"set {name!r} cannot be evaluated: {error}") from error
            at, time_ns = np.array([self.into.step]), np.array([self.into.time_ns])
            yield Points(list(found), at, time_ns, np.array([list(found.values())]), split="eval")
