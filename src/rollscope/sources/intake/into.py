"""Evaluations of a file for a run that is there: at a step, once, with the metrics they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.evaluate import evaluate
from rollscope.errors import BadInput
from rollscope.sources import Points, Records, RunStart, SourceError

KIND = "evaluations"


@dataclass(frozen=True, slots=True)
class Into:
    """The run that evaluations go to, and the step."""

    run: str
    step: int
    attempt: int
    times: dict[int, int]  # step -> when the run was there, so that its end stays where it was

    def start(self, digest: str) -> RunStart:
        """The same content goes to the same log, whatever its file is called."""
        return RunStart(id=self.run, kind=f"{KIND} {digest}")

    @property
    def time_ns(self) -> int:
        before = [at for at in self.times if at <= self.step]
        return self.times[max(before)] if before else next(iter(self.times.values()), 0)


@dataclass(slots=True)
class Placed:
    """Puts the rows of one file at the step, and computes the metrics of each set from them."""

    into: Into
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by set

    def place(self, item: Records | Points) -> Records:
        if not isinstance(item, Records) or item.table not in ("evals", "samples"):
            raise SourceError("it holds no evaluations; only those can be imported into a run. Leave out --into")
        rows = [{**row, "step": self.into.step, "time_ns": self.into.time_ns} for row in item.rows]
        if item.table == "evals":
            for row in rows:
                self.rows.setdefault(str(row["set"]), []).append(row)
        return Records(item.table, rows)

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
