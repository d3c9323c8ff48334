"""Rollouts that a run has already, and that a dump tells once more under ids of its own.

A hook of Rollscope in the trainer records rollouts, a tracker shows some in tables. What a dump
says of the same step in the same words is such a rollout: its row gets the id that the run knows,
and only what the run lacks. Each rollout of the run is one row of the dump.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollscope.errors import RollscopeError
from rollscope.sources import Records
from rollscope.sources.intake.cursors import guests
from rollscope.store import schema

from .into import with_prefix

if TYPE_CHECKING:
    from rollscope.store.run import Run

NAMES = [column.name for column in schema.SAMPLES if column.name not in ("run", "writer", "attempt")]
TOLD = ("id", "step", "split", "prompt", "completion")  # what rollouts are known by
OF_SAMPLE = ("turns", "spans", "evals")  # tables whose rows name their sample
ALWAYS = {"id", "step"}
LONG = 0.2  # seconds that a look for rollouts of the run may take
MOST_STEPS = 256  # whose rollouts are kept in memory
RESTS = 50  # times as long as such a look is the rest after it


@dataclass(slots=True)
class Rollout:
    id: str
    prompt: str
    split: str | None
    has: frozenset[str]  # names of what the run knows of it
    has_turns: bool  # told one by one, not only counted

    def is_in(self, row: Mapping[str, Any]) -> bool:
        """True for a row with this prompt, or of which one prompt is the other in a template."""
        prompt, split = _words(row.get("prompt")), row.get("split")
        return (prompt in self.prompt or self.prompt in prompt) and (split or self.split) == (self.split or split)


class Told:
    """The rollouts that a run's own recording has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run: Run | None = None
        self._own, self._own_steps = "true", set[int]()  # which samples are the run's own, and their steps
        self._look_at = 0.0
        self._is_new = False
        self._steps: dict[int, dict[str, list[Rollout]]] = {}  # step -> completion -> rollouts
        self._known: dict[str, Rollout] = {}  # id in a dump -> the rollout of the run
        self._met: set[str] = set()  # ids of rollouts that a row was for

    def look_again(self) -> None:
        """Let the next rows meet what the run has got since."""
        self._steps.clear()
        self._is_new = False

    def place(self, records: Records, prefix: str) -> tuple[Records, int]:
        """The rows that add something to the run, and how many tell a rollout that it has."""
        records = with_prefix(records, prefix)
        if records.table in OF_SAMPLE:
            return Records(records.table, [*self._of_known(records)]), 0
        if records.table != "samples":
            return records, 0
        self._read({step for row in records.rows if (step := _step(row)) is not None})
        rows = [(row, self._meets(row)) for row in records.rows]
        told = sum(rollout is not None for _, rollout in rows)
        placed = [row if rollout is None else _rest(row, rollout) for row, rollout in rows]
        return Records("samples", [row for row in placed if row.keys() - ALWAYS]), told

    def _meets(self, row: Mapping[str, Any]) -> Rollout | None:
        """The rollout of the run that a row is about."""
        if (known := self._known.get(str(row.get("id")))) is not None:
            return known
        if row.get("completion") is None or (step := _step(row)) is None:
            return None
        for rollout in self._steps[step].get(_words(row["completion"]), ()):
            if rollout.id not in self._met and rollout.is_in(row):
                self._met.add(rollout.id)
                self._known[str(row.get("id"))] = rollout
                return rollout
        return None

    def _of_known(self, records: Records) -> Iterator[Mapping[str, Any]]:
        for row in records.rows:
            rollout = self._known.get(str(row.get("sample")))
            if rollout is None:
                yield row
            elif records.table != "turns" or not rollout.has_turns:
                yield {**row, "sample": rollout.id}

    def _read(self, steps: set[int]) -> None:
        """Ask the run for its own rollouts at steps."""
        if len(self._steps) > MOST_STEPS:
            self._steps.clear()
        if not (steps := steps - self._steps.keys()):
            return
        if not self._is_new:
            self._refresh()
            self._is_new = True
        self._steps.update({step: {} for step in steps})
        if asked := steps & self._own_steps:
            with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: then nothing is known
                self._ask(asked)

    def _ask(self, steps: set[int]) -> None:
        assert self._run is not None
        where = f"step IN ({', '.join(map(str, sorted(steps)))}) AND completion IS NOT NULL AND {self._own}"
        has = ", ".join(f'"{name}" IS NOT NULL AS "has {name}"' for name in NAMES)
        found = self._run.sql(
            f"SELECT id, step, split, prompt, completion, {has} FROM samples WHERE {where} ORDER BY id"
        )
        with_turns = self._with_turns(steps)
        rows = zip(*(found[name] for name in ("id", "step", "split", "prompt", "completion")), strict=True)
        for i, (id, step, split, prompt, completion) in enumerate(rows):
            known = frozenset(name for name in NAMES if found[f"has {name}"][i])
            same = self._steps[int(step)].setdefault(_words(completion), [])
            same.append(Rollout(str(id), _words(prompt), split, known, str(id) in with_turns))

    def _with_turns(self, steps: set[int]) -> set[str]:
        """The rollouts of steps of which the run has the turns, not only how many there were."""
        assert self._run is not None
        if not self._run.has("turns"):
            return set()
        of_steps = f"step IN ({', '.join(map(str, sorted(steps)))})"
        of_own = f"SELECT id FROM samples WHERE {of_steps} AND {self._own}"
        found = self._run.sql(f"SELECT DISTINCT sample FROM turns WHERE sample IN ({of_own}) AND {self._own}")
        return set(map(str, found["sample"]))

    def _refresh(self) -> None:
        """Find out at which steps the run has rollouts of its own.

        This reads what was imported, too: where that takes long and finds none, it is done seldom.
        """
        if time.monotonic() < self._look_at:
            return
        began = time.monotonic()
        with contextlib.suppress(RollscopeError, OSError):
            from rollscope.store.store import open as open_runs  # DuckDB

            self._run = open_runs(str(self._folder.parent)).run(self._folder.name) if self._run is None else self._run
            self._run.refresh()
            imports = ", ".join(f"'{writer}'" for writer in guests(self._folder))
            self._own = f"writer NOT IN ({imports})" if imports else "true"
            found = self._run.sql(f"SELECT DISTINCT step FROM samples WHERE step IS NOT NULL AND {self._own}")
            self._own_steps = set(map(int, found["step"]))
        took = time.monotonic() - began
        if took > LONG and not self._own_steps:
            self._look_at = time.monotonic() + RESTS * took


def _rest(row: Mapping[str, Any], rollout: Rollout) -> dict[str, Any]:
    """What a row adds to a rollout."""
    new = {name: value for name, value in row.items() if name in ALWAYS or name not in rollout.has}
    return {**new, "id": rollout.id}


def _words(text: Any) -> str:
    """Letters and digits: templates and special tokens differ in the rest."""
    return re.sub(r"[\W_]+", "", str(text)) if text is not None else ""


def _step(row: Mapping[str, Any]) -> int | None:
    return step if isinstance(step := row.get("step"), int) else None
