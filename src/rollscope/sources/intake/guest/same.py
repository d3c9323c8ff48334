"""Which ids of dumps stand for which samples of the run, kept beside its logs.

A line is added before the rows that it is about. So it is known after a restart whose the rows of
an id are, and which samples have met a row.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

NAME = "same.import.jsonl"


class Same:
    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._ids = _read(self._path)  # id in a dump -> id of the run's own recording
        self._met = set(self._ids.values())

    def get(self, id: str) -> str | None:
        """The sample of the run that an id of a dump stands for."""
        return self._ids.get(id)

    def is_met(self, id: str) -> bool:
        """True for a sample of the run's own that a row was for."""
        return id in self._met

    def add(self, ids: Mapping[str, str | None]) -> None:
        """Say what ids stand for from now on; None: for no sample of the run."""
        new = {theirs: own for theirs, own in ids.items() if self._ids.get(theirs) != own}
        if not new:
            return
        with self._path.open("a", encoding="utf-8") as file:
            lines = (json.dumps(pair) + "\n" for pair in new.items())
            file.write("".join(["\n", *lines]))  # ends a line that was cut off by a kill or a full disk
        _put(self._ids, new)
        self._met |= {own for own in new.values() if own is not None}


def _put(ids: dict[str, str], new: Mapping[str, str | None]) -> None:
    for theirs, own in new.items():
        if own is None:
            ids.pop(theirs, None)
        else:
            ids[theirs] = own


def _read(path: Path) -> dict[str, str]:
    """The pairs of a file. A line that was not written to its end is left out."""
    ids: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
        for line in file:
            with contextlib.suppress(ValueError, TypeError):
                theirs, own = json.loads(line)
                _put(ids, {str(theirs): None if own is None else str(own)})
    return ids
