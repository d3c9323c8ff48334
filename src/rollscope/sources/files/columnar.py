"""Rows of Parquet and Arrow files, a few at a time: a small file may expand to any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import Skipped, SourceError

ROWS = 100  # rows that are expanded at a time
Rows = Iterator[dict[str, Any] | Skipped]


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


def rows(path: Path) -> Rows:
    """The rows of a Parquet file or an Arrow stream; damage is a `Skipped`."""
    import pyarrow as pa

    try:
        yield from parquet(opened(path), path) if path.suffix == ".parquet" else _arrow(path)
    except MemoryError:  # Arrow's own is an ArrowException too
        raise
    except (pa.ArrowException, SourceError, ValueError, OSError) as error:
        yield Skipped(f"the file is damaged; nothing after this is imported: {error}", path)


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
    """Read one row group at a time: a damaged one loses only its own rows.

    Reports name `path`.
    """
    import pyarrow as pa

    for group in range(file.num_row_groups):
        try:
            # There may be thousands of small files: threads would cost more than they save.
            for batch in file.iter_batches(ROWS, row_groups=[group], use_threads=False):
                yield from batch.to_pylist()
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError, OSError) as error:
            about = [file.metadata.row_group(group).column(i) for i in range(file.metadata.num_columns)]
            offset = min((column.file_offset or 0 for column in about), default=0)
            yield Skipped(f"row group {group} is damaged: {error}", path, offset or None)


def _arrow(path: Path) -> Rows:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        for batch in pa.ipc.open_stream(source):
            for start in range(0, batch.num_rows, ROWS):
                yield from batch.slice(start, ROWS).to_pylist()


def good(rows: Rows, damaged: list[Skipped]) -> Iterator[dict[str, Any]]:
    """The rows; what is damaged is added to the list."""
    for row in rows:
        if isinstance(row, Skipped):
            damaged.append(row)
        else:
            yield row
