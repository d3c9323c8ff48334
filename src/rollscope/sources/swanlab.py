"""SwanLab's run files (`run-<id>.swanlab`), read without SwanLab: scalars, output, state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.files import leveldb, wire
from rollscope.sources.intake.gather import Gather, run_id
from rollscope.sources.intake.guess import origin

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped

NAMES = ("swanlab",)
HEAD = b":SWL"
MANY = 200_000  # values between two marks
PER_ROW = 10  # a row of another table counts as so many values
START, FINISH, SCALAR, MEDIA, LOG = 10, 11, 13, 14, 16  # fields of a record


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".swanlab":
        return False
    with path.open("rb") as file:
        return file.read(4) == HEAD


def rows(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem.removeprefix("run-"), "swanlab", path.stem)
    at, total = (since.get(id) or {"at": 7})["at"], path.stat().st_size
    if at > total:
        yield RunStart(id=id, kind=NAMES[0])
        yield Restart("the file is shorter than at the last import; it is read from the start")
        at = 7
    content = _Content(path)
    with path.open("rb") as file:
        for record in leveldb.records(file, at):
            if isinstance(record, leveldb.Bad):
                yield Skipped(record.why, path, record.offset)
                continue
            at = record.end
            try:
                content.add(record.data)
            except wire.UNEXPECTED as error:
                yield Skipped(f"a record is not understood ({error})", path, record.offset)
            if content.numbers.count + PER_ROW * content.rows() >= MANY:
                yield content.run(id)
                yield from content.flush()
                yield Mark({"at": at}, at, total)
    yield content.run(id)
    yield from content.flush()
    yield from content.numbers.skipped()
    yield Mark({"at": at}, at, total)


class _Content:
    """Collects the records of a file until they are flushed."""

    def __init__(self, path: Path) -> None:
        self.numbers = Gather(path)
        self._facts: dict[str, Any] = {"name": path.stem.removeprefix("run-"), "project": "swanlab"}
        self._names: set[str] = set()
        self._lines: list[dict[str, Any]] = []
        self._calls: dict[tuple[int, int], dict[str, Any]] = {}  # scalars of one log call share step and time

    def add(self, data: bytes) -> None:
        for field, value in wire.fields(data):
            if field == SCALAR:
                self._scalar(value)
            elif field == MEDIA:
                self.numbers.add(0, 0, {wire.text(value, 1): {"media": True}})  # is reported as skipped
            elif field == START:
                self._start(value)
            elif field == FINISH:
                self._finish(value)
            elif field == LOG:
                time_ns = wire.timestamp_ns(wire.first(value, 3, b""))
                self._lines.append({"text": wire.text(value, 1), "kind": "output", "time_ns": time_ns})

    def _scalar(self, data: bytes) -> None:
        parts = dict(wire.fields(data))
        call = (wire.signed(parts.get(2, 0)), wire.timestamp_ns(parts.get(4, b"")))
        if call not in self._calls:
            self._finish_call()
        name = parts[1].decode("utf-8", "replace")
        self._names.add(name)
        self._calls.setdefault(call, {})[name] = wire.double(wire.first(parts.get(5, b""), 1, bytes(8)))

    def _start(self, data: bytes) -> None:
        parts = dict(wire.fields(data))
        facts = {"project": wire.text(data, 1), "name": wire.text(data, 4), "group": wire.text(data, 7)}
        self._facts |= {key: value for key, value in facts.items() if value}
        if 12 in parts:
            self._facts["started_ns"] = wire.timestamp_ns(parts[12])

    def _finish(self, data: bytes) -> None:
        if wire.first(data, 1, 0) == 1:
            self._facts |= {"state": "finished"}
        else:
            self._facts |= {"state": "crashed", "reason": wire.text(data, 2) or None}

    def _finish_call(self) -> None:
        for (step, time_ns), values in self._calls.items():
            self.numbers.add(step, time_ns, values)
        self._calls.clear()

    def rows(self) -> int:
        return len(self._lines)

    def run(self, id: str) -> RunStart:
        self._finish_call()
        return RunStart(id=id, kind=NAMES[0], facts={**self._facts, **origin(self._names)})

    def flush(self) -> Iterator[Item]:
        self._finish_call()
        yield from self.numbers.points()
        if self._lines:
            yield Records("notes", list(self._lines))
            self._lines.clear()
