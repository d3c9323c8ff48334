"""Rows that never change, in files without a name: the system may drop their pages at any time.

A server reads runs for weeks, and what it keeps of each step adds up. Memory of its own can only be
kept; what lies in a file is read again when it is asked for. So large pieces of rows are written
once to a file that has no name, and mapped. Such a file ends with the process, however that ends.

Only a process that asks for it does so (`begin`). A piece that no file takes stays in memory. So
do pieces beyond the number of files that a process can well have, since each one holds a handle.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FEWEST = 64 << 10  # bytes of a piece that is worth a file
LINE = 64  # bytes: where an array begins in a file
MOST = 16_384  # files: Linux maps 65,530 pieces of a process, and memory of its own needs some
ON_DISK = "/var/tmp"  # /tmp is often memory
_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_lock = threading.Lock()  # the set must not grow while another thread goes through it
_place: str | None = None  # the folder of the files; None before `begin`


def begin() -> None:
    """From now on, keep large pieces of this process in files."""
    global _place
    chosen = os.environ.get("TMPDIR") or not os.access(ON_DISK, os.W_OK)
    with contextlib.suppress(OSError):  # there may be no folder for such files at all
        _place = tempfile.gettempdir() if chosen else ON_DISK


def table(rows: pa.Table) -> pa.Table:
    """The same rows."""
    if not _is_worth(rows.nbytes):
        return rows
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=_place) as file:
        with pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows)
        return pa.ipc.open_stream(pa.py_buffer(_mapped(file))).read_all()
    return rows


def data(raw: bytes) -> pa.Buffer:
    """The same bytes."""
    if _is_worth(len(raw)):
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=_place) as file:
            file.write(raw)
            return pa.py_buffer(_mapped(file))
    return pa.py_buffer(raw)


def arrays(columns: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The same arrays of numbers, together in one file; nobody can write to them."""
    if _is_worth(sum(column.nbytes for column in columns)):
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=_place) as file:
            starts = [_written(file, column) for column in columns]
            whole = _mapped(file)
            return [_array(whole, start, column) for start, column in zip(starts, columns, strict=True)]
    return list(columns)


def _is_worth(size: int) -> bool:
    """True if a piece of so many bytes gets a file; half of the handles are left for others."""
    if _place is None or size < FEWEST:
        return False
    handles = os.sysconf("SC_OPEN_MAX")  # negative without a limit
    return len(_maps) < (min(MOST, handles // 2) if handles >= 0 else MOST)


def _written(file: IO[bytes], column: NDArray[Any]) -> int:
    start = -(-file.tell() // LINE) * LINE
    file.seek(start)
    file.write(np.ascontiguousarray(column).data)
    return start


def _array(whole: mmap.mmap, start: int, column: NDArray[Any]) -> NDArray[Any]:
    if not column.size:
        return column
    return np.frombuffer(whole, column.dtype, column.size, start).reshape(column.shape)


def _mapped(file: IO[bytes]) -> mmap.mmap:
    file.flush()
    whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with _lock:
        _maps.add(whole)
    return whole


def drop_pages() -> None:
    """Take the files' pages out of this process until they are read again."""
    with _lock:
        known = list(_maps)
    for whole in known:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # not every system can
            whole.madvise(mmap.MADV_DONTNEED)
