"""The Parquet files that are open: a few, whichever were read last, over all runs together.

A reader of a thousand runs would otherwise hold a few thousand handles. A file that is closed here
is opened again when it is next read. A read that is under way keeps its file until it is done. A
sealed file that nobody reads any more, because its reader was closed or its set was merged, takes
its handle with it.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING

from . import elsewhere

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from .file import SealedFile

MOST = 64
# By the identity of the sealed file; the one read last is at the end.
_opened: OrderedDict[int, tuple[weakref.ref[SealedFile], pq.ParquetFile]] = OrderedDict()
_lock = threading.RLock()  # a file may be collected while this thread holds the lock


def parquet(file: SealedFile) -> pq.ParquetFile:
    """The open Parquet file of a sealed file."""
    with _lock:
        if id(file) in _opened:
            _opened.move_to_end(id(file))
            return _opened[id(file)][1]
    elsewhere.check(file.path)
    opened = file.opened(file.path)
    with _lock:
        _keep(file, opened)
    return opened


def _keep(file: SealedFile, opened: pq.ParquetFile) -> None:
    key = id(file)
    _opened[key] = weakref.ref(file, lambda _: _forget(key)), opened
    while len(_opened) > MOST:
        _opened.popitem(last=False)


def _forget(key: int) -> None:
    with _lock:
        _opened.pop(key, None)


def forget() -> None:
    """Close every file that no read is using."""
    with _lock:
        _opened.clear()
