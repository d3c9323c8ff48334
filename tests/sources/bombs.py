"""Hostile files, small on the disk. Each function makes one in a folder and returns its path."""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import struct
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.sources.files.crc32c import masked

GB = 1 << 30


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", int(masked(np.frombuffer(data, np.uint8)[None])[0]))


def event_record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def scalar(name: str, step: int, value: float) -> bytes:
    tag = name.encode()
    number = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(number)]) + number
    return b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary


def event_file_of_broken_heads(folder: Path) -> Path:
    """A broken length before each good record: once quadratic, 75 s for 275 kB."""
    path = folder / "events.out.tfevents.1"
    path.write_bytes((b"\xff" * 13 + event_record(scalar("loss", 1, 0.5))) * 5000)
    return path


def event_file_of_many_names(folder: Path) -> Path:
    """Each record has a name of its own; once quadratic."""
    path = folder / "events.out.tfevents.2"
    records = [scalar(f"{i:030}", 1, 0.5) for i in range(20_000)]
    sums = masked(np.frombuffer(b"".join(records), np.uint8).reshape(len(records), -1)).astype("<u4")
    head = event_record(records[0])[:12]
    path.write_bytes(b"".join(head + data + sum.tobytes() for data, sum in zip(records, sums, strict=True)))
    return path


def zip_of_zeros(folder: Path) -> Path:
    """A few hundred kilobytes that unpack to 256 MB, inside a table that Telescope has."""
    path = folder / "run" / "steps" / "block_0.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("metrics.parquet", "w") as member:
        for _ in range(256):
            member.write(bytes(1 << 20))
    return path


def zip_with_paths(folder: Path) -> Path:
    path = folder / "run" / "steps" / "block_0.zip"
    path.parent.mkdir(parents=True)
    table = io.BytesIO()
    pq.write_table(pa.table({"step": [1], "metric": ["loss"], "value": [0.5]}), table)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../outside.parquet", b"x")
        archive.writestr("metrics.parquet", table.getvalue())
    return path


def parquet_of_one_long_text(folder: Path, rows: int = 400_000) -> Path:
    """Half a megabyte of text, stored once and named by each row of two columns: 400 GB."""
    path = folder / "rollouts.parquet"
    indices = pa.array(np.zeros(rows, np.int32))
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * (1 << 19)]))
    table = pa.table({"prompt": column, "completion": column})
    pq.write_table(table, path, compression="zstd", write_statistics=False, row_group_size=rows)
    return path


def arrow_of_nothing(folder: Path) -> Path:
    """A batch of two billion rows of null, which take no bytes."""
    path = folder / "rollouts.arrow"
    empty = pa.Array.from_buffers(pa.null(), (1 << 31) - 1, [None])
    batch = pa.RecordBatch.from_arrays([empty, empty], ["prompt", "completion"])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write_batch(batch)
    return path


def _storage() -> bytes:
    """One float as torch stores it."""
    out = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(value, out, 2)
    out.write(b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ.")
    pickle.dump(["0"], out, 2)
    out.write(struct.pack("<q", 1) + struct.pack("<f", 0.5))
    return out.getvalue()


def tensor_pickle(values: int) -> bytes:
    """An experience whose log-probabilities are one float, repeated with stride 0."""
    storage = _storage()
    size, stride = b"\x8a\x08" + struct.pack("<q", values) + b"\x85", b"K\x00\x85"
    load = b"ctorch.storage\n_load_from_bytes\n(B" + struct.pack("<I", len(storage)) + storage + b"tR"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + load + b"K\x00" + size + stride + b"\x89NtR"
    experience = b"ctrinity.common.experience\nExperience\n)\x81"
    return b"\x80\x04" + experience + b"}(X\x08\x00\x00\x00logprobs" + tensor + b"ub."


def buffer_of_tensors(folder: Path, values: int = 8 * GB) -> Path:
    path = folder / "explorer_output.db"
    db = sqlite3.connect(path)
    columns = "id integer primary key, timestamp text, task_id text, run_id int, model_version int, reward real"
    db.execute(f"create table pipeline_input ({columns}, experience_bytes blob)")
    for size in (4, values):
        insert = "insert into pipeline_input values (null, '2026-01-01', 't', 0, 1, 0.5, ?)"
        db.execute(insert, (tensor_pickle(size),))
    db.commit()
    db.close()
    return path


def _trackio(path: Path, metrics: str) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("create table configs (id integer primary key, run_name text, config text)")
    db.executescript(metrics)
    return db


ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n)"
COLUMNS = "id integer primary key, timestamp text, run_name text, step integer"


