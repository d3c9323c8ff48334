"""What is known of a growing file from the last look at it, while the process that reads it lives.

A span that is repeated later in the file is taken once, and the turns and tokens of a sample go on.
Another process reads the file from its start to know as much.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from .batch import Known

FILES = 4  # that are kept: a collector writes one for each signal


@dataclass(frozen=True, slots=True)
class Look:
    """Up to where a file was read and each run has all of it, and what is known of the runs."""

    at: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)


class Looks:
    """The last look at each file. One that is taken is gone until it is kept again."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, Look] = OrderedDict()

    def taken(self, path: Path, ends: dict[str, int]) -> Look:
        """The last look at a file, if the runs have what was read then; else one at its start."""
        look = self._of.pop(str(path), None)
        return look if look is not None and ends and look.ends == ends else Look()

    def keep(self, path: Path, look: Look) -> None:
        self._of[str(path)] = look
        if len(self._of) > FILES:
            self._of.popitem(last=False)
