"""Hostile files at full size: how long an import takes to refuse them, with how much memory.

    python bench/bombs.py [NAME ...]

Each file is small on the disk. An import with the limits that everybody has reads it beside a good
file; the table says what it cost, and the lines below it what the import said.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import results

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.sources import bombs

IMPORT = """
import os, resource, sys, time
from pathlib import Path
from rollscope.sources.intake.importer import Importer
began = time.perf_counter()
importer = Importer(Path(sys.argv[2])); report = importer.take([Path(sys.argv[1])]); importer.close()
wall = time.perf_counter() - began
memory = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
print(wall, sum(os.times()[:4]), memory, sum(run["values"] for run in report.runs.values()))
for item in report.skipped[:3]: print(item.why)
"""


def zip_of_7_gb(folder: Path) -> Path:
    """Seven megabytes that unpack to seven gigabytes."""
    path = folder / "run" / "steps" / "block_0.zip"
    path.parent.mkdir(parents=True)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("metrics.parquet", "w", force_zip64=True) as member,
    ):
        for _ in range(7 * 1024):
            member.write(bytes(1 << 20))
    return path


def zip_of_zips(folder: Path) -> Path:
    """An archive whose table is an archive."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metrics.parquet", bytes(1 << 28))
    path = folder / "run" / "steps" / "block_0.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metrics.parquet", inner.getvalue())
    return path


def endless_view(folder: Path) -> Path:
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n)"
    columns = "i::text as run_id, '' as name, '' as project, '' as config_json"
    return bombs.duckdb_view(folder, f"{numbers} select {columns} from n")


BOMBS: dict[str, Callable[[Path], Path]] = {
    "event file of broken lengths": bombs.event_file_of_broken_heads,
    "event file of 20,000 names": bombs.event_file_of_many_names,
    "zip of 7 GB": zip_of_7_gb,
    "zip of a zip": zip_of_zips,
    "Parquet of 400 GB": bombs.parquet_of_one_long_text,
    "Arrow of 2 billion rows": bombs.arrow_of_nothing,
    "tensors of 32 GB": bombs.buffer_of_tensors,
    "DuckDB view without end": endless_view,
    "DuckDB table of equal rows": lambda folder: bombs.duckdb_long_table(folder, 20_000_000),
    "SQLite view without end": bombs.sqlite_endless_view,
    "SQLite column that grows": bombs.sqlite_growing_column,
    "JSON of 100,000 brackets": bombs.deep,
    "JSON line of 1 GB": lambda folder: bombs.long_line(folder, 1 << 30),
    "JSON line of small lists": lambda folder: bombs.many_small_lists(folder, 20 << 20),
    "CSV of a million columns": bombs.wide_csv,
}


def measure(name: str) -> tuple[list[dict[str, str]], str]:
    """Import a bomb and a good file; the measurements, and what the import said."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "in"
        inside.mkdir()
        size = os.stat(BOMBS[name](inside)).st_blocks * 512
        (inside / "good.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
        command = [sys.executable, "-c", IMPORT, str(inside), f"{folder}/runs"]
        numbers, *said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    wall, cpu, memory, values = map(float, numbers.split())
    assert values >= 1, "the good file was not imported"
    measured = (("time", "s", wall), ("CPU", "s", cpu), ("memory", "MB", memory))
    rows = [results.row(f"import of a bomb, {name}: {what}", unit, [value], size) for what, unit, value in measured]
    return rows, f"{name} ({size:,} bytes on the disk): " + " | ".join(said)


def main(names: list[str]) -> None:
    measured = [measure(name) for name in names]
    rows = [row for part, _ in measured for row in part]
    results.show(rows)
    for _, said in measured:
        print(said)
    results.append(rows)


if __name__ == "__main__":
    main(sys.argv[1:] or list(BOMBS))
