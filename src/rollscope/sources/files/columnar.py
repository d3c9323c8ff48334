"""Rows of Parquet and Arrow files, a few at a time: a small file may expand to any size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from rollscope.sources import Skipped, SourceError

ROWS = 100  # rows that are expanded at a time
Rows = Iterator[dict[str, Any] | Skipped]
Batches = Iterator[tuple[int, list[dict[str, Any]] | Skipped]]


def columns(path: Path) -> set[str]:
    """The names of a file's columns; none if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix == ".parquet":
            return set(pq.read_schema(path).names)
        with pa.memory_map(str(path)) as source:
            return set(pa.ipc.open_stream(source).schema.names)
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, OSError):
        return set()


def ends(path: Path) -> list[int]:
    """The number of rows up to the end of each row group of a Parquet file; else nothing."""
    try:
        about = opened(path).metadata if path.suffix == ".parquet" else None
    except SourceError:
        return []
    sizes = [] if about is None else [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    return list(accumulate(sizes))


def rows(path: Path) -> Rows:
    """The rows of a Parquet file or an Arrow stream; damage is a `Skipped`."""
    for _, part in batches(path):
        yield from [part] if isinstance(part, Skipped) else part


def batches(path: Path, skip: int = 0) -> Batches:
    """Yield (number of the first row, a few rows) from row `skip` on.

    Damage is a `Skipped` with the number of the row behind it.
    """
    import pyarrow as pa

    try:
        yield from _parquet(opened(path), path, skip) if path.suffix == ".parquet" else _arrow(path, skip)
    except MemoryError:  # Arrow's own is an ArrowException too
        raise
    except (pa.ArrowException, SourceError, ValueError, OSError) as error:
        yield skip, Skipped(f"the file is damaged; nothing after this is imported: {error}", path)


def opened(source: Any) -> Any:
    """A Parquet file, from a path or a file object. Raises `SourceError` if it is not complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(source)
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        raise SourceError(f"not a complete Parquet file: {error}") from error


def parquet(file: Any, path: Path) -> Rows:
    """The rows of an open Parquet file. Reports name `path`."""
    for _, part in _parquet(file, path, 0):
        yield from [part] if isinstance(part, Skipped) else part


def _parquet(file: Any, path: Path, skip: int) -> Batches:
    """Read one row group at a time: a damaged one loses only its own rows."""
    import pyarrow as pa

    end = 0
    for group in range(file.num_row_groups):
        at, end = end, end + file.metadata.row_group(group).num_rows
        if end <= skip:
            continue
        try:
            # There may be thousands of small files: threads would cost more than they save.
            for batch in file.iter_batches(ROWS, row_groups=[group], use_threads=False):
                if at >= skip:
                    yield at, batch.to_pylist()
                at += batch.num_rows
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError, OSError) as error:
            about = [file.metadata.row_group(group).column(i) for i in range(file.metadata.num_columns)]
            offset = min((column.file_offset or 0 for column in about), default=0)
            yield end, Skipped(f"row group {group} is damaged: {error}", path, offset or None)


def _arrow(path: Path, skip: int) -> Batches:
    import pyarrow as pa

    at = 0
    with pa.memory_map(str(path)) as source:
        for batch in pa.ipc.open_stream(source):
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                if at >= skip:
                    yield at, part.to_pylist()
                at += part.num_rows


def good(rows: Rows, damaged: list[Skipped]) -> Iterator[dict[str, Any]]:
    """The rows; what is damaged is added to the list."""
    for row in rows:
        if isinstance(row, Skipped):
            damaged.append(row)
        else:
            yield row
