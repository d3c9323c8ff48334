"""What readers of one log decoded, kept once for all of them.

A server reads a growing run twice: for its pages and for its doctor. Each decodes the log for
itself, when it likes. Where a piece of rows ends depends on the log alone, though, so the pieces of
one reader are those of the other, and the second to make a piece takes that of the first. A piece
never changes, and is gone when its last reader is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Piece = TypeVar("Piece")
_pieces: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()


class Shared:
    """The pieces of one log."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._log: tuple[object, ...] | None = None

    def get(self, kind: str, first: int, last: int, size: int, make: Callable[[], Piece]) -> Piece:
        """The piece between two places of the log, made if no reader has it."""
        if self._log is None:
            self._log = _identity(self._path)
        key = (*self._log, kind, first, last, size)
        piece: Piece | None = _pieces.get(key)
        if piece is None:
            piece = _pieces[key] = make()
        return piece


def _identity(path: str) -> tuple[object, ...]:
    """What tells a log from others; of one that was removed meanwhile, nobody shares anything."""
    try:
        status = os.stat(path)
    except OSError:
        return (object(),)
    return os.path.abspath(path), status.st_dev, status.st_ino
