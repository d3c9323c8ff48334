"""Samples from dumps of rollouts, as JSONL and as Parquet: how fast `rollscope import` takes them.

    python bench/rollouts.py [SAMPLES]

A sample has about 2 kB of text, eight of them share a prompt. The rate is that of the text, until
the samples are in the store. Memory is the largest resident set of the importer and of the process
in which it reads files.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import results
from sources import TIMED

GROUP, WORDS = 8, 5000
CHUNK = 10_000  # samples of a row group
IMPORT = """
import tempfile
from pathlib import Path
from rollscope.sources.intake.importer import Importer
with tempfile.TemporaryDirectory() as out:
    importer = Importer(Path(out)); report = importer.take([Path(folder)]); importer.close()
    count = sum(run["rows"] for run in report.runs.values())"""


def samples(count: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(WORDS)]
    prompt = ""
    for i in range(count):
        prompt = prompt if i % GROUP else " ".join(draw.choices(words, k=60))
        answer = " ".join(draw.choices(words, k=250))
        yield {"prompt": prompt, "completion": answer, "reward": draw.random(), "format": 1.0, "step": i // 1024}


def write(count: int, lines: Path, table: Path) -> int:
    """Write the same samples in both forms; the bytes of their text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size, chunk = 0, list[dict[str, Any]]()
    writer: Any = None
    with lines.open("w") as file:
        for row in samples(count):
            size += len(row["prompt"]) + len(row["completion"])
            file.write(json.dumps(row) + "\n")
            chunk.append(row)
            if len(chunk) == CHUNK:
                part, chunk = pa.Table.from_pylist(chunk), []
                writer = writer or pq.ParquetWriter(table, part.schema)
                writer.write_table(part)
    if chunk:
        part = pa.Table.from_pylist(chunk)
        writer = writer or pq.ParquetWriter(table, part.schema)
        writer.write_table(part)
    writer.close()
    return size


def written(count: int, *paths: Path) -> int:
    """Write in a process of its own: a child's largest resident set begins with its parent's."""
    command = [sys.executable, __file__, str(count), *map(str, paths)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(form: str, folder: Path, size: int) -> list[dict[str, str]]:
    command = [sys.executable, "-W", "ignore", "-c", TIMED % IMPORT, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, cpu, count, memory = map(float, done.split()[-4:])
    return [
        results.row(f"rollscope import of samples as {form}: text", "MB/s", [size / wall / 1e6], int(count)),
        results.row(f"rollscope import of samples as {form}: CPU, start of Python included", "s", [cpu], int(count)),
        results.row(f"rollscope import of samples as {form}: memory", "MB", [memory], int(count)),
    ]


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"JSONL": Path(folder, "jsonl", "train.jsonl"), "Parquet": Path(folder, "parquet", "train.parquet")}
        for path in paths.values():
            path.parent.mkdir()
        size = written(count, *paths.values())
        rows = [row for form, path in paths.items() for row in measure(form, path.parent, size)]
    results.show(rows)
    results.append(rows)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(write(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
