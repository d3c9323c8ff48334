"""Open a folder of runs, or the folder of one run.

The store knows columns only. `rollscope.open` adds the catalogue: names of any framework, units,
and larger partials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rollscope.errors import NotFound, nearest
from rollscope.store.log.files import NAME
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.tables import sql

from . import arguments
from .lazy import LazyModule
from .naming import Naming
from .run import Derived, Run, no_derived

if TYPE_CHECKING:
    from rollscope.store.tables import sql_views

    from . import arrow
else:
    arrow, sql_views = LazyModule("rollscope.store.arrow"), LazyModule("rollscope.store.tables.sql_views")


def is_run(path: str) -> bool:
    """True if a folder is a run: it has a `run.json` or a log."""
    if os.path.exists(os.path.join(path, "run.json")):
        return True
    try:
        return any(NAME.fullmatch(entry.name) for entry in os.scandir(path))
    except (NotADirectoryError, FileNotFoundError):
        return False


class Store:
    """The runs in a folder. Readers stay open, so the next question reads only new bytes."""

    def __init__(
        self,
        path: str,
        partials: PartialOf = nothing_more,
        naming: Naming | None = None,
        reader: type[Run] = Run,
        derived: Derived = no_derived,
    ) -> None:
        self.path, self._reader = path, reader
        self._partials, self._naming, self._derived = partials, naming, derived
        self._runs: dict[str, Run] = {}

    def ids(self) -> list[str]:
        if is_run(self.path):
            return [os.path.basename(os.path.abspath(self.path))]
        return sorted(entry.name for entry in os.scandir(self.path) if entry.is_dir() and is_run(entry.path))

    def runs(self) -> list[dict[str, Any]]:
        """A record of each run, newest first."""
        records = [self.run(id).record() for id in self.ids()]
        return sorted(records, key=lambda record: record["started_ns"] or 0, reverse=True)

    def run(self, id: str | None = None) -> Run:
        """A run by its id, by its name if unique, or the only one. Refreshes an open reader."""
        known = self.ids()
        if id is None and len(known) == 1:
            id = known[0]
        if id not in known:
            id = self._by_name(id, known)
        if id not in self._runs:
            path = self.path if is_run(self.path) else os.path.join(self.path, id)
            self._runs[id] = self._reader(path, self._partials, self._naming, self._derived)
        else:
            self._runs[id].refresh()
        return self._runs[id]

    def opened(self, id: str) -> Run | None:
        """The reader of a run that `run()` has opened, as it stands; None if it has not."""
        return self._runs.get(id)

    def _by_name(self, name: str | None, known: list[str]) -> str:
        if name is None:
            raise NotFound(f"{self.path} holds {len(known)} runs: say which. {', '.join(known[:5])}")
        arguments.words("the id of a run", [name])
        named = [id for id in known if self.run(id).facts.get("name") == name or id.startswith(name)]
        if len(named) != 1:
            also = f" {len(named)} runs fit: {', '.join(named[:5])}." if named else nearest(name, known)
            raise NotFound(f"no run {name!r} in {self.path}, which has {len(known)}.{also} List them all: rollscope ls")
        return named[0]

    def sql(self, query: str, parameters: Any = None, as_arrow: bool = False, seconds: float = sql.SECONDS) -> Any:
        """Answer a query over all runs at once; the column `run` tells them apart."""
        rows = sql_views.ask([run.folder for run in self], query, parameters, seconds)
        return rows if as_arrow else arrow.numpy(rows, {}, ours=[arrow.ESCAPED])

    def __iter__(self) -> Iterator[Run]:
        return (self.run(id) for id in self.ids())


def open(
    path: str | os.PathLike[str] = "",
    partials: PartialOf = nothing_more,
    naming: Naming | None = None,
    reader: type[Run] = Run,
    derived: Derived = no_derived,
) -> Store:
    """Open a folder of runs (default: `ROLLSCOPE_DIR`, else `./runs`), or of one run."""
    path = os.fspath(path) or os.environ.get("ROLLSCOPE_DIR") or "runs"
    if not os.path.isdir(path):
        raise NotFound(
            f"no folder {path!r}. Runs are kept in $ROLLSCOPE_DIR, else ./runs;"
            " record one with rollscope.init(), or see one with: rollscope demo"
        )
    return Store(path, partials, naming, reader, derived)
