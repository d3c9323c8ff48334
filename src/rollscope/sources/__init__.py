"""Sources: where rows are imported from. A source is a module of this folder that has `NAMES`.

`NAMES`              its names; the first is the one people use
`recognises(path)`   True if the file or folder is in its format; reads at most the first bytes
`rows(path, since)`  the content as a stream of the items below; `since` maps a run id to the cursor
                     of its last `Mark`, and reading continues there
`attach(...)`        records live, inside a trainer (only where a framework allows it)

Names and values are passed on as they were logged. The catalogue explains them at reading time,
through the dialect in the fact `framework`.

Rooms: `files` reads other people's file formats, `intake` is what importers share, `live` is what
live integrations share, `capture` is what `rollscope run` does inside the program it starts.
`sandbox` runs `recognises` and `rows` in a process that can do nothing but read: a file may be
hostile. A source still reads in linear time and within the bounds of `files`, so that damage costs
only a part.
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
from typing import TYPE_CHECKING, Any

from rollscope.errors import RollscopeError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "NO_STEP",
    "Item",
    "Keep",
    "Mark",
    "Points",
    "Records",
    "Restart",
    "RunStart",
    "Since",
    "Skipped",
    "SourceError",
    "recogniser",
    "sources",
]


NO_STEP = "it does not say to which step its rows belong: give --step N"


class SourceError(RollscopeError):
    """The file cannot be read at all. Damage inside a file is a `Skipped`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """The items that follow belong to this run. `facts` are columns of the `runs` table.

    `kind` separates two sources of one run, such as one for metrics and one for samples. `alone`
    says why these rows cannot be added to another run, if they cannot.
    """

    id: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """Numbers, in one of two shapes.

    Wide: `values` is [rows, names]. Long (with `index`): `values` is [rows], and row i is a value
    of `names[index[i]]`.
    """

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
    """Something that was not imported, why, and the byte where it begins if that is known."""

    why: str
    path: Path
    offset: int | None = None

    def __str__(self) -> str:
        return f"{self.path}{'' if self.offset is None else f' at byte {self.offset}'}: {self.why}"


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything before this is complete, and `rows` can continue here from `cursor`.

    `done` of `total` bytes are read; the progress bar shows it.
    """

    cursor: Any
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Restart:
    """The file is not a longer version of the one imported before: drop what came from it."""

    why: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a copy of the file that is read, under this name in `media/` of the run.

    A sample points to it. The copy is made outside the locked process, and of no other file.
    """

    name: str


Item = RunStart | Points | Records | Skipped | Mark | Restart | Keep
Since = Mapping[str, Any]


def __getattr__(name: str) -> Any:
    """Import a source when it is first used, as in `rollscope.sources.trl`."""
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def sources() -> Iterator[ModuleType]:
    """Every source that reads files, sorted by module name."""
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "NAMES") and hasattr(module, "rows"):
            yield module


def recogniser(path: Path) -> ModuleType | None:
    """The source that reads a path. Specific sources are asked first: a veRL log is JSONL too."""
    return next((module for module in _ordered() if module.recognises(path)), None)


@lru_cache(maxsize=1)
def _ordered() -> tuple[ModuleType, ...]:
    return tuple(sorted(sources(), key=lambda m: getattr(m, "ORDER", 0)))
