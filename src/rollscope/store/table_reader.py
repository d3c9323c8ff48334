"""Read the tables of one run: Arrow, numpy columns and SQL, and full-text search."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rollscope.store.numbers.partial_sums import PartialOf
from rollscope.store.numbers.step_marks import StepMarks
from rollscope.store.sealed import select
from rollscope.store.tables import sql

from . import arguments, state
from .folder import Folder
from .lazy import LazyModule
from .retry import retried

if TYPE_CHECKING:
    import pyarrow as pa

    from rollscope.store.live.tail import Tail
    from rollscope.store.tables import coded, sample_rows, sql_views, tables
    from rollscope.store.tables.metric_function import Asked
    from rollscope.store.text import search
    from rollscope.store.text.search import Hit

    from . import arrow
else:  # opening a run and reading a series need none of these
    arrow, search = LazyModule("rollscope.store.arrow"), LazyModule("rollscope.store.text.search")
    coded, sample_rows, sql_views, tables = (
        LazyModule(f"rollscope.store.tables.{name}") for name in ("coded", "sample_rows", "sql_views", "tables")
    )

Columns = dict[str, NDArray[Any]]
Value = TypeVar("Value")


class TableReader:
    """The files of one run and the tables in them. `Run` adds facts, metrics and statistics."""

    def __init__(self, path: str, partials: PartialOf) -> None:
        self.folder = Folder(path, partials)
        self.folder.refresh()
        self._remembered: dict[str, tuple[int, Any]] = {}
        self._companions: dict[str, Any] = {}

    # ---- results kept for callers

    def remember(self, key: str, make: Callable[[], Value]) -> Value:
        """Call `make` and keep its result until the run changes, and no longer."""
        version = self.version
        entry = self._remembered.get(key)
        if entry is None or entry[0] != version:
            self._remembered = {name: kept for name, kept in self._remembered.items() if kept[0] == version}
            made = make()  # may itself ask for something to be remembered
            entry = self._remembered[key] = (version, made)
        return entry[1]

    def companion(self, key: str, make: Callable[[], Value]) -> Value:
        """Call `make` once and keep its result for as long as this reader lives."""
        if key not in self._companions:
            self._companions[key] = make()
        return self._companions[key]  # type: ignore[no-any-return]

    def forget(self, *companions: str) -> None:
        """Drop what is remembered until the run changes, and some companions, to save memory."""
        self._remembered.clear()
        for key in companions:
            self._companions.pop(key, None)

    # ---- tables

    @property
    def path(self) -> str:
        return self.folder.path

    @property
    def version(self) -> int:
        """A number that grows whenever `refresh()` finds something new."""
        return self.folder.version

    def refresh(self) -> bool:
        """Look for rows written since the last look; True if there are any."""
        return self.folder.refresh()

    def logs(self) -> list[Tail]:
        """The logs of the run that are not sealed."""
        return list(self.folder.tails.values())

    @property
    def live_bytes(self) -> int:
        """How many bytes of logs this reader has decoded and holds in memory."""
        return sum(tail.held for tail in self.folder.tails.values())

    def has(self, table: str) -> bool:
        """True if any row was written to a table."""
        return self.folder.has(table)

    @property
    def first_step(self) -> int:
        """The first step of the latest attempt; 0 if it is the first."""
        attempt = int(self.folder.facts().get("attempt") or 1)
        nothing_yet = (self.folder.last_step or 0) + 1 if attempt > 1 else 0
        return self.folder.resumed.get(attempt, nothing_yet)

    @retried
    def sql(self, query: str, parameters: Any = None, as_arrow: bool = False, seconds: float = sql.SECONDS) -> Any:
        """Answer a read-only query over views named like the tables. Stop it after `seconds`.

        `metric('name')` after FROM is the series of a name, ours or any framework's.
        """
        rows = sql_views.ask([self.folder], query, parameters, seconds, self.asked_in_sql)
        return rows if as_arrow else sql.columns(rows)

    def asked_in_sql(self, name: str) -> Sequence[Asked]:
        """The series that `metric('name')` means; tables alone know none."""
        return ()

    def sql_stream(self, query: str, seconds: float) -> Generator[Any]:
        """Answer a query of any size: yield its Arrow schema, then its record batches."""
        schema, batches = self._begun(query, seconds)
        with closing(batches):  # also if nobody asks for a batch
            yield schema
            yield from batches

    @retried
    def _begun(self, query: str, seconds: float) -> tuple[Any, Generator[Any]]:
        batches = sql_views.stream([self.folder], query, seconds)
        return next(batches), batches

    @retried
    def table(self, name: str, columns: Sequence[str] | None = None, as_arrow: bool = False) -> Any:
        """Read a table, without rows that an abandoned attempt wrote.

        Samples come as one row each, metrics as they were written.
        """
        columns = arguments.words("columns", columns)
        if name == "samples":
            rows = sample_rows.ask(self.folder, None, None, None, columns, None, None)
        else:
            rows = tables.read(self.folder, name, columns)
        return rows if as_arrow else arrow.numpy(rows, tables.types(name))

    @retried
    def coded(self, table: str, columns: Sequence[str]) -> pa.Table:
        """Narrow columns of a table, words as dictionaries, without rows of abandoned attempts."""
        return coded.read(self.folder, table, columns)

    @retried
    def rows_of_steps(self, table: str, steps: Sequence[int]) -> pa.Table:
        """The narrow columns of a table for some steps, without rows of abandoned attempts."""
        return tables.of_steps(self.folder, table, steps)

    def drop_abandoned(self, rows: pa.Table) -> pa.Table:
        """Rows of a table without those whose step a later attempt took over."""
        return tables.alive(self.folder, rows)

    @retried
    def count_by_step(self, table: str) -> StepMarks:
        """How many rows of `samples` or `spans` each step has, over all attempts."""
        sealed = [sealed.steps_of(table) for sealed in self.folder.sets]
        return StepMarks.sum(sealed + [tail.steps_of(table) for tail in self.folder.tails.values()])

    def open_spans(self) -> list[dict[str, Any]]:
        """Spans that have begun and not ended; `alive` is False if their process is gone."""
        return state.open_spans(self.folder)

    @retried
    def spans(
        self,
        lo_ns: int | None = None,
        hi_ns: int | None = None,
        lanes: Sequence[str] | None = None,
        step: int | None = None,
        as_arrow: bool = False,
    ) -> Any:
        """Spans that overlap a stretch of time, on some lanes, of a step; ordered by start."""
        rows = tables.spans(self.folder, lo_ns, hi_ns, arguments.words("lanes", lanes), arguments.integer("step", step))
        return rows if as_arrow else arrow.numpy(rows, tables.types("spans"))

    @retried
    def samples(
        self,
        where: str | None = None,
        order_by: str | None = None,
        limit: int | None = None,
        columns: Sequence[str] | None = None,
        step: int | None = None,
        ids: Sequence[str] | None = None,
        as_arrow: bool = False,
    ) -> Any:
        """Samples, one row each however often they were written. `where` and `order_by` are SQL.

        Without `columns`, all columns are read.
        """
        limit, step = arguments.integer("limit", limit, 0), arguments.integer("step", step)
        columns, ids = arguments.words("columns", columns), arguments.words("ids", ids)
        rows = sample_rows.ask(self.folder, where, order_by, limit, columns, step, ids)
        return rows if as_arrow else arrow.numpy(rows, tables.types("samples"))

    @retried
    def samples_of_steps(self, columns: Sequence[str], steps: Sequence[int]) -> pa.Table:
        """Samples of some steps as Arrow, with at least these columns."""
        return sample_rows.read(self.folder, columns, steps)

    def let_go(self) -> dict[str, int]:
        """What a rule of a lake let go of, `text` or `tokens`, and when, in nanoseconds.

        Such a column is null, and was not when it was recorded.
        """
        return select.let_go_of(self.folder.sets)

    def sample(self, id: str) -> Mapping[str, Any]:
        """Every column of one sample."""
        return tables.one_sample(self.samples(ids=[id]), id)

    def search(
        self,
        text: str,
        columns: Sequence[str] = ("completion", "prompt"),
        ignore_case: bool = False,
        regex: bool = False,
        limit: int | None = None,
    ) -> Iterator[Hit]:
        """Yield samples that contain `text`, newest first. Close the iterator to stop."""
        limit = arguments.integer("limit", limit, 0)
        texts = arguments.words("columns", columns) or ()
        return islice(search.search(self.folder, text, texts, ignore_case, regex), limit)

    def search_batches(
        self, text: str, columns: Sequence[str] | None = None, ignore_case: bool = False
    ) -> Generator[list[Hit]]:
        """The same in batches, some of them empty; a caller can stop between two of them.

        Searches all text columns unless `columns` names some.
        """
        return search.batches(self.folder, text, search.TEXTS if columns is None else columns, ignore_case)

    @retried
    def turns(self, sample: str | Sequence[str] | None = None, as_arrow: bool = False) -> Any:
        """The turns of one sample, of several, or of all, in order."""
        rows = tables.turns(self.folder, [sample] if isinstance(sample, str) else sample)
        return rows if as_arrow else arrow.numpy(rows, tables.types("turns"))

    @retried
    def evals(self, set: str | None = None) -> Columns:
        """Evaluation rows, of all sets or of one."""
        rows: pa.Table = tables.read(self.folder, "evals", None)
        if set is not None:
            rows = rows.filter(np.array([name == set for name in rows["set"].to_pylist()], bool))
        return arrow.numpy(rows, tables.types("evals"))

    def findings(self) -> Columns:
        """Findings that a doctor wrote while the run ran: one row for each change of its life."""
        return self.table("findings")  # type: ignore[no-any-return]

    def notes(self) -> Columns:
        return self.table("notes")  # type: ignore[no-any-return]

    def host(self) -> Columns:
        return self.table("host")  # type: ignore[no-any-return]
