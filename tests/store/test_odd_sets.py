"""Sealed files that another program rewrote, with right checksums: what fits is read."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.store.seal import compact, logs
from rollscope.store.sealed import checksum, manifest
from tests.store.conftest import World
from tests.store.doors import failing
from tests.store.odd_blocks import good_rows

Change = Callable[[pa.Table], pa.Table]


def cast(**types: pa.DataType) -> Change:
    def change(table: pa.Table) -> pa.Table:
        for name, kind in types.items():
            at = table.column_names.index(name)
            table = table.set_column(at, name, table[name].cast(kind))
        return table

    return change


def without(*names: str) -> Change:
    return lambda table: table.drop_columns(list(names))


def nulls(*names: str) -> Change:
    def change(table: pa.Table) -> pa.Table:
        for name in names:
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.nulls(len(table), table[name].type))
        return table

    return change


def numbered(name: str) -> Change:
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array(range(len(table))))


def more(table: pa.Table) -> pa.Table:
    moods = pa.array([{"mood": "calm", "at": [1]}] * len(table))
    return table.append_column("mood", moods).select([*reversed(table.column_names), "mood"])


def empty(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)


TEXT, SHORT = pa.large_string(), pa.string()
READ: dict[str, tuple[str, Change]] = {  # file, change: nothing is lost
    "narrow integers": ("samples.parquet", cast(step=pa.int32(), completion_tokens=pa.int16())),
    "narrow floats": ("samples.parquet", cast(reward=pa.float32())),
    "short texts": ("samples.parquet", cast(id=SHORT, group=SHORT)),
    "words in a dictionary": ("samples.parquet", cast(group=pa.dictionary(pa.int32(), SHORT))),
    "short texts of the text file": ("samples.text.parquet", cast(completion=SHORT, prompt=SHORT)),
    "metrics of narrow types": ("metrics.parquet", cast(step=pa.int32(), name=SHORT, rank=pa.int8(), seq=pa.int32())),
    "columns of a newer version in another order": ("samples.parquet", more),
    "metrics with a column of a newer version": ("metrics.parquet", more),
    "spans with a column of a newer version": ("spans.parquet", more),
    "notes of narrow types": ("notes.parquet", cast(step=pa.int32(), text=SHORT)),
}
LOST: dict[str, tuple[str, Change]] = {  # the column is lost, and it is said
    "steps of samples as texts": ("samples.parquet", cast(step=TEXT)),
    "rewards as texts": ("samples.parquet", cast(reward=TEXT)),
    "samples without ids": ("samples.parquet", without("id")),
    "samples without steps": ("samples.parquet", without("step")),
    "texts as numbers": ("samples.text.parquet", numbered("prompt")),
    "steps of metrics as texts": ("metrics.parquet", cast(step=TEXT)),
    "values as texts": ("metrics.parquet", cast(value=TEXT)),
    "metrics without values": ("metrics.parquet", without("value")),
    "metrics without states": ("metrics.parquet", without("state")),
    "metrics without kinds and scopes": ("metrics.parquet", without("kind", "env", "split", "clock")),
    "turns without samples": ("turns.parquet", without("sample")),
    "times of spans as texts": ("spans.parquet", cast(start_ns=TEXT)),
    "texts of notes as numbers": ("notes.parquet", numbered("text")),
    "scores as numbers": ("evals.parquet", numbered("scores")),
}
ODD: dict[str, tuple[str, Change]] = {  # every door answers
    "ids of samples null": ("samples.parquet", nulls("id")),
    "names null": ("metrics.parquet", nulls("name")),
    "metrics null": ("metrics.parquet", nulls("step", "time_ns", "value", "writer", "attempt", "seq")),
    "spans null": ("spans.parquet", nulls("name", "lane", "start_ns", "end_ns")),
    "no samples": ("samples.parquet", empty),
}


@pytest.fixture
def sealed(world: World) -> World:
    writer = world.writer()
    for step in (1, 2, 5):
        good_rows(writer, step)
    writer.finish()
    logs.seal(str(world.run))
    return world


def rewrite(run: Path, file: str, change: Change) -> None:
    """Change a file of the run's set, and its checksums in the manifest."""
    (folder,) = run.glob("*.sealed")
    pq.write_table(change(pq.read_table(folder / file)), folder / file)
    facts, _ = manifest.read(str(folder))
    facts["files"][file], footer = checksum.describe(str(folder / file))
    (folder / f"{file}.footer").write_bytes(footer)
    facts["sidecars"][f"{file}.footer"] = {"size": len(footer), "crc": zlib.crc32(footer)}
    for name in [name for name in facts["sidecars"] if name.endswith((".arrow", ".prefix"))]:
        del facts["sidecars"][name]  # they tell what the file held before
        os.unlink(folder / name)
    body = json.dumps(facts, separators=(",", ":")).encode()
    for name in manifest.NAMES:
        (folder / name).write_bytes(manifest.frame(body))


def others_are_there(root: Path, file: str) -> None:
    """What lies in other files than the odd one."""
    run = rs.open(root).run("r1")
    if not file.startswith("metrics"):
        assert run.series("good")["value"].tolist() == [1.0, 2.0, 5.0]
    if not file.startswith("samples"):
        assert sorted(run.samples()["id"]) == ["s10", "s11", "s20", "s21", "s50", "s51"]
    if not file.startswith("notes"):
        assert list(run.notes()["text"]) == ["good 1", "good 2", "good 5"]


@pytest.mark.parametrize(("file", "change"), READ.values(), ids=READ)
def test_files_of_narrower_types_are_read(sealed: World, file: str, change: Change) -> None:
    rewrite(sealed.run, file, change)
    assert not failing(sealed.root)
    run = rs.open(sealed.root).run("r1")
    assert run.series("good")["value"].tolist() == [1.0, 2.0, 5.0] and not run.verify()
    assert run.sample("s10")["completion"] == "good" and run.sample("s10")["step"] == 1
    assert list(run.notes()["text"]) == ["good 1", "good 2", "good 5"]
    assert run.sql("select sum(step) as n from samples")["n"].tolist() == [16]


@pytest.mark.parametrize(("file", "change"), LOST.values(), ids=LOST)
def test_columns_that_cannot_be_used_are_said(sealed: World, file: str, change: Change) -> None:
    rewrite(sealed.run, file, change)
    assert not failing(sealed.root)
    others_are_there(sealed.root, file)
    says = [damage.says for damage in rs.open(sealed.root).run("r1").verify()]
    assert any("read as null" in text for text in says), says
    compact.compact(str(sealed.run), everything=True)
    assert any(sealed.run.glob("*.sealed")) and not failing(sealed.root)


@pytest.mark.parametrize(("file", "change"), ODD.values(), ids=ODD)
def test_odd_values_cost_themselves(sealed: World, file: str, change: Change) -> None:
    rewrite(sealed.run, file, change)
    assert not failing(sealed.root)
    others_are_there(sealed.root, file)
