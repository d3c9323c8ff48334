"""A run's folder, written block by block as the recorder would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.catalog.partials.partial import Partial
from rollscope.store.log import block
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter

T0 = 1_700_000_000_000_000_000


class Writer:
    """One process of a run: what it logs is in its file at once."""

    def __init__(self, folder: Path, writer: str, seq: int = 0, attempt: int = 1, rank: int = 0) -> None:
        self.folder, self.writer, self.attempt, self.rank = folder, writer, attempt, rank
        self.same = {"run": folder.name, "writer": writer, "attempt": attempt}
        self._open(seq)

    def _open(self, seq: int) -> None:
        self.seq = seq
        self.path = self.folder / file_name(self.writer, seq)
        self.log = LogWriter(self.path)
        self.log.append([block.meta("open", {"writer": self.writer, "pid": 0, "host": "elsewhere", "rank": self.rank})])

    def rotate(self) -> None:
        self.finish()
        self._open(self.seq + 1)

    def metrics(self, step: int, values: Mapping[str, Any], time_ns: int | None = None, **labels: Any) -> None:
        time = T0 + step * 10**9 if time_ns is None else time_ns
        label = block.Labels(attempt=self.attempt, rank=self.rank, **labels)
        numbers = [float(v) for v in values.values()]
        rows = np.array([(step, time, numbers)], block.row_type(len(values))).tobytes()
        kinds = [
            v.kind if isinstance(v, Partial) else "int" if isinstance(v, int) else "scalar" for v in values.values()
        ]
        partials = None
        if set(kinds) != {"scalar"}:
            partials = block.Partials()
            for value in values.values():
                state = (
                    value.state()
                    if isinstance(value, Partial)
                    else (float(value >> 32), float(value & 0xFFFFFFFF))
                    if isinstance(value, int)
                    else ()
                )
                partials.weights.append(value.weight if isinstance(value, Partial) else float("nan"))
                partials.lengths.append(len(state))
                partials.states += state
        self.log.append([block.wide(list(values), kinds, rows, label, partials)])

    def rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self.log.append([block.table(table, rows, self.same)])

    def finish(self) -> None:
        self.log.append([block.meta("end", {})])
        self.log.close()


class World:
    """A folder of runs with one run in it."""

    def __init__(self, path: Path) -> None:
        self.root, self.run = path, path / "r1"
        self.run.mkdir()
        facts = {"id": "r1", "name": "first", "project": "p", "started_ns": T0, "config": {"lr": 1e-6}, "declared": {}}
        (self.run / "run.json").write_text(json.dumps(facts))

    def writer(self, number: int = 1, **more: Any) -> Writer:
        return Writer(self.run, f"{number:016x}", **more)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
