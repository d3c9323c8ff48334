"""What the run's own recording has of rollouts, and what imports into it wrote of others."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollscope.errors import RollscopeError
from rollscope.sources.intake.cursors import guests
from rollscope.store import schema

from .rollout import Rollout, words
from .same import Same

if TYPE_CHECKING:
    from rollscope.store.run import Run

NAMES = [column.name for column in schema.SAMPLES if column.name not in ("run", "writer", "attempt")]
TOLD = ("id", "step", "split", "prompt", "completion")  # what rollouts are known by
TEXT = "completion IS NOT NULL"
LONG = 0.2  # seconds that a look for rollouts of the run may take
RESTS = 50  # times as long as such a look is the rest after it


class Own:
    """Samples of the run that no import made, or that a row of an import was for."""

    def __init__(self, folder: Path, same: Same) -> None:
        self._folder, self._same = folder, same
        self._run: Run | None = None
        self._guests: list[str] = []
        self._look_at = 0.0
        self.counts: dict[int, int] = {}  # step -> samples that no import wrote to last

    @property
    def run(self) -> Run:
        assert self._run is not None
        return self._run

    @property
    def guests(self) -> list[str]:
        """The writers of imports."""
        return self._guests

    def refresh(self, over: bool = False) -> None:
        """Find out at which steps the run has rollouts of its own.

        This reads what was imported, too: where that takes long and finds none, it is done seldom,
        but for once if it is `over`.
        """
        if time.monotonic() < self._look_at and not over:
            return
        began = time.monotonic()
        with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: then nothing is known
            from rollscope.store.store import open as open_runs  # DuckDB

            self._run = open_runs(str(self._folder.parent)).run(self._folder.name) if self._run is None else self._run
            self._run.refresh()
            self._guests = guests(self._folder)
            where = f"step IS NOT NULL AND {self._not_of_guests}"
            found = self._run.sql(f"SELECT step, count(*) AS n FROM samples WHERE {where} GROUP BY step")
            self.counts = dict(zip(map(int, found["step"]), map(int, found["n"]), strict=True))
        took = time.monotonic() - began
        if took > LONG and not self.counts:
            self._look_at = time.monotonic() + RESTS * took

    def of_steps(self, steps: Collection[int]) -> dict[int, dict[str, list[Rollout]]]:
        """Step -> completion -> the run's own rollouts that no row was for."""
        found: dict[int, dict[str, list[Rollout]]] = {step: {} for step in steps}
        asked = [step for step in steps if step in self.counts]
        if asked:
            with contextlib.suppress(RollscopeError, OSError):
                own, theirs = self._ids(asked)
                untold = own - theirs
                for step, completion, rollout in self._ask(f"step IN ({_listed(asked)}) AND {TEXT}"):
                    if rollout.id in untold and not self._same.is_met(rollout.id):
                        found[int(step)].setdefault(completion, []).append(rollout)
        return found

    def of_ids(self, ids: Sequence[str]) -> dict[str, Rollout]:
        """Samples of the run by id, also those that an import wrote to last."""
        if self._run is None or not ids:
            return {}
        return {rollout.id: rollout for _, _, rollout in self._ask(f"id IN ({quoted(ids)})")}

    def strangers(self, steps: Collection[int]) -> list[dict[str, Any]]:
        """What imports wrote at steps, and no row of the run's own recording is known for."""
        own, theirs = self._ids(steps) if self._guests and steps else (set(), set())
        ids = sorted(id for id in theirs - own if not self._same.is_met(id))
        if not ids:
            return []
        rows = self.run.sql(f"SELECT {', '.join(TOLD)} FROM samples WHERE id IN ({quoted(ids)}) ORDER BY id")
        found = [dict(zip(TOLD, row, strict=True)) for row in zip(*(rows[name] for name in TOLD), strict=True)]
        return [{**row, "step": int(row["step"])} for row in found]

    def _ids(self, steps: Collection[int]) -> tuple[set[str], set[str]]:
        """The samples of steps that the run's own recording has rows of, and those of imports."""
        rows = self.run.rows_of_steps("samples", sorted(steps))
        own: set[str] = set()
        theirs: set[str] = set()
        for id, writer in zip(rows["id"].to_pylist(), rows["writer"].to_pylist(), strict=True):
            (theirs if writer in self._guests else own).add(str(id))
        return own, theirs

    @property
    def _not_of_guests(self) -> str:
        return f"writer NOT IN ({quoted(self._guests)})" if self._guests else "true"

    def _ask(self, where: str) -> Iterator[tuple[Any, str, Rollout]]:
        has = ", ".join(f'"{name}" IS NOT NULL AS "has {name}"' for name in NAMES)
        found = self.run.sql(f"SELECT {', '.join(TOLD)}, {has} FROM samples WHERE {where} ORDER BY id")
        with_turns = self._with_turns(where)
        for i, (id, step, split, prompt, completion) in enumerate(zip(*(found[name] for name in TOLD), strict=True)):
            known = frozenset(name for name in NAMES if found[f"has {name}"][i])
            said = words(completion)
            yield step, said, Rollout(str(id), words(prompt), split, known, str(id) in with_turns, said)

    def _with_turns(self, where: str) -> set[str]:
        """The rollouts of which the run has the turns, not only how many there were."""
        if not self.run.has("turns"):
            return set()
        chosen = f"sample IN (SELECT id FROM samples WHERE {where})"
        found = self.run.sql(f"SELECT DISTINCT sample FROM turns WHERE {chosen} AND {self._not_of_guests}")
        return set(map(str, found["sample"]))


def _listed(steps: Collection[int]) -> str:
    return ", ".join(map(str, sorted(steps)))


def quoted(texts: Collection[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
