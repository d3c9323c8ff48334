"""Read one run: series, samples, spans and every other table, while it is written or long after.

`Run` is the door of the store for views, the server and the command line. They ask its methods and
never touch its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rollscope.errors import CannotRead
from rollscope.store.live.tail import Tail
from rollscope.store.log.frame import Damage
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.series import grid, metric_list, metric_series

from . import arguments, run_json, state
from .lazy import LazyModule
from .naming import AsWritten, Naming
from .retry import retried
from .state import Record
from .table_reader import Columns, TableReader

if TYPE_CHECKING:
    import pyarrow as pa

    from rollscope.store.tables import clocks, rollups
    from rollscope.store.tables.rollups import Rollups
else:  # reading a series needs none of these
    clocks, rollups = LazyModule("rollscope.store.tables.clocks"), LazyModule("rollscope.store.tables.rollups")

Derived = Callable[["Run"], Mapping[str, Points]]
Value = TypeVar("Value")
SERIES_FILTERS = ("attempt", "env", "split")  # of `series()`, beside steps and rank


def no_derived(run: Run) -> Mapping[str, Points]:
    """The store computes no series of its own."""
    return {}


class Run(TableReader):
    """A reader of one run's folder.

    `partials` rebuilds partials that are more than a row of numbers, `naming` knows names and
    units, and `derived` computes series that are not stored, from the run's samples and spans.
    """

    def __init__(
        self,
        path: str,
        partials: PartialOf = nothing_more,
        naming: Naming | None = None,
        derived: Derived = no_derived,
    ) -> None:
        super().__init__(path, partials)
        self.naming = naming or AsWritten()
        self._derived = derived
        self._remembered: dict[str, tuple[int, Any]] = {}
        self._companions: dict[str, Any] = {}

    # ---- results kept for callers

    def remember(self, key: str, make: Callable[[], Value]) -> Value:
        """Call `make` and keep its result until the run changes."""
        entry = self._remembered.get(key)
        if entry is None or entry[0] != self.version:
            entry = self._remembered[key] = (self.version, make())
        return entry[1]

    def companion(self, key: str, make: Callable[[], Value]) -> Value:
        """Call `make` once and keep its result for as long as this reader lives."""
        if key not in self._companions:
            self._companions[key] = make()
        return self._companions[key]  # type: ignore[no-any-return]

    # ---- the run as a whole

    @cached_property
    def id(self) -> str:
        return str(self.facts["id"])

    @property
    @retried
    def facts(self) -> dict[str, Any]:
        """`run.json`, updated by the rows of the runs table."""
        return self.remember("facts", lambda: state.facts(self.folder))

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.facts.get("config") or {})

    @property
    def declared(self) -> dict[str, Any]:
        return run_json.usable_ranges(self.facts.get("declared"))

    @property
    @retried
    def state(self) -> str:
        """running, finished, crashed or killed."""
        return state.state(self.folder)

    @property
    def damage(self) -> list[Damage]:
        """Bytes of the run's files that could not be read, as far as they were looked at."""
        return self.folder.damage

    @property
    def last_step(self) -> int | None:
        """The last step at which anything was logged."""
        return self.folder.last_step

    @property
    def step_range(self) -> tuple[int, int]:
        """The first and the last step at which anything was logged."""
        steps, last = self.steps()["step"], self.last_step
        last = self.facts.get("step") if last is None else last
        return (int(steps[0]) if len(steps) else 0), max(int(steps[-1]) if len(steps) else 0, int(last or 0))

    @property
    def time_range(self) -> tuple[int | None, int | None]:
        """The first and the last time at which anything was logged, in nanoseconds."""
        return self.folder.time_range

    @property
    def resumes(self) -> int:
        """How many attempts took over from an earlier one."""
        return len(self.folder.resumed)

    @retried
    def record(self) -> Record:
        """The run as a row of the runs table, with JSON columns parsed."""
        row = state.row(self.folder)
        return Record({name: self.facts.get(name) if name in state.JSON else row[name] for name in row})

    def logs(self) -> list[Tail]:
        """The logs of the run that are not sealed."""
        return list(self.folder.tails.values())

    @property
    def live_bytes(self) -> int:
        """How many bytes of logs this reader has decoded and holds in memory."""
        return sum(tail.offset - tail.start for tail in self.folder.tails.values())

    def check_readable(self) -> None:
        """Raise CannotRead if nothing of the run can be read, and say why."""
        damage = self.damage if self.folder.is_empty() else []
        if damage:
            raise CannotRead(f"nothing of the run {self.folder.name!r} can be read: {damage[0].says}")

    def close(self) -> None:
        """Forget results kept for callers, some of which refer back to this reader.

        A question that is being answered goes on, and the next one computes them again.
        """
        self._remembered.clear()
        self._companions.clear()
        self.__dict__.pop("_rollups", None)

    @retried
    def verify(self) -> list[Damage]:
        """Read and check every sealed byte; return all damage."""
        for sealed in self.folder.sets:
            sealed.verify()
        return self.damage

    # ---- metrics

    def stored_names(self) -> list[str]:
        """Names that were logged, in order."""
        return self.folder.names()

    def is_stored(self, name: str) -> bool:
        """True if something was logged under this very name."""
        return name in self.folder.locations()

    def derived(self) -> Mapping[str, Points]:
        """Series by name that are computed from samples and spans, not stored."""
        return self.remember("derived", lambda: self._derived(self))

    @retried
    def metrics(self) -> Columns:
        """Every name with its kind, unit, number of points, and its last value and step."""
        return self.remember("metrics", lambda: metric_list.columns(self.folder, self.derived(), self.naming.unit))

    @retried
    def series(
        self,
        name: str,
        steps: Any = None,
        points: int | None = None,
        rank: int | None = None,
        x: str = "step",
        **where: Any,
    ) -> Columns:
        """Read a metric by our name or any framework's: every value, or at most `points` buckets.

        Buckets keep every spike. `steps` is a (first, last) pair, a range, a slice or a list of
        steps; `rank` selects one rank's own values; `attempt=`, `env=` and `split=` select further.
        """
        arguments.known("series()", where, SERIES_FILTERS)
        points = arguments.integer("points", points, 1)
        series = self._points(self._name(name), rank=arguments.integer("rank", rank), **where)
        series = metric_series.within(series, steps)
        if points is not None:
            return metric_series.bucketed(series, self._clock(x)(series.step, series.time_ns), points)
        columns = metric_series.exact(series)
        return columns if x == "step" else {**columns, "x": self._clock(x)(series.step, series.time_ns)}

    @retried
    def buckets(self, names: Sequence[str], lo: float, hi: float, points: int, x: str = "step") -> Columns:
        """Many series on one grid of `points` buckets between lo and hi.

        Each statistic is a matrix of series by buckets, NaN where nothing was logged.
        """
        count = arguments.integer("points", points, 1) or 1
        stored = [self._name(name) for name in arguments.words("names", names) or ()]
        return grid.on_grid(self.folder, stored, lo, hi, count, self._clock(x), self._points)

    def ranks_at(self, name: str, step: int) -> list[int]:
        """Ranks that logged a stored name at a step, in order."""
        rows = self.folder.rows(name)
        ranks: list[int] = np.unique(rows.rank[rows.step == step]).tolist()
        return ranks

    def _name(self, name: str) -> str:
        arguments.words("the name of a metric", [name])
        stored = self.folder.locations()
        if name in stored:
            return name
        return self.naming.find(name, stored.keys() | self.derived().keys(), self.facts.get("framework"))

    def _points(self, name: str, **where: Any) -> Points:
        derived = {} if self.is_stored(name) else self.derived()
        return derived[name] if name in derived else metric_series.points(self.folder, name, **where)

    def _clock(self, x: str) -> grid.Clock:
        """A function from steps and times to the readings of a clock."""
        readings = self.steps() if x not in ("step", "time", "relative") else {}
        started = int(self.facts.get("started_ns") or 0)
        return lambda step, time_ns: metric_series.on_clock(step, time_ns, x, readings, started)

    @retried
    def steps(self) -> Columns:
        """Every step with all its clocks, one row per step."""
        return self.remember("steps", lambda: clocks.steps(self.folder))

    # ---- statistics of samples

    @retried
    def rollups(self) -> pa.Table:
        """Sample statistics per step, environment and fate; see `store/numbers/rollup.py`."""
        return self._rollups.table()

    @retried
    def rollup_parts(self) -> tuple[pa.Table | None, pa.Table | None]:
        """The same in two parts: a table that seldom changes, and the steps computed since."""
        return self._rollups.parts()

    @cached_property
    def _rollups(self) -> Rollups:
        return rollups.Rollups(self.folder, lambda: self.declared)
