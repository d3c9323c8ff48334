"""A second reader of a run's folder, written from docs/format.md and from nothing else:
it imports nothing of Rollscope.

Rows are dicts and every rule is written as the page says it; nothing here is fast. `test_format.py`
holds the page and the store to it.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

MAGIC = bytes.fromhex("f152534c4f47310a")
NULL = 0xFFFFFFFF
ITEMS = {"float64[]": "<f8", "int64[]": "<i8", "float32[]": "<f4"}
JSON = {
    "runs": ("tags", "config", "environment", "declared"),
    "samples": ("rewards", "sample_metrics", "tags", "media", "extra", "messages", "tokens"),
    "spans": ("data", "causes"),
    "evals": ("scores",),
    "findings": ("evidence",),
    "notes": ("data",),
}
Row = dict[str, Any]
Header = tuple[int, int, int, int]  # salt, number, length, checksum of the payload


def header(data: bytes, at: int, salt: int | None) -> Header | None:
    """The header at an offset, if it holds."""
    if len(data) < at + 32 or data[at : at + 8] != MAGIC:
        return None
    own, number, length, crc, check = struct.unpack_from("<QIIII", data, at + 8)
    holds = check == zlib.crc32(data[at : at + 28]) and length % 8 == 0 and salt in (None, own)
    return (own, number, length, crc) if holds else None


def search(data: bytes, at: int, salt: int | None) -> int | None:
    """The next offset at which a header holds."""
    while (at := data.find(MAGIC, at)) >= 0:
        if header(data, at, salt):
            return at
        at += 1
    return None


def frames(data: bytes, start: int = 0) -> tuple[list[tuple[int, bytes]], list[tuple[int, int]]]:
    """Offset and payload of every block from `start` on; offset and length of what could not be
    read.
    """
    first = search(data, 0, None)
    opening = header(data, first or 0, None)
    salt, at, last = opening and opening[0], start, -1
    blocks: list[tuple[int, bytes]] = []
    damage: list[tuple[int, int]] = []
    while at < len(data):
        found = header(data, at, salt)
        payload = data[at + 32 : at + 32 + found[2]] if found else b""
        if found and len(payload) == found[2] and zlib.crc32(payload) == found[3]:
            if found[1] > last:
                last = found[1]
                blocks.append((at, payload))
            at += 32 + len(payload)
            continue
        after = search(data, at + (32 if found else 1), salt)
        rest = data[at:]
        if after is None and (len(payload) < found[2] if found else len(rest) < 32 and rest[:8] == MAGIC[: len(rest)]):
            break  # a tail that is still being written
        after = (at + 32 + found[2] if found else len(data)) if after is None else after
        damage.append((at, after - at))
        at = after
    return blocks, damage


def unpack(payload: bytes) -> tuple[Row, list[bytes]]:
    (length,) = struct.unpack_from("<I", payload)
    head: Row = json.loads(payload[4 : 4 + length])
    at, parts = 4 + length, []
    for size in head["parts"]:
        at += -at % 8
        parts.append(payload[at : at + size])
        at += size
    return head, parts


def pieces(lengths: bytes, data: Any) -> list[Any]:
    """`data` cut into pieces of these lengths; None where the length says null."""
    found, at = [], 0
    for size in np.frombuffer(lengths, "<u4").tolist():
        found.append(None if size == NULL else data[at : at + size])
        at += 0 if size == NULL else size
    return found


def texts(lengths: bytes, data: bytes) -> list[str | None]:
    return [None if piece is None else piece.decode("utf-8", "surrogatepass") for piece in pieces(lengths, data)]


def column(type: str, encoding: str, rows: int, parts: list[bytes], const: Any) -> list[Any]:
    if encoding == "const":
        return [const] * rows
    if encoding == "dict":
        words = texts(parts[1], parts[2])
        return [None if i == NULL else words[i] for i in np.frombuffer(parts[0], "<u4").tolist()]
    if type in ITEMS:
        return [
            None if piece is None else piece.tolist()
            for piece in pieces(parts[0], np.frombuffer(parts[1], ITEMS[type]))
        ]
    if type in ("int64", "float64"):
        numbers = np.frombuffer(parts[0], "<i8" if type == "int64" else "<f8").tolist()
        return [
            None if null else x for x, null in zip(numbers, parts[1] if len(parts) > 1 else bytes(rows), strict=True)
        ]
    return [(False, True, None)[b] for b in parts[0]] if type == "bool" else texts(parts[0], parts[1])


def table_rows(head: Row, parts: list[bytes]) -> list[Row]:
    columns, at = {}, 0
    for name, type, encoding, count, *const in head["columns"]:
        columns[name] = column(type, encoding, head["rows"], parts[at : at + count], const[0] if const else None)
        at += count
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def metric_rows(head: Row, parts: list[bytes]) -> list[Row]:
    names, kinds, same = (
        head["names"],
        head["kinds"],
        {key: head[key] for key in ("attempt", "rank", "env", "split", "clock")},
    )
    if head["layout"] == "wide":
        records = np.frombuffer(parts[0], "<i8").reshape(head["rows"], 2 + len(names))
        step, time_ns = (np.repeat(records[:, i], len(names)) for i in (0, 1))
        index, value, rest = (
            np.tile(np.arange(len(names)), len(records)),
            np.ascontiguousarray(records[:, 2:]).view("<f8").ravel(),
            parts[1:],
        )
    else:
        step, time_ns, index, value = (
            np.frombuffer(part, type) for part, type in zip(parts[:4], ("<i8", "<i8", "<u4", "<f8"), strict=True)
        )
        rest = parts[4:]
    weight = np.frombuffer(rest[0], "<f8").tolist() if rest else [None] * len(step)
    state = pieces(rest[1], np.frombuffer(rest[2], "<f8")) if rest else [None] * len(step)
    rows = []
    for s, t, i, v, w, x in zip(
        step.tolist(), time_ns.tolist(), index.tolist(), value.tolist(), weight, state, strict=True
    ):
        kind = kinds[i] if kinds else "scalar"
        row = {
            "step": s,
            "time_ns": t,
            "name": names[i],
            "kind": kind,
            "value": v,
            "weight": None if kind in ("scalar", "int") else w,
        }
        rows.append(row | {"state": None if kind == "scalar" else x.tolist()} | same)
    return rows


def manifest(folder: Path) -> Row | None:
    """The first copy that holds."""
    for name in ("manifest.json", "manifest.copy.json"):
        raw = (folder / name).read_bytes() if (folder / name).exists() else b""
        body = raw[raw.find(b'"set":') + 6 : raw.rfind(b"\n", 0, raw.rfind(b"}"))]
        if match := re.match(rb'{"crc32":(\d+),\n', raw):
            found: Row = json.loads(body) if zlib.crc32(body) == int(match[1]) else {"format": 0}
            if found["format"] == 1:
                return found
    return None


def holds(data: bytes, offset: int, length: int, crc: int) -> bool:
    return zlib.crc32(data[offset : offset + length]) == crc


def covered(sources: dict[str, int], stem: str) -> int:
    """Bytes of a log that sets hold:
    the part from its first byte, then each part that goes on where one ends.
    """
    end = sources.get(stem, 0)
    while f"{stem}@{end}" in sources:
        end = sources[f"{stem}@{end}"]
    return end


@dataclass
class Reader:
    """A run's folder: every row that was written, and what could not be read."""

    path: Path
    tables: dict[str, list[Row]] = field(default_factory=dict)
    damage: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.facts: Row = json.loads((self.path / "run.json").read_text()) if (self.path / "run.json").exists() else {}
        taken: dict[str, int] = {}
        sets = [(path, found) for path in sorted(self.path.glob("[!.]*.sealed")) if (found := manifest(path))]
        for path, found in sorted(sets, key=lambda one: -len(one[1]["sources"])):
            if not taken.keys() & found["sources"].keys():
                self._set(path, found)
                taken |= found["sources"]
        for path in sorted(self.path.glob("*.log")):
            self._log(path, covered(taken, path.name.removesuffix(".log")))

    def _add(self, table: str, rows: Iterable[Row]) -> None:
        for row in rows:
            for name in JSON.get(table, ()):
                row[name] = json.loads(row[name]) if isinstance(row.get(name), str) else row.get(name)
            self.tables.setdefault(table, []).append(
                {"run": self.path.name} | {k: v for k, v in row.items() if v is not None}
            )

    def _log(self, path: Path, start: int) -> None:
        writer, seq, _ = path.name.split(".")
        blocks, damage = frames(path.read_bytes(), start)
        self.damage += [(path.name, *where) for where in damage]
        for _, payload in blocks:
            head, parts = unpack(payload)
            if head["block"] != "meta":
                rows = metric_rows(head, parts) if head["block"] == "metrics" else table_rows(head, parts)
                self._add(head.get("table", "metrics"), (row | {"writer": writer, "seq": int(seq)} for row in rows))

    def _set(self, folder: Path, found: Row) -> None:
        for file in found["files"]:
            table, _, text = file.removesuffix(".parquet").partition(".")
            if not text:
                rows = self._parquet(folder, file, found["files"][file])
                big = self._parquet(folder, f"{table}.text.parquet", found["files"].get(f"{table}.text.parquet"))
                self._add(table, [unescaped(row | big.get(i, {})) for i, row in rows.items()])

    def _parquet(self, folder: Path, file: str, said: Row | None) -> dict[int, Row]:
        """Row number -> row, of the row groups that hold."""
        if said is None:
            return {}
        data, number = (folder / file).read_bytes(), 0
        rows: dict[int, Row] = {}
        if not holds(data, *said["footer"]):
            self.damage.append((f"{folder.name}/{file}", *said["footer"][:2]))
            data = data[: said["footer"][0]] + (folder / f"{file}.footer").read_bytes()
        parquet = pq.ParquetFile(io.BytesIO(data))
        for i, (offset, length, crc, count, *_) in enumerate(said["groups"]):
            if holds(data, offset, length, crc):
                rows |= dict(enumerate(parquet.read_row_group(i).to_pylist(), number))
            else:
                self.damage.append((f"{folder.name}/{file}", offset, length))
            number += count
        return rows


def unescaped(row: Row) -> Row:
    for name in (row.get("escaped") or "").split(","):
        if isinstance(row.get(name), str):
            row[name] = re.sub(r"\\(\\|u([0-9a-f]{4}))", lambda m: chr(int(m[2], 16)) if m[2] else "\\", row[name])
    return {name: value for name, value in row.items() if name != "escaped"}
