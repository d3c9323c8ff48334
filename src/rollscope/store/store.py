"""Open a folder of runs, or the folder of one run.

The store knows columns only. `rollscope.open` adds the catalogue: names of any framework, units,
and larger partials.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from rollscope.errors import AmbiguousMetric, BadInput, CannotRead, NotFound, RollscopeError, UnknownMetric, nearest
from rollscope.store.listing import unreadable
from rollscope.store.listing.allowed import Allowed, Sight
from rollscope.store.listing.entries import NEVER_RUNS, Entry, entries, is_run, look
from rollscope.store.listing.index import SETTLED_NS
from rollscope.store.listing.readers import Readers
from rollscope.store.listing.records import Records
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.project.entry import Entry as ProjectEntry
from rollscope.store.project.log import ProjectLog
from rollscope.store.project.marks import NONE, Marks, marked, marks
from rollscope.store.project.sample_marks import Member, SampleMarks, changes, removals, sample_marks, sets
from rollscope.store.project.seen_log import SeenLog
from rollscope.store.tables import sql

from . import arguments
from .lazy import LazyModule
from .naming import Naming
from .notes import write_rows
from .retry import TRIES
from .run import Derived, Run, no_derived
from .state import Record

if TYPE_CHECKING:
    import pyarrow as pa

    from rollscope.store.tables import sql_views
    from rollscope.store.tables.metric_function import Asked
else:
    sql_views = LazyModule("rollscope.store.tables.sql_views")

Result = TypeVar("Result")


class Store:
    """The runs in a folder. Readers stay open, so the next question reads only new bytes."""

    def __init__(
        self,
        path: str,
        partials: PartialOf = nothing_more,
        naming: Naming | None = None,
        reader: type[Run] = Run,
        derived: Derived = no_derived,
        allowed: Allowed | None = None,
    ) -> None:
        self.path, self._reader = path, reader
        self._sight = None if allowed is None else Sight(allowed)
        self._partials, self._naming, self._derived = partials, naming, derived
        self._readers: Readers[Run] = Readers(self.read)
        self._looked = (-1, False)  # when the folder last changed, and whether it is itself a run
        self._records = Records(path, self.entries, lambda entry: self._reader_of(entry.path))

    def check_writable(self) -> None:
        """Raise a sentence if these runs are only read."""

    def add_rows(self, run: Run, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to a table of a run, in a file of their own."""
        write_rows(run.path, table, rows)

    def entries(self) -> list[Entry]:
        """The runs of the folder as one look at the disk shows them; none is opened."""
        return [entry for entry in entries(self.path) if self._sees(entry)]

    def _sees(self, entry: Entry) -> bool:
        return self._sight is None or self._sight.sees(entry)

    def ids(self) -> list[str]:
        return [entry.id for entry in self.entries()]

    def runs(self) -> list[Record]:
        """A record of each run, newest first. A run that cannot be read is `unreadable`."""
        return self._marked(self._records.whole())

    def newest(self, most: int | None = None, project: str | None = None) -> list[Record]:
        """The same without configuration and environment: all runs, or the `most` newest."""
        return self._marked(self._records.newest(most, project))

    @cached_property
    def project(self) -> ProjectLog:
        """The log of what people say about these runs."""
        return ProjectLog(self.path) if self._sight is None else SeenLog(self.path, self._sight)

    def marks(self) -> dict[str, Marks]:
        """What people say about each run; a run that nobody spoke of is not there."""
        return marks(self.project)

    def sample_marks(self, run: str) -> dict[str, SampleMarks]:
        """What people say about samples of a run: star, labels, comments and sets, by sample id."""
        return sample_marks(self.project, self.run(run).id)

    def sets(self) -> dict[str, list[Member]]:
        """The sets that people collected, by name; each lists its samples with their runs."""
        return sets(self.project)

    def mark(
        self,
        run: str,
        samples: Sequence[str],
        star: bool = False,
        labels: Sequence[str] = (),
        comment: str = "",
        sets: Sequence[str] = (),
        remove: bool = False,
    ) -> list[ProjectEntry]:
        """Star, label and comment samples, and put them into sets; or take these marks away.

        Returns the entries of the project log, whose ids undo it.
        """
        reader, ids = self.run(run), list(dict.fromkeys(samples))
        _check_samples(reader, ids)
        wanted = (
            reader.id,
            ids,
            star,
            arguments.words("labels", labels) or [],
            comment,
            arguments.words("sets", sets) or [],
        )
        made = removals(self.project, *wanted) if remove else changes(*wanted)
        if not remove and not made:
            raise BadInput("there is nothing to say about the samples: give a star, labels, a comment or sets")
        return self.project.append_all(made) if made else []

    def _marked(self, rows: list[dict[str, Any]]) -> list[Record]:
        said = self.marks()
        return [Record(marked(row, said.get(row["id"], NONE))) for row in rows]

    def run(self, id: str | None = None) -> Run:
        """A run by its id, by its name if unique, or the only one. Refreshes an open reader."""
        if id is None or self.entry(id) is None:
            id = self._by_name(id)
        reader = self._readers.get(id)
        if reader is None:
            return self._readers.open(id)
        self._checked(id, reader.refresh)
        return reader

    def entry(self, id: str) -> Entry | None:
        """The run of this id as a look at its folder shows it; None if there is none."""
        arguments.words("the id of a run", [id])
        found = self._look(id)
        return found if found is not None and self._sees(found) else None

    def _look(self, id: str) -> Entry | None:
        if self._is_one_run():
            return look(id, self.path) if id == os.path.basename(os.path.abspath(self.path)) else None
        inside = os.path.basename(id) == id and id not in ("", os.curdir, os.pardir, *NEVER_RUNS)
        return look(id, os.path.join(self.path, id)) if inside else None

    def read(self, id: str) -> Run:
        """A new reader of a run, which the store does not keep."""
        if self._sight is not None and self.entry(id) is None:
            raise NotFound(f"no run {id[:80]!r} in {self.path}. List them all: rollscope ls")
        path = self.path if self._is_one_run() else os.path.join(self.path, id)
        return self._checked(id, lambda: self._reader_of(path))

    def _is_one_run(self) -> bool:
        """True if the folder is itself a run. Looked at again when the folder changes."""
        changed_ns = os.stat(self.path).st_mtime_ns
        if self._looked[0] != changed_ns or time.time_ns() - changed_ns < SETTLED_NS:
            self._looked = changed_ns, is_run(self.path)
        return self._looked[1]

    def _reader_of(self, path: str) -> Run:
        return self._reader(path, self._partials, self._naming, self._derived)

    def _checked(self, id: str, read: Callable[[], Result]) -> Result:
        """Read a run's files; an error of the disk becomes a sentence about this run."""
        try:
            return read()
        except FileNotFoundError:  # removed, or sealed meanwhile: the caller looks again
            raise
        except OSError as error:
            raise CannotRead(unreadable.sentence(id, error)) from error

    def _by_name(self, name: str | None) -> str:
        known = self.ids()
        if name is None and len(known) == 1:
            return known[0]
        if name is None:
            raise NotFound(f"{self.path} holds {len(known)} runs: say which. {', '.join(known[:5])}")
        named = [row["id"] for row in self.newest() if row["name"] == name or row["id"].startswith(name)]
        if len(named) != 1:
            also = f" {len(named)} runs fit: {', '.join(named[:5])}." if named else nearest(name, known)
            raise NotFound(f"no run {name!r} in {self.path}, which has {len(known)}.{also} List them all: rollscope ls")
        return str(named[0])

    def sql(self, query: str, parameters: Any = None, as_arrow: bool = False, seconds: float = sql.SECONDS) -> Any:
        """Answer a query over all runs at once; the column `run` tells them apart."""
        rows = self._answer(query, parameters, seconds)
        return rows if as_arrow else sql.columns(rows)

    def _answer(self, query: str, parameters: Any, seconds: float) -> pa.Table:
        """Ask, and ask again if compaction removed a file: each look at the runs refreshes them."""
        for _ in range(TRIES):
            with contextlib.suppress(FileNotFoundError):
                return sql_views.ask([run.folder for run in self], query, parameters, seconds, self._asked_in_sql)
        return sql_views.ask([run.folder for run in self], query, parameters, seconds, self._asked_in_sql)

    def _asked_in_sql(self, name: str) -> Sequence[Asked]:
        """The series of a name on each run that holds it. Raises if none does."""
        answers: list[Asked] = []
        says: RollscopeError | None = None
        for run in self:
            try:
                answers += run.asked_in_sql(name)
            except (UnknownMetric, AmbiguousMetric) as error:
                says = error
        if not answers and says is not None:
            raise says
        return answers

    def __iter__(self) -> Iterator[Run]:
        """Every run that can be read. A warning tells of each one that cannot."""
        for id in self.ids():
            try:
                yield self.run(id)
            except (CannotRead, FileNotFoundError) as error:
                warnings.warn(unreadable.sentence(id, error), stacklevel=2)


def _check_samples(run: Run, ids: Sequence[str]) -> None:
    """Raise NotFound if the run has no sample with one of these ids."""
    if not ids:
        raise BadInput("name at least one sample, by its id")
    found = set(run.samples(ids=ids, columns=["id"])["id"])
    for id in ids:
        if id not in found:
            raise NotFound(f"run {run.id} has no sample {id[:80]!r}; `rollscope samples {run.id}` shows their ids")


def open(
    path: str | os.PathLike[str] = "",
    partials: PartialOf = nothing_more,
    naming: Naming | None = None,
    reader: type[Run] = Run,
    derived: Derived = no_derived,
    allowed: Allowed | None = None,
) -> Store:
    """Open a folder of runs (default: `ROLLSCOPE_DIR`, else `./runs`), or of one run.

    With `allowed`, the store has these runs alone, and what people say about them.
    """
    path = os.fspath(path) or os.environ.get("ROLLSCOPE_DIR") or "runs"
    if not os.path.isdir(path):
        raise NotFound(
            f"no folder {path!r}. Runs are kept in $ROLLSCOPE_DIR, else ./runs;"
            " record one with rollscope.init(), or see one with: rollscope demo"
        )
    return Store(path, partials, naming, reader, derived, allowed)
