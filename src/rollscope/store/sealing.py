"""Writing a sealed set: every table as Parquet with our checksums, the names and their pyramid, all at once or not at all.

A set is a folder. It is written aside, synced, and given its name by one rename, which fails if somebody was faster; only then are
the logs it replaces removed. A kill at any instant leaves the logs, or the set, or both, and the set wins.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from . import arrow, checksum, fold, manifest, metric_table, names, parquet, samples
from .rollup import rollup
from .rows import Named, Words

KEPT = ("step", "attempt", "writer", arrow.SEQ, arrow.ESCAPED)
ASIDE = ".aside-"
FORGOTTEN_SECONDS = 3600.0
ORDER = {
    "samples": ("step", "attempt", "group", "repeat"),
    "turns": ("step", "sample", "turn"),
    "spans": ("start_ns",),
    "host": ("device", "name", "time_ns"),
    "evals": ("set", "step", "task", "repeat"),
}


def write_set(run: str, stem: str, named: Named, words: Words, tables: Mapping[str, pa.Table], facts: Mapping[str, Any]) -> bool:
    """Write a set and give it its name; False if it was there already."""
    aside = os.path.join(run, ASIDE + secrets.token_hex(8))
    os.mkdir(aside)
    try:
        described = _write_tables(aside, os.path.basename(os.path.normpath(run)), named, words, tables, facts.get("declared") or {})
        manifest.write(aside, {**facts, **described, "made_ns": time.time_ns()})
        for name in os.listdir(aside):
            _sync(os.path.join(aside, name))
        _sync(aside)
        try:
            os.rename(aside, os.path.join(run, stem + manifest.SUFFIX))
        except OSError:  # not empty: another sealer was here first, with the same rows
            if not os.path.isdir(os.path.join(run, stem + manifest.SUFFIX)):
                raise
            return False
        _sync(run)
        return True
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_tables(aside: str, run: str, named: Named, words: Words, tables: Mapping[str, pa.Table], declared: Mapping[str, Any]) -> dict[str, Any]:
    files: dict[str, Any] = {}
    sidecars: dict[str, Any] = {}
    if len(named.rows):
        named = named.sorted()
        files["metrics.parquet"] = _write(aside, "metrics.parquet", metric_table.table(named, words, run), sidecars)
        for name, found in names.tables(named, words).items():
            sidecars[f"{name}.arrow"] = _sidecar(aside, f"{name}.arrow", found, "zstd" if name != "names" else None)
    for name, found in tables.items():
        found = _ready(name, found)
        big = [column.name for column in arrow.fields(name, big=True)]
        narrow = [c for c in found.column_names if c not in big]
        narrow = [c for c in narrow if c in KEPT] + _said(found, [c for c in narrow if c not in KEPT])  # what nobody said is not there
        files[f"{name}.parquet"] = _write(aside, f"{name}.parquet", found.select(narrow), sidecars)
        if big:
            keys = ["id", "step"] if name == "samples" else ["sample", "turn", "step"]
            files[f"{name}.text.parquet"] = _write(aside, f"{name}.text.parquet", found.select([*keys, *_said(found, big), arrow.ESCAPED]), sidecars)
        if name == "samples":
            sidecars["ids.arrow"] = _sidecar(aside, "ids.arrow", samples.index(found["id"]))
            sidecars["rollup.arrow"] = _sidecar(aside, "rollup.arrow", rollup(found, declared))
    return {"files": files, "sidecars": sidecars}


def _said(found: pa.Table, columns: list[str]) -> list[str]:
    return [c for c in columns if found[c].null_count < len(found)]


def _ready(name: str, found: pa.Table) -> pa.Table:
    """In the order that keeps what is asked for together, with rows about one sample folded."""
    found = arrow.whole(found, arrow.fields(name))
    if name == "samples":
        found = fold.fold_attempts(found)
    order = [(column, "ascending") for column in ORDER.get(name, ())]
    return found.take(pc.sort_indices(found, sort_keys=order)) if order else found


def _write(aside: str, file: str, found: pa.Table, sidecars: dict[str, Any]) -> dict[str, Any]:
    path = os.path.join(aside, file)
    parquet.write(path, found, file.split(".")[0], file.endswith(".text.parquet"))
    described, footer = checksum.describe(path)
    with open(os.path.join(aside, file + ".footer"), "wb") as copy:
        copy.write(footer)
    sidecars[file + ".footer"] = {"size": len(footer), "crc": zlib.crc32(footer)}
    return described


def _sidecar(aside: str, file: str, found: pa.Table, compression: str | None = None) -> dict[str, int]:
    path = os.path.join(aside, file)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, found.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(found.combine_chunks())
    with open(path, "rb") as written:
        return {"size": os.path.getsize(path), "crc": zlib.crc32(written.read())}


def clear_forgotten(run: str) -> None:
    """Remove what a killed sealer left aside."""
    for entry in os.scandir(run):
        if entry.name.startswith(ASIDE):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime > FORGOTTEN_SECONDS:
                    shutil.rmtree(entry.path, ignore_errors=True)


def remove_set(path: str) -> None:
    """Out of sight by one rename, then gone."""
    gone = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)
