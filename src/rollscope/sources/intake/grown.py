"""Tables that grow: a program logs the rows so far again, with the new ones behind them.

veRL and OpenRLHF do so at each evaluation, and W&B stores each table whole. A row that was logged
before is no new sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .tables import STEP, holds_samples


class Grown:
    """Knows the last table of each name by its number of rows and their digest."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, str]] = {}

    @property
    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on in another process."""
        return {"tables": {name: list(last) for name, last in self._last.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._last.update({name: (int(rows), str(digest)) for name, (rows, digest) in state.get("tables", {}).items()})

    def first_new(self, name: str, columns: Sequence[Any], rows: Sequence[Any]) -> int:
        """The row at which the new ones begin; 0 if this is another table or no generated text.

        A table of the same rows is logged again only if they name their step. Otherwise they are
        the same answers at another step.
        """
        words = [str(column) for column in columns]
        if not holds_samples(words):
            return 0
        count, digest = self._last.get(name, (0, ""))
        sum, is_longer = hashlib.blake2b(digest_size=16), False
        _add(sum, words)
        for i, row in enumerate(rows):
            is_longer = is_longer or (i == count and sum.hexdigest() == digest)
            _add(sum, row)
        self._last[name] = len(rows), sum.hexdigest()
        is_same = self._last[name] == (count, digest) and any(word.lower() in STEP for word in words)
        return count if is_longer or is_same else 0


def _add(sum: hashlib.blake2b, row: Sequence[Any]) -> None:
    """Add a row. Most of it is text, which is not spelled as JSON: this is the trainer's time."""
    for cell in row:
        is_text = isinstance(cell, str)
        content = cell if is_text else json.dumps(cell, default=_object, skipkeys=True)
        encoded = content.encode("utf-8", "surrogatepass")
        sum.update(b"%d %d " % (is_text, len(encoded)))
        sum.update(encoded)
    sum.update(b"\n")


def _object(value: Any) -> str:
    """A picture or another object in a cell: the same one is in the table that follows."""
    return f"{type(value).__name__} {value!s}" if hasattr(value, "dtype") else f"{type(value).__name__} {id(value)}"
