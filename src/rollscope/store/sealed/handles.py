"""The Parquet files that are open: a few, whichever were read last, over all runs together.

A reader of a thousand runs would otherwise hold a few thousand handles. A file that is closed here
is opened again when it is next read. A read that is under way keeps its file until it is done.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rollscope.store import regular_file

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from .file import SealedFile

MOST = 64


@lru_cache(maxsize=MOST)
def parquet(file: SealedFile) -> pq.ParquetFile:
    """The open Parquet file of a sealed file."""
    regular_file.check(file.path)
    return file.opened(file.path)


def forget() -> None:
    """Close every file that no read is using."""
    parquet.cache_clear()
