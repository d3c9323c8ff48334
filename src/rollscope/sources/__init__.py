"""Where rows come from. A source is one module of this folder, for a framework or a file format; a module with `NAMES` is one.

`NAMES`                  what it is called, first the word people use
`recognises(path)`       is this file (or folder) one of its own? Cheap: a name and a few bytes
`rows(path, since)`      what the file holds, as a stream of the items below; `since` maps a run's id to the cursor of its last `Mark`
`attach(...)`            where it can run live, inside a trainer

Names and values are given as they were logged. What they mean is asked of the catalogue when they are read, through the dialect in `Run.framework`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import RollscopeError

__all__ = [
    "Item",
    "Mark",
    "Points",
    "Records",
    "Restart",
    "Run",
    "Since",
    "Skipped",
    "SourceError",
    "recogniser",
    "sources",
]


class SourceError(RollscopeError):
    """A file that cannot be read at all; damage inside a file is a `Skipped`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Whose rows come next. `facts` are columns of the `runs` table; `kind` tells two sources of one run apart (metrics here, samples there)."""

    id: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Points:
    """Numbers. Wide: `values` is [rows, names]. Long (with `index`): `values` is [rows], each of `names[index]`."""

    names: Sequence[str]
    step: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    index: NDArray[np.uint32] | None = None
    split: str = "train"
    rank: int = 0
    clock: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of any other table."""

    table: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not taken, and why, with the byte it begins at where there is one."""

    why: str
    path: Path
    offset: int | None = None

    def __str__(self) -> str:
        return f"{self.path}{'' if self.offset is None else f' at byte {self.offset}'}: {self.why}"


@dataclass(frozen=True, slots=True)
class Mark:
    """All before this is complete. `cursor` is what `rows` needs to go on from here; `done` of `total` are bytes, for a progress bar."""

    cursor: Any
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Restart:
    """The file is not a longer version of what was read before: what was taken from it is to be forgotten."""

    why: str


Item = Run | Points | Records | Skipped | Mark | Restart
Since = Mapping[str, Any]


def __getattr__(name: str) -> Any:
    """A source is imported when it is first asked for, as in `rollscope.sources.trl`."""
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def sources() -> Iterator[ModuleType]:
    """Every source, in the order of their names."""
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "NAMES") and hasattr(module, "rows"):
            yield module


def recogniser(path: Path) -> ModuleType | None:
    """The source a path belongs to. The more particular go first: a veRL log is JSONL too."""
    return next((module for module in _ordered() if module.recognises(path)), None)


@lru_cache(maxsize=1)
def _ordered() -> tuple[ModuleType, ...]:
    return tuple(sorted(sources(), key=lambda m: getattr(m, "ORDER", 0)))
