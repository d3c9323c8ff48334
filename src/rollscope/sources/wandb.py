"""W&B's offline run files (`run-<id>.wandb`), read without wandb.

They hold history, configuration, system metrics, console output and the exit code. The step is
W&B's `_step`, unless the run declared another x axis with `define_metric`, as Hugging Face does
with `train/global_step`: rows that have it are put at that step. Values with an axis of their own,
by name or by a glob such as `val/*`, are at its steps. A null is no data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.capture.axes import AXES, Axes, Placed
from rollscope.sources.files import leveldb, wire
from rollscope.sources.files.inside import inside
from rollscope.sources.intake.gather import ByClock, number, run_id, whole
from rollscope.sources.intake.grown import Grown
from rollscope.sources.intake.guess import origin
from rollscope.sources.intake.tables import samples

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped

NAMES = ("wandb", "weights & biases")
HEAD = b":W&B"
MANY = 200_000  # values between two marks
DOTS = 8  # levels of a name that are looked at
PER_ROW = 10  # a row of another table counts as so many values
HISTORY, OUTPUT, STATS, METRIC, OUTPUT_RAW, RUN, EXIT, CONFIG = 2, 4, 7, 12, 13, 17, 18, 5  # fields of a record
ITEM = re.compile(  # a key and a value of a history row, each with its one-byte length
    rb"\n[\x00-\x7f]\x12[\x00-\x7f]([\x20-\x7e]{1,127})\x82\x01[\x00-\x7f]"
    rb"(-?[0-9][-+.0-9eE]{0,126}|\"[^\"\\]{0,126}\"|null|NaN|-?Infinity|true|false)"
)


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".wandb":
        return False
    with path.open("rb") as file:
        return file.read(4) == HEAD


def rows(path: Path, since: Since) -> Iterator[Item]:
    reader = _Reader(path)
    id = run_id(reader.id, "wandb", reader.id)
    cursor = since.get(id) or {"at": 7}
    if cursor["at"] > path.stat().st_size:
        yield RunStart(id=id, kind=NAMES[0])
        yield Restart("the file is shorter than at the last import; it is read from the start")
        cursor = {"at": 7}
    reader.axes.restore(cursor)
    reader.tables.restore(cursor)
    yield from reader.read(id, cursor["at"])


class _Reader:
    """Collects the records of a file until they are flushed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.stem.removeprefix("run-")
        self.facts: dict[str, Any] = {"name": self.id, "project": "wandb"}
        self.config: dict[str, Any] = {}
        self.axes, self.tables = Axes(), Grown()
        self._names: set[str] = set()
        self._lines: list[dict[str, Any]] = []
        self._host: list[dict[str, Any]] = []
        self._samples: list[dict[str, Any]] = []

    def read(self, id: str, start: int) -> Iterator[Item]:
        gather, total, at, started = ByClock(self.path), self.path.stat().st_size, start, False
        with self.path.open("rb") as file:
            for record in leveldb.records(file, start):
                if isinstance(record, leveldb.Bad):
                    yield Skipped(record.why, self.path, record.offset)
                    continue
                at = record.end
                try:
                    self._take(record.data, gather)
                except wire.UNEXPECTED as error:
                    yield Skipped(f"a record is not understood ({error})", self.path, record.offset)
                if gather.count + PER_ROW * self._rows() >= MANY:
                    yield self._run(id)
                    started = True
                    yield from self._flush(gather)
                    yield Mark({"at": at, **self.axes.state, **self.tables.state}, at, total)
        if not started or gather.count or self._rows():
            yield self._run(id)
        yield from self._flush(gather)
        yield from gather.skipped()
        yield Mark({"at": at, **self.axes.state, **self.tables.state}, at, total)

    def _rows(self) -> int:
        return len(self._lines) + len(self._host) + len(self._samples)

    def _run(self, id: str) -> RunStart:
        about = origin(self._names, self.config)
        return RunStart(id=id, kind=NAMES[0], facts={**self.facts, **about, "config": self.config or None})

    def _flush(self, gather: ByClock) -> Iterator[Item]:
        yield from gather.points()
        for table, collected in (("notes", self._lines), ("host", self._host), ("samples", self._samples)):
            if collected:
                yield Records(table, list(collected))
                collected.clear()

    def _take(self, data: bytes, gather: ByClock) -> None:
        for field, value in wire.fields(data):
            if field == HISTORY:
                self._history(value, gather)
            elif field == RUN:
                self._about(value)
            elif field == CONFIG:
                self._configure(value)
            elif field == METRIC:
                self._axis(value)
            elif field == STATS:
                self._stats(value)
            elif field in (OUTPUT, OUTPUT_RAW):
                self._output(value)
            elif field == EXIT:
                code = wire.signed(wire.first(value, 1, 0))
                self.facts |= {"state": "crashed", "reason": f"exit code {code}"} if code else {"state": "finished"}

    def _history(self, data: bytes, gather: ByClock) -> None:
        row = fast_items(data) or items(data)
        step, time_s = row.pop("_step", None), row.pop("_timestamp", None)
        row.pop("_runtime", None)
        media, time_ns = _media_of(row), round((number(time_s) or 0) * 1e9)
        for (at, clock), values in self.axes.place({**row, **media}, whole(step) or 0):
            for name in values.keys() & media.keys():
                self._media(name, values.pop(name), (at, clock), time_ns, gather)
            values.pop(AXES[0], None)
            self._names.update(values)
            # W&B writes the names of a row in any order; sorted, the rows fit into one matrix.
            gather.add(clock, at, time_ns, dict(sorted(values.items())))

    def _media(self, name: str, about: dict[str, Any], placed: Placed, time_ns: int, gather: ByClock) -> None:
        """Turn a table of generated text into samples; report other media as skipped."""
        file = inside(self.path.parent / "files", str(about.get(f"{name}.path")))
        generated, first = list[dict[str, Any]](), 0
        if str(about.get(f"{name}._type")).endswith("table-file") and file is not None:
            table = json.loads(file.read_text(encoding="utf-8"))
            columns, data = table["columns"], table["data"]
            first = self.tables.first_new(name, columns, data)
            generated = list(samples(columns, data[first:], f"{name}/{file.stem}", placed[0], time_ns, first))
        self._samples += generated
        if not generated and not first:
            gather.add(placed[1], placed[0], time_ns, {name: about})

    def _about(self, data: bytes) -> None:
        parts = dict(wire.fields(data))
        project, name, group = wire.text(data, 3), wire.text(data, 8), wire.text(data, 6)
        self.facts |= {"name": name or self.id, "project": project or "wandb", "group": group or None}
        tags = [value.decode("utf-8", "replace") for field, value in wire.fields(data) if field == 10]
        if tags:
            self.facts["tags"] = tags
        if 17 in parts:
            self.facts["started_ns"] = wire.timestamp_ns(parts[17])
        if 4 in parts:
            self._configure(parts[4])

    def _configure(self, data: bytes) -> None:
        for field, item in wire.fields(data):
            if field == 1:
                key, value = _item(item)
                described = isinstance(value, dict) and set(value) == {"value", "desc"}
                if key != "_wandb":
                    self.config[key] = value.get("value") if described else value
        self.axes.configure(self.config)

    def _axis(self, data: bytes) -> None:
        name, glob, axis = wire.text(data, 1), wire.text(data, 2), wire.text(data, 4)
        self.axes.define(glob or name, axis)

    def _stats(self, data: bytes) -> None:
        time_ns = wire.timestamp_ns(wire.first(data, 2, b""))
        for field, item in wire.fields(data):
            if field == 3:
                name, value = wire.text(item, 1), number(json.loads(wire.text(item, 16) or "null"))
                device = name.rpartition(".")[0] or "system"
                if value is not None:
                    self._host.append({"time_ns": time_ns, "device": device, "name": name, "value": value})

    def _output(self, data: bytes) -> None:
        if line := wire.text(data, 3).rstrip("\n"):
            self._lines.append({"text": line, "kind": "output", "time_ns": wire.timestamp_ns(wire.first(data, 2, b""))})


