"""How the numbers of a call to `log` are packed into bytes."""

from __future__ import annotations

import struct

MOST_FORMATS = 4096


class RowFormat:
    """A list of names, and how a row of their values is packed: step, time, one double a name."""

    __slots__ = ("names", "pack", "size", "unpack")

    def __init__(self, names: tuple[str, ...]) -> None:
        form = struct.Struct(f"<qq{len(names)}d")
        self.names = tuple(map(str, names))
        self.pack = form.pack
        self.unpack = form.unpack
        self.size = form.size

    def values(self, row: bytes) -> dict[str, float]:
        return dict(zip(self.names, self.unpack(row)[2:], strict=True))


class RowFormats:
    """Row formats by their names. Bounded: when there are too many, all are forgotten."""

    def __init__(self) -> None:
        self._formats: dict[tuple[str, ...], RowFormat] = {}

    def of(self, names: tuple[str, ...]) -> RowFormat:
        known = self._formats.get(names)
        if known is None:
            if len(self._formats) >= MOST_FORMATS:
                self._formats = {}
            known = self._formats[names] = RowFormat(names)
        return known
