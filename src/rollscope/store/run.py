"""Read one run: series, samples, spans and every other table, while it is written or long after.

`Run` is the door of the store for views, the server and the command line. They ask its methods and
never touch its folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rollscope.errors import CannotRead, MetricWarning
from rollscope.store.log.frame import Damage
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.series import grid, metric_list, metric_series, non_finite
from rollscope.store.series.columns import SeriesColumns

from . import arguments, run_json, state
from .lazy import LazyModule
from .naming import AsWritten, Found, Logged, Naming, RunNaming
from .retry import retried
from .state import Record
from .table_reader import Columns, TableReader

if TYPE_CHECKING:
    import pyarrow as pa

    from rollscope.store.tables import clocks, rollups
    from rollscope.store.tables.metric_function import Asked
    from rollscope.store.tables.rollups import Rollups
else:  # reading a series needs none of these
    clocks, rollups = LazyModule("rollscope.store.tables.clocks"), LazyModule("rollscope.store.tables.rollups")

Derived = Callable[["Run"], Mapping[str, Points]]
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
    @retried
    def last_step(self) -> int | None:
        """The last step at which anything was logged."""
        return self.folder.last_step

    @property
    @retried
    def step_range(self) -> tuple[int, int]:
        """The first and the last step at which anything was logged."""
        steps, logged = self.steps()["step"], self.folder.last_step
        last = int((self.facts.get("step") if logged is None else logged) or 0)
        known = int(steps[-1]) if len(steps) else self.folder.last_sampled_step  # an import has no clocks
        return (int(steps[0]) if len(steps) else 0), max(known, last)

    @property
    @retried
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

    @retried
    def stored_names(self) -> list[str]:
        """Names that were logged, in order."""
        return self.folder.names()

    @retried
    def is_stored(self, name: str) -> bool:
        """True if something was logged under this very name."""
        return name in self.folder.locations()

    @retried
    def non_finite(self) -> dict[str, str]:
        """Logged names with NaN or infinity in any row, and their kinds. Their series say more."""
        seen = self.companion("sets seen for what is not finite", non_finite.SeenSets)
        return {name: self.folder.locations()[name].kind for name in seen.with_any(self.folder)}

    def derived(self) -> Mapping[str, Points]:
        """Series by name that are computed from samples and spans, not stored."""
        return self.remember("derived", lambda: self._derived(self))

    @retried
    def metrics(self) -> Columns:
        """Every name with its kind, unit, number of points, and its last value and step."""
        return self.remember("metrics", lambda: metric_list.columns(self.folder, self.derived(), self._naming().unit))

    @retried
    def find(self, name: str, dialect: str | None = None) -> Found:
        """The series that a name means on this run, its unit, and how the name was read.

        Raises UnknownMetric if the run does not hold it, AmbiguousMetric if it holds several.
        """
        arguments.words("the name of a metric", [name])
        return self._naming(name, dialect).find(name, dialect)

    @retried
    def find_all(self, pattern: str, dialect: str | None = None) -> Sequence[Found]:
        """Every series that a name or a pattern such as `critic/rewards/*` means; none if none."""
        arguments.words("the name of a metric", [pattern])
        return self._naming(pattern, dialect).find_all(pattern, dialect)

    def _naming(self, name: str | None = None, dialect: str | None = None) -> RunNaming:
        stored = self.folder.locations().keys()
        if dialect is None and name in stored:  # it means itself: no need to read samples for other names
            return self.remember("naming of stored", lambda: self.naming.of(stored, self.facts))
        return self.remember("naming", lambda: self.naming.of(stored | self.derived().keys(), self.facts))

    @retried
    def series(
        self,
        name: str,
        steps: Any = None,
        points: int | None = None,
        rank: int | None = None,
        x: str = "step",
        dialect: str | None = None,
        **where: Any,
    ) -> SeriesColumns:
        """Read a metric by our name or any framework's: every value, or at most `points` buckets.

        Buckets keep every spike. `steps` is a (first, last) pair, a range, a slice or a list of
        steps; `rank` selects one rank's own values; `attempt=`, `env=` and `split=` select further.
        Numbers are in the unit of the name, which the answer has as `unit`; a warning tells if the
        name promises another quantity. `dialect` says whose name it is.
        """
        arguments.known("series()", where, SERIES_FILTERS)
        found = self._found(name, dialect)
        if found.warning:
            warnings.warn(found.warning, MetricWarning, stacklevel=3)
        return SeriesColumns(self.series_of(found, steps, points, rank, x, **where), lambda: self.find(name, dialect))

    @retried
    def series_of(
        self,
        found: Found,
        steps: Any = None,
        points: int | None = None,
        rank: int | None = None,
        x: str = "step",
        **where: Any,
    ) -> Columns:
        """The same for a name that was found; it gives no warning."""
        points = arguments.integer("points", points, 1)
        series = self._points(found.stored, rank=arguments.integer("rank", rank), **where)
        series = metric_series.scaled(metric_series.within(series, steps), found.scale)
        if points is not None:
            return metric_series.bucketed(series, self._clock(x)(series.step, series.time_ns), points)
        columns = metric_series.exact(series)
        return columns if x == "step" else {**columns, "x": self._clock(x)(series.step, series.time_ns)}

    @retried
    def buckets(
        self, names: Sequence[str], lo: float, hi: float, points: int, x: str = "step", env: str = ""
    ) -> Columns:
        """Many series on one grid of `points` buckets between lo and hi.

        Each statistic is a matrix of series by buckets, NaN without values, in the name's unit.
        """
        count = arguments.integer("points", points, 1) or 1
        found = [self._found(name, None) for name in arguments.words("names", names) or ()]
        stored = {name: i for i, name in enumerate(dict.fromkeys(one.stored for one in found))}
        columns = grid.on_grid(self.folder, list(stored), lo, hi, count, self._clock(x), self._points, env)
        return grid.scaled(columns, [stored[one.stored] for one in found], [one.scale for one in found])

    def asked_in_sql(self, name: str) -> Sequence[Asked]:
        """The series that `metric('name')` means on this run; see `find`."""
        from rollscope.store.tables.metric_function import Asked  # needs Arrow, which a series does not

        found = self.find(name)
        return [Asked(self.id, found, self.series_of(found), self.is_stored(found.stored))]

    def ranks_at(self, name: str, step: int) -> list[int]:
        """Ranks that logged a stored name at a step, in order."""
        rows = self.folder.rows(name)
        return [int(rank) for rank in np.unique(rows.rank[rows.step == step])]

    def _found(self, name: str, dialect: str | None) -> Found:
        """What a name means. A name that was logged needs no look at the catalogue."""
        arguments.words("the name of a metric", [name])
        return Logged(name, name) if dialect is None and self.is_stored(name) else self._naming().find(name, dialect)

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
