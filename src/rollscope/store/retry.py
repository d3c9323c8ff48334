"""Retry a read if sealing or compaction removed a file in the middle of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .table_reader import TableReader

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
TRIES = 5  # at least
PATIENCE_SECONDS = 30.0  # a run of many ranks has a log sealed every second, or more often


def retried(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Retry `read`, whose first argument is a reader, while files vanish under it."""

    @wraps(read)
    def read_again(*args: Arguments.args, **more: Arguments.kwargs) -> Result:
        run: TableReader = args[0]  # type: ignore[assignment]
        until = time.monotonic() + PATIENCE_SECONDS
        for tries in count(1):
            version = run.version
            try:
                return read(*args, **more)
            except FileNotFoundError:
                run.refresh()
                late = tries > TRIES and time.monotonic() > until
                if late or run.version == version:  # not `refresh()`: another thread may have refreshed first
                    raise
        raise AssertionError("unreachable")

    return read_again