def _media_of(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Take tables and pictures out of a row: the values beside a key `name._type`, by name."""
    media: dict[str, dict[str, Any]] = {name.removesuffix("._type"): {} for name in row if name.endswith("._type")}
    for key in list(row) if media else ():
        if (name := next((part for part in _prefixes(key) if part in media), None)) is not None:
            media[name][key] = row.pop(key)
    return media


def _prefixes(key: str) -> Iterator[str]:
    """The key up to each of its first dots."""
    at = key.find(".")
    for _ in range(DOTS):
        if at < 0:
            return
        yield key[:at]
        at = key.find(".", at + 1)


def fast_items(data: bytes) -> dict[str, Any] | None:
    """A usual history row (small numbers), matched with one pattern; None for any other row."""
    covered = 0
    row: dict[str, Any] = {}
    while match := ITEM.match(data, covered):
        covered = match.end()
        key, value = match.groups()
        row[key.decode()] = float(value) if value[0] not in b'"ntfN' else json.loads(value)
    tail = data[covered:]
    return row if row and tail[:1] in (b"", b"\x12") and len(tail) < 16 else None  # the step message may follow


def items(data: bytes) -> dict[str, Any]:
    """Any history row."""
    row = dict(_item(item) for field, item in wire.fields(data) if field == 1)
    step = wire.first(data, 2)
    if step is not None and "_step" not in row:
        row["_step"] = wire.signed(wire.first(step, 1, 0))
    return row


def _item(data: bytes) -> tuple[str, Any]:
    key, nested, value = "", [], None
    for field, raw in wire.fields(data):
        if field == 1:
            key = raw.decode("utf-8", "replace")
        elif field == 2:
            nested.append(raw.decode("utf-8", "replace"))
        elif field == 16:
            value = json.loads(raw)
        elif field == 6:
            value = wire.double(raw)
        elif field == 5:
            value = (raw >> 1) ^ -(raw & 1)  # zigzag
        elif field == 4:
            value = bool(raw)
        elif field == 7:
            value = raw.decode("utf-8", "replace")
    return key or ".".join(nested), value
