"""A run whose folder changes as real ones do: it grows, is sealed, merged and resumed.

`check_same` holds what a lake has of it against the folder: every row, and every byte.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs
from rollscope.lake.cache import bringing
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pushed, Pusher
from rollscope.store.log import block
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter
from rollscope.store.schema import TABLES
from rollscope.store.seal import compact, logs
from rollscope.store.sealed import elsewhere

T0 = 1_700_000_000_000_000_000


class Life:
    """A run of two writers. `grow` adds rows of every table; a number decides what comes next."""

    def __init__(self, root: Path, run: str = "r1", seed: int = 0) -> None:
        self.root, self.path, self.random = root, root / run, random.Random(seed)
        self.path.mkdir(parents=True)
        self.attempts = [{"attempt": 1, "started_ns": T0, "resumed_from": None}]
        self.step, self.written, self.texts = 0, 0, 0
        self._facts()
        self._begin()

    def _facts(self) -> None:
        facts = {"id": self.path.name, "name": "life", "project": "p/1", "started_ns": T0, "tags": ["a"]}
        aside = self.path / ".run.json"
        aside.write_text(json.dumps({**facts, "attempt": len(self.attempts), "attempts": self.attempts}))
        aside.replace(self.path / "run.json")

    def _begin(self) -> None:
        attempt = len(self.attempts)
        self.names = [f"{attempt * 16 + number:016x}" for number in range(2)]
        self.seqs, self.logs = [0, 0], [self._open(writer, 0) for writer in self.names]

    def _open(self, writer: str, seq: int) -> LogWriter:
        log = LogWriter(self.path / file_name(writer, seq))
        log.append(
            [block.meta("open", {"writer": writer, "pid": 0, "host": "elsewhere", "attempt": len(self.attempts)})]
        )
        return log

    def grow(self, rows: int = 4) -> None:
        """One step of both writers; some samples get another row, also from the other writer."""
        self.step += 1
        for number, log in enumerate(self.logs):
            same = {"run": self.path.name, "writer": self.names[number], "attempt": len(self.attempts)}
            log.append([self._metrics(number)])
            for table, found in self._tables(number, rows).items():
                log.append([block.table(table, found, same)])
        self.written += 1

    def _metrics(self, number: int) -> bytes:
        values = {"loss": 1 / self.step, "odd": [float("nan"), float("inf"), -0.0][self.step % 3]}
        row = np.array(
            [(self.step, T0 + self.step * 10**9 + number, list(values.values()))], block.row_type(2)
        ).tobytes()
        labels = block.Labels(attempt=len(self.attempts), rank=number)
        return block.wide(list(values), ["scalar"] * 2, row, labels, None)

    def _tables(self, number: int, rows: int) -> dict[str, Sequence[Mapping[str, Any]]]:
        now, step = T0 + self.step * 10**9 + number, self.step
        new = [{"id": f"{step}-{number}-{i}", "step": step, "time_ns": now, "prompt": f"p{i}"} for i in range(rows)]
        for sample in new:
            sample |= {"completion": f"é {step} \x00 \ud800" if step % 7 == 0 else "text", "logp": [0.1, float("nan")]}
        again = [
            {"id": f"{self.random.randint(1, step)}-{self.random.randint(0, 1)}-{i}", "time_ns": now, "reward": i / 3}
            for i in range(2)
        ]
        return {
            "samples": [*new, *again],
            "turns": [{"sample": new[0]["id"], "turn": 0, "step": step, "time_ns": now, "content": "c"}],
            "spans": [{"id": step, "name": "work", "lane": "t/0", "start_ns": now, "end_ns": now + 9, "step": step}],
            "steps": [{"step": step, "time_ns": now, "tokens": 10 * step}],
            "evals": [{"step": step, "set": "s", "task": "t", "scores": {"ok": 1.0}, "time_ns": now}],
            "notes": [{"step": step, "text": "n", "time_ns": now}],
        }

    def rotate(self) -> None:
        """Each writer begins its next log."""
        for number, log in enumerate(self.logs):
            self._close(log)
            self.seqs[number] += 1
            self.logs[number] = self._open(self.names[number], self.seqs[number])

    def _close(self, log: LogWriter) -> None:
        log.append([block.meta("end", {})])
        log.close()

    def resume(self) -> None:
        """The run is cut, and goes on from an earlier step."""
        for log in self.logs:
            log.close()
        self.step = self.random.randint(self.step // 2, self.step)
        self.attempts.append({"attempt": len(self.attempts) + 1, "started_ns": T0, "resumed_from": self.step})
        self._facts()
        self._begin()

    def seal(self, force: bool = False) -> None:
        logs.seal(str(self.path), force=force)

    def compact(self) -> None:
        compact.compact(str(self.path), everything=True)

    def happen(self) -> None:
        """Something that happens to a run, at random."""
        acts = [self.rotate, self.seal, lambda: self.seal(True), self.compact, self.resume]
        for _ in range(self.random.randint(1, 3)):
            self.grow()
        if self.random.random() < 0.5:
            self.random.choice(acts)()

    def end(self) -> None:
        for log in self.logs:
            self._close(log)


def pushed(place: Place, life: Life) -> Pushed:
    return Pusher(place, str(life.path)).push()


def rows(store: Any, table: str, run: str) -> list[str]:
    """A run's rows of a table as texts, in order, without the project, which a lake adds."""
    left_out = {"project", "state", "writer" if table == "samples" else ""}  # compacting may change a sample's writer
    columns = ", ".join(f'"{column.name}"' for column in TABLES[table] if column.name not in left_out)
    whose = "id" if table == "runs" else "run"
    answer = store.sql(f"SELECT {columns} FROM {table} WHERE {whose} = '{run}'", as_arrow=True)
    if "escaped" in answer.column_names:
        answer = answer.drop_columns(["escaped"])
    return sorted(map(repr, answer.to_pylist()))


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder that belongs to the run."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = {path: path.relative_to(folder) for path in found}
    own = {path: name for path, name in names.items() if not any(part.startswith(".") for part in name.parts)}
    return {str(name): path.read_bytes() for path, name in own.items()}


def fetch_all(folder: Path) -> None:
    """Read every file of a run in the cache, so that it is there."""
    for path in folder.glob("*.sealed"):
        for name in bringing.listed(str(path)):
            elsewhere.check(str(path / name))


def check_same(place: Place, life: Life, tables: Sequence[str] = tuple(TABLES)) -> None:
    """The lake has the rows and the bytes of the run, and nothing else of it."""
    local, lake = rs.open(life.root), rs.open(place.folder)
    for table in tables:
        there, here = (Counter(rows(store, table, life.path.name)) for store in (lake, local))
        assert there == here, f"{table}: too many {there - here}, lacking {here - there}"
    folder = Path(lake.run(life.path.name).path)
    fetch_all(folder)
    assert files(folder) == files(life.path)
