"""SwanLab's run files (`run-<id>.swanlab`), read without SwanLab: scalars, console output, how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.files import leveldb, wire
from rollscope.sources.intake.gather import Gather, run_id
from rollscope.sources.intake.guess import algorithm, framework

from . import Item, Mark, Records, Restart, Run, Since, Skipped

NAMES = ("swanlab",)
HEAD = b":SWL"
MANY = 200_000
START, FINISH, SCALAR, MEDIA, LOG = 10, 11, 13, 14, 16


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".swanlab":
        return False
    with path.open("rb") as file:
        return file.read(4) == HEAD


def rows(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem.removeprefix("run-"), "swanlab", path.stem)
    at, total = (since.get(id) or {"at": 7})["at"], path.stat().st_size
    if at > total:
        yield Run(id=id, kind=NAMES[0])
        yield Restart("the file is shorter than when it was last imported: it is read anew")
        at = 7
    taker = _Taker(path)
    with path.open("rb") as file:
        for record in leveldb.records(file, at):
            if isinstance(record, leveldb.Bad):
                yield Skipped(record.why, path, record.offset)
                continue
            at = record.end
            try:
                taker.take(record.data)
            except wire.ODD as error:
                yield Skipped(f"a record is not understood ({error})", path, record.offset)
            if taker.numbers.count >= MANY:
                yield taker.run(id)
                yield from taker.flush()
                yield Mark({"at": at}, at, total)
    yield taker.run(id)
    yield from taker.flush()
    yield from taker.numbers.skipped()
    yield Mark({"at": at}, at, total)


class _Taker:
    def __init__(self, path: Path) -> None:
        self.numbers = Gather(path)
        self._facts: dict[str, Any] = {"name": path.stem.removeprefix("run-"), "project": "swanlab"}
        self._names: set[str] = set()
        self._lines: list[dict[str, Any]] = []
        self._calls: dict[tuple[int, int], dict[str, Any]] = {}  # scalars of one log call, which share step and time

    def take(self, data: bytes) -> None:
        for field, value in wire.fields(data):
            if field == SCALAR:
                parts = dict(wire.fields(value))
                key = (wire.signed(parts.get(2, 0)), wire.timestamp_ns(parts.get(4, b"")))
                if key not in self._calls:
                    self._settle()
                name = parts[1].decode("utf-8", "replace")
                self._names.add(name)
                self._calls.setdefault(key, {})[name] = wire.double(wire.first(parts.get(5, b""), 1, bytes(8)))
            elif field == MEDIA:
                self.numbers.add(0, 0, {wire.text(value, 1): {"media": True}})  # said to be left out
            elif field == START:
                self._begin(value)
            elif field == FINISH:
                self._facts |= (
                    {"state": "finished"}
                    if wire.first(value, 1, 0) == 1
                    else {"state": "crashed", "reason": wire.text(value, 2) or None}
                )
            elif field == LOG:
                self._lines.append(
                    {
                        "text": wire.text(value, 1),
                        "kind": "output",
                        "time_ns": wire.timestamp_ns(wire.first(value, 3, b"")),
                    }
                )

    def _begin(self, data: bytes) -> None:
        parts = dict(wire.fields(data))
        told = {"project": wire.text(data, 1), "name": wire.text(data, 4), "group": wire.text(data, 7)}
        self._facts |= {key: value for key, value in told.items() if value}
        if 12 in parts:
            self._facts["started_ns"] = wire.timestamp_ns(parts[12])

    def _settle(self) -> None:
        for (step, time_ns), values in self._calls.items():
            self.numbers.add(step, time_ns, values)
        self._calls.clear()

    def run(self, id: str) -> Run:
        self._settle()
        found = framework(self._names)
        return Run(id=id, kind=NAMES[0], facts={**self._facts, "framework": found, "algorithm": algorithm(found)})

    def flush(self) -> Iterator[Item]:
        self._settle()
        yield from self.numbers.points()
        if self._lines:
            yield Records("notes", list(self._lines))
            self._lines.clear()