def sqlite_endless_view(folder: Path) -> Path:
    path = folder / "endless.db"
    row = "i as id, '2026-01-01' as timestamp, 'r' as run_name, i as step, '{\"a\": 1}' as metrics"
    _trackio(path, f"create view metrics as {ENDLESS} select {row} from n").close()
    return path


def sqlite_trigger(folder: Path) -> Path:
    """A real table, and triggers and views that never run."""
    path = folder / "trigger.db"
    db = _trackio(path, f"create table metrics ({COLUMNS}, metrics text)")
    db.execute("insert into metrics values (1, '2026-01-01', 'r', 1, '{\"a\": 0.5}')")
    db.execute(f"create view bad as {ENDLESS} select i from n")
    db.execute("create trigger t after insert on metrics begin delete from metrics; end")
    db.commit()
    db.close()
    return path


def sqlite_growing_column(folder: Path) -> Path:
    """A generated column: a thousand rows with a text of 100 kB each, which take no bytes."""
    path = folder / "column.db"
    head, tail = '{"completions": {"_value": [{"prompt": "p", "completion": "', '"}]}}'
    text = f"'{head}' || hex(zeroblob(50000)) || '{tail}'"
    db = _trackio(path, f"create table metrics ({COLUMNS}, metrics text generated always as ({text}))")
    insert = "insert into metrics (timestamp, run_name, step) values ('2026-01-01', 'r', ?)"
    db.executemany(insert, [(i,) for i in range(1000)])
    db.commit()
    db.close()
    return path


def duckdb_view(folder: Path, query: str) -> Path:
    """A Telescope database whose table of runs is a view."""
    path = folder / "telescope.duckdb"
    db = duckdb.connect(str(path))
    db.execute(f"create view runs as {query}")
    db.execute("create table samples_data as select 'r' as run_id, 1 as sample_id, 1 as group_id")
    db.close()
    return path


def duckdb_long_table(folder: Path, rows: int = 2_000_000) -> Path:
    """A table of equal rows takes a few bytes a thousand on the disk, and a gigabyte in memory."""
    path = folder / "telescope.duckdb"
    db = duckdb.connect(str(path))
    db.execute("create table runs as select 'r' as run_id, 'n' as name, 'p' as project, null as config_json")
    columns = "'r' as run_id, 1 as step, 'loss' as metric_name, '' as section, '' as \"group\", 0.5 as value"
    db.execute(f"create table step_metrics as select {columns} from range({rows})")
    db.close()
    return path


def deep(folder: Path, name: str = "log_history.json") -> Path:
    path = folder / name
    path.write_text('[{"step": 1, "a": ' + "[" * 100_000 + "]" * 100_000 + "}]")
    return path


def wide_csv(folder: Path) -> Path:
    path = folder / "wide.csv"
    path.write_text("step," + ",".join(map(str, range(1_000_000))) + "\n")
    return path


def long_line(folder: Path, size: int = 100 << 20) -> Path:
    """A line of this size that takes no space on the disk, between two good ones."""
    path = folder / "log.jsonl"
    with path.open("wb") as file:
        file.write(b'{"step": 1, "a": 0.5}\n')
        file.seek(size, os.SEEK_CUR)
        file.write(b'\n{"step": 2, "a": 0.25}\n')
    return path


def many_small_lists(folder: Path, count: int = 9_000_000) -> Path:
    """JSON that takes thirty times its size in memory."""
    path = folder / "lists.jsonl"
    path.write_text('{"step": 1, "a": 0.5}\n{"step": 2, "b": [' + "[]," * count + "[]]}\n")
    return path


def many_bad_lines(folder: Path) -> Path:
    path = folder / "bad.jsonl"
    path.write_text('{"step": 1, "a": 0.5}\n' + "{\n" * 5000 + json.dumps({"step": 2, "a": 0.25}) + "\n")
    return path
