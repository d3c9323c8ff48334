"""How the numbers of a call to `log` are packed into bytes."""

from __future__ import annotations

import struct
from typing import Any

from rollscope.record.loss import Lose

from .label import text

MOST_FORMATS = 4096


class RowFormat:
    """A list of names, and how a row of their values is packed: step, time, one double a name."""

    __slots__ = ("names", "pack", "size", "unpack")

    def __init__(self, names: tuple[str, ...]) -> None:
        form = struct.Struct(f"<qq{len(names)}d")
        self.names = names
        self.pack = form.pack
        self.unpack = form.unpack
        self.size = form.size

    def values(self, row: bytes) -> dict[str, float]:
        return dict(zip(self.names, self.unpack(row)[2:], strict=True))


class RowFormats:
    """Row formats by their names. Bounded: when there are too many, all are forgotten."""

    def __init__(self, lose: Lose) -> None:
        self._formats: dict[tuple[str, ...], RowFormat] = {}
        self._lose = lose

    def of(self, names: tuple[Any, ...]) -> RowFormat:
        """The format of these names. A name that is not text, or too long, is made a label."""
        try:
            known = self._formats.get(names)
        except Exception:  # a name that cannot be hashed
            known = None
        return self._new(names) if known is None else known

    def _new(self, names: tuple[Any, ...]) -> RowFormat:
        texts = tuple([text(name, self._lose) for name in names])
        if len(self._formats) >= MOST_FORMATS:
            self._formats = {}
        return self._formats.setdefault(texts, RowFormat(texts))
