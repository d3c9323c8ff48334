"""Rollouts that a run has, and that a dump tells once more under ids of its own.

A hook of Rollscope in the trainer records rollouts, a tracker shows some in tables. What a dump
says of the same step in the same words is such a rollout: its row gets the id that the run knows,
and only what the run lacks. Each rollout of the run is one row of the dump. If the dump was read
first, the two are found at a later look.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.sources import Records

from .into import with_prefix
from .own import Own
from .rollout import Rollout, words
from .same import Same

OF_SAMPLE = ("turns", "spans", "evals")  # tables whose rows name their sample
ALWAYS = {"id", "step"}
MOST_STEPS = 256  # whose rollouts are kept in memory
MOST_KNOWN = 10_000  # rollouts that met a row and are kept in memory, with their words
RESTS = 50  # times as long as a look for late rollouts is the rest after it


class Told:
    """Matches rows of dumps with the rollouts that a run's own recording has."""

    def __init__(self, folder: Path) -> None:
        self._same = Same(folder)
        self._own = Own(folder, self._same)
        self._is_new = False
        self._steps: dict[int, dict[str, list[Rollout]]] = {}  # step -> completion -> rollouts
        self._known: dict[str, Rollout] = {}  # by id in a dump
        self._late_at = 0.0
        self._seen: dict[int, int] = {}  # step -> the run's own rollouts when strangers were last looked for

    @property
    def own(self) -> Own:
        return self._own

    def look_again(self) -> None:
        """Let the next rows meet what the run has got since."""
        self._steps.clear()
        self._is_new = False

    def place(self, records: Records, prefix: str) -> tuple[Records, int]:
        """The rows that add something to the run, and how many tell a rollout that it has."""
        records = with_prefix(records, prefix)
        if records.table in OF_SAMPLE:
            self._recall({str(row.get("sample")) for row in records.rows})
            return Records(records.table, [*self._of_known(records)]), 0
        if records.table != "samples":
            return records, 0
        self._recall({str(row.get("id")) for row in records.rows})
        self._read({step for row in records.rows if (step := _step(row)) is not None})
        new: dict[str, str | None] = {}
        rows = [(row, self._meets(row, new)) for row in records.rows]
        self._same.add(new)
        told = sum(rollout is not None for _, rollout in rows)
        placed = [row if rollout is None else rest(row, rollout) for row, rollout in rows]
        return Records("samples", [row for row in placed if row.keys() - ALWAYS]), told

    def late(self, over: bool = False) -> dict[str, str]:
        """Rollouts of dumps that the run has recorded since: id in the dump -> id in the run.

        A look soon after the last one finds nothing, but if it is `over`.
        """
        began = time.monotonic()
        if began < self._late_at and not over:
            return {}
        pairs: dict[str, str] = {}
        with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: the next look tries again
            self._own.refresh(over)
            counts = {step: count for step, count in self._own.counts.items() if self._seen.get(step) != count}
            strangers = self._own.strangers(counts)
            pairs = self._pairs(strangers)
            open_steps = {row["step"] for row in strangers if row["id"] in pairs}  # until they are joined
            self._seen |= {step: count for step, count in counts.items() if step not in open_steps}
        self._late_at = time.monotonic() + RESTS * (time.monotonic() - began)
        return {theirs: own for theirs, own in pairs.items() if theirs != own}

    def _pairs(self, strangers: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        self._steps.update(self._own.of_steps({row["step"] for row in strangers}))
        pairs: dict[str, str | None] = {}
        for row in strangers:
            if (known := self._same.get(row["id"])) is not None:
                pairs[row["id"]] = known  # an import that was killed has not removed it
            else:
                self._meets(row, pairs)
        return {theirs: own for theirs, own in pairs.items() if own is not None}

    def joined(self, pairs: Mapping[str, str]) -> None:
        """These rollouts are one from now on."""
        self._same.add(pairs)
        for theirs in pairs:
            self._known.pop(theirs, None)

    def _meets(self, row: Mapping[str, Any], new: dict[str, str | None]) -> Rollout | None:
        """The rollout of the run that a row is about; a pair that was not known goes to `new`."""
        id = str(row.get("id"))
        if (known := self._known.get(id)) is not None:
            if known.is_of(row):
                return known
            del self._known[id]  # its file was written again, with other rollouts
            new[id] = None
        if row.get("completion") is None or (step := _step(row)) is None or not self._steps[step]:
            return None
        taken = new.values()
        fits = [
            rollout
            for rollout in self._steps[step].get(words(row["completion"]), ())
            if not self._same.is_met(rollout.id) and rollout.id not in taken and rollout.is_in(row)
        ]
        if not fits:
            return None
        rollout = next((rollout for rollout in fits if rollout.id == id), fits[0])
        self._known[id], new[id] = rollout, rollout.id
        return rollout

    def _of_known(self, records: Records) -> Iterator[Mapping[str, Any]]:
        for row in records.rows:
            rollout = self._known.get(str(row.get("sample")))
            if rollout is None:
                yield row
            elif records.table != "turns" or not rollout.has_turns:
                yield {**row, "sample": rollout.id}

    def _recall(self, ids: set[str]) -> None:
        """Read the samples that these ids of a dump stood for at an earlier import or long ago."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        stood = {id: own for id in ids - self._known.keys() if (own := self._same.get(id)) is not None}
        if stood:
            self._refresh()
            with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: a later look joins them
                rollouts = self._own.of_ids(list(stood.values()))
                self._known |= {id: rollouts[own] for id, own in stood.items() if own in rollouts}

    def _read(self, steps: set[int]) -> None:
        """Ask the run for its own rollouts at steps."""
        if len(self._steps) > MOST_STEPS:
            self._steps.clear()
        if steps := steps - self._steps.keys():
            self._refresh()
            self._steps.update(self._own.of_steps(steps))

    def _refresh(self) -> None:
        if not self._is_new:
            self._own.refresh()
            self._is_new = True


def rest(row: Mapping[str, Any], rollout: Rollout) -> dict[str, Any]:
    """What a row adds to a rollout."""
    new = {name: value for name, value in row.items() if name in ALWAYS or name not in rollout.has}
    return {**new, "id": rollout.id}


def _step(row: Mapping[str, Any]) -> int | None:
    return step if isinstance(step := row.get("step"), int) else None
