"""Retry a read if sealing or compaction removed a file in the middle of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .table_reader import TableReader

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
TRIES = 5


def retried(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Retry `read`, whose first argument is a reader, while files vanish under it."""

    @wraps(read)
    def read_again(*args: Arguments.args, **more: Arguments.kwargs) -> Result:
        run: TableReader = args[0]  # type: ignore[assignment]
        for _ in range(TRIES):
            version = run.version
            try:
                return read(*args, **more)
            except FileNotFoundError:
                run.refresh()
                if run.version == version:  # not `refresh()`: another thread may have refreshed first
                    raise
        return read(*args, **more)

    return read_again
