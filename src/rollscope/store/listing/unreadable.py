"""A run that cannot be read: its place in a list, and the sentence that says why."""

from __future__ import annotations

from typing import Any

from rollscope.errors import CannotRead, RollscopeError
from rollscope.store import regular_file
from rollscope.store.schema import TABLES

STATE = "unreadable"


def sentence(id: str, error: BaseException | str) -> str:
    """Why a run cannot be read, and what to do."""
    if isinstance(error, CannotRead):
        return str(error)
    why = error if isinstance(error, str) else _why(error)
    return f"the run {id!r} cannot be read ({why}). Check the permissions and the files of its folder; other runs work."


def _why(error: BaseException) -> str:
    """The reason; an error that nobody foresaw also gives its type."""
    foreseen = isinstance(error, OSError | RollscopeError)
    return regular_file.why(error) if foreseen else f"{type(error).__name__}: {error}"


def record(id: str, says: str) -> dict[str, Any]:
    """The run as a row of the runs table that knows nothing but its id and the sentence."""
    return {column.name: None for column in TABLES["runs"]} | {"id": id, "state": STATE, "reason": says}
