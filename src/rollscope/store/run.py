"""One run, read: series, samples, spans, everything its folder holds, while it is being written or long after."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.frame import Damage
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.partial_sums import Partials, nothing_more
from rollscope.store.series import grid, metric_series, same_shape
from rollscope.store.tables import sql

from . import arguments, state
from .folder import Folder
from .lazy import Later
from .name_index import Place

if TYPE_CHECKING:
    import pyarrow as pa

    from rollscope.store.tables import clocks, rollups, sample_rows, sql_views, tables
    from rollscope.store.tables.rollups import Rollups
    from rollscope.store.text import search
    from rollscope.store.text.search import Hit

    from . import arrow
else:  # a series needs none of these
    arrow, search = Later("rollscope.store.arrow"), Later("rollscope.store.text.search")
    clocks, rollups, sample_rows, sql_views, tables = (
        Later(f"rollscope.store.tables.{name}") for name in ("clocks", "rollups", "sample_rows", "sql_views", "tables")
    )

Columns = dict[str, NDArray[Any]]
WHERE = ("attempt", "env", "split")  # what a series may be asked for beside its steps and its rank


class Record(dict[str, Any]):
    """A small record: `record.id` and `record["id"]` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Naming(Protocol):
    """What a reader may know about names: which stored name is meant by another, and the unit of one."""

    def find(self, name: str, known: Collection[str], dialect: str | None) -> str: ...

    def unit(self, name: str) -> str: ...


class AsWritten:
    """Names are what was logged, and nothing is known about them."""

    def find(self, name: str, known: Collection[str], dialect: str | None) -> str:
        return name

    def unit(self, name: str) -> str:
        return ""


def _last_of(points: Points) -> tuple[str, int, float, int, int]:
    n = len(points)
    return (
        ("view", n, float(points.value[-1]), int(points.step[-1]), int(points.time_ns[-1]))
        if n
        else ("view", 0, np.nan, -1, -1)
    )


Answer = TypeVar("Answer")
Asked = ParamSpec("Asked")


def steady(ask: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """A question that is asked again when files it was reading were sealed or merged meanwhile."""

    @wraps(ask)
    def again(*args: Asked.args, **more: Asked.kwargs) -> Answer:
        run = args[0]
        assert isinstance(run, Run)
        for _ in range(5):
            seen = run.folder.version
            try:
                return ask(*args, **more)
            except FileNotFoundError:
                run.refresh()
                if run.folder.version == seen:  # another thread may have looked again before this one did
                    raise
        return ask(*args, **more)

    return again


class Run:
    def __init__(self, path: str, partials: Partials = nothing_more, naming: Naming | None = None) -> None:
        self.folder = Folder(path, partials)
        self.naming = naming or AsWritten()
        self.folder.refresh()
        self._kept: dict[str, tuple[int, Any]] = {}

    def refresh(self) -> bool:
        """Look for what was written since; True if there is anything."""
        return self.folder.refresh()

    def _keep(self, key: str, make: Any) -> Any:
        """What `make` gave, until the folder changes."""
        kept = self._kept.get(key)
        if kept is None or kept[0] != self.folder.version:
            kept = self._kept[key] = (self.folder.version, make())
        return kept[1]

    # ---- what it is

    @cached_property
    def id(self) -> str:
        return str(self.facts["id"])

    @property
    @steady
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self._keep("facts", lambda: state.facts(self.folder))
        return found

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.facts.get("config") or {})

    @property
    def declared(self) -> dict[str, Any]:
        return dict(self.facts.get("declared") or {})

    @property
    @steady
    def state(self) -> str:
        return state.state(self.folder)

    @property
    def damage(self) -> list[Damage]:
        return self.folder.damage

    @steady
    def record(self) -> Record:
        """What a list of runs shows: the columns of the runs table."""
        found = {
            name: self.facts.get(name) if name in ("config", "environment", "declared", "tags") else value
            for name, value in state.row(self.folder).items()
        }
        return Record(found)

    @steady
    def verify(self) -> list[Damage]:
        """Read every sealed byte of the run and check it; what does not hold."""
        for piece in self.folder.sets:
            piece.verify()
        return self.damage

    # ---- metrics

    @steady
    def metrics(self) -> Columns:
        """Every name with its kind, unit, number of points, and its last value and step."""
        return self._keep("metrics", self._metrics)  # type: ignore[no-any-return]

    def derived(self) -> Mapping[str, Points]:
        """Series that are not stored but made of samples and spans. The store makes none; a view over it may."""
        return {}

    def _metrics(self) -> Columns:
        places, derived = self.folder.places(), self.derived()
        names = sorted(places.keys() | derived.keys())
        together = self._lasts([name for name in names if name in places and not places[name].simple])
        lasts = [
            together.get(name) or (self._last(name, places[name]) if name in places else _last_of(derived[name]))
            for name in names
        ]
        columns = list(zip(*lasts, strict=True)) or [()] * 5
        return {
            "name": np.array(names, object),
            "kind": np.array(columns[0], object),
            "unit": np.array([self.naming.unit(name) for name in names], object),
            "count": np.array(columns[1], np.int64),
            "last": np.array(columns[2], np.float64),
            "step": np.array(columns[3], np.int64),
            "time_ns": np.array(columns[4], np.int64),
        }

    def _lasts(self, names: list[str]) -> dict[str, tuple[str, int, float, int, int]]:
        """The same as `_last`, of names that many processes log alike."""
        found, places = {}, self.folder.places()
        for group in same_shape.groups(self.folder, names):
            for some, p in group.points(since=max(int(shape.pieces[-1].step[-1]) for shape in group.shapes)):
                for i, name in enumerate(some):
                    rows = sum(int(part.rows[k]) for part, k in places[name].parts)
                    found[name] = (group.kind, rows, float(p.value[-1, i]), int(p.step[-1]), int(p.time_ns[-1]))
        return found

    def _last(self, name: str, place: Place) -> tuple[str, int, float, int, int]:
        """Kind, rows, and the last value with its step and time."""
        part, i = place.parts[-1]
        rows = sum(int(at.rows[k]) for at, k in place.parts)
        if place.simple:
            return part.kind[i], rows, float(part.last[i]), int(part.hi[i]), int(part.time_ns[i])
        points = metric_series.points(self.folder, name, last=True)
        at = len(points) - 1
        return (
            part.kind[i],
            rows,
            *(
                (float(points.value[at]), int(points.step[at]), int(points.time_ns[at]))
                if at >= 0
                else (np.nan, -1, -1)
            ),
        )

    @steady
    def series(
        self,
        name: str,
        steps: Any = None,
        points: int | None = None,
        rank: int | None = None,
        x: str = "step",
        **where: Any,
    ) -> Columns:
        """A metric, by our name or any framework's. Without `points` every merged value; with it buckets that lose no spike.

        `steps` is a (first, last) pair, a range or the steps; `rank` one rank's own values; further `attempt=`, `env=`, `split=`.
        """
        arguments.known("series()", where, WHERE)
        points = arguments.whole("points", points, 1)
        found = metric_series.within(self._points(self._name(name), rank=arguments.whole("rank", rank), **where), steps)
        if points is None:
            columns = metric_series.exact(found)
            return columns if x == "step" else {**columns, "x": self._clock(x)(found.step, found.time_ns)}
        return metric_series.bucketed(found, self._clock(x)(found.step, found.time_ns), points)

    @steady
    def buckets(self, names: Sequence[str], lo: float, hi: float, points: int, x: str = "step") -> Columns:
        """Many series on one grid of `points` buckets between lo and hi: matrices of series by buckets, NaN where nothing was logged."""
        count = arguments.whole("points", points, 1) or 1
        return grid.on_grid(
            self.folder,
            [self._name(name) for name in arguments.words("names", names) or ()],
            lo,
            hi,
            count,
            self._clock(x),
            self._points,
        )

    def _name(self, name: str) -> str:
        arguments.words("the name of a metric", [name])
        places = self.folder.places()
        if name in places:
            return name
        return self.naming.find(name, places.keys() | self.derived().keys(), self.facts.get("framework"))

    def _points(self, name: str, **where: Any) -> Points:
        derived = self.derived() if name not in self.folder.places() else {}
        return derived[name] if name in derived else metric_series.points(self.folder, name, **where)

    def _clock(self, x: str) -> grid.Clock:
        """Steps and times to a clock's readings."""
        readings = self.steps() if x not in ("step", "time", "relative") else {}
        started = int(self.facts.get("started_ns") or 0)
        return lambda step, time_ns: metric_series.on_clock(step, time_ns, x, readings, started)

    @steady
    def steps(self) -> Columns:
        """Every step with all its clocks, one row each."""
        return self._keep("steps", lambda: clocks.steps(self.folder))  # type: ignore[no-any-return]

    # ---- tables

    @steady
    def sql(self, query: str, parameters: Any = None, as_arrow: bool = False, seconds: float = sql.SECONDS) -> Any:
        """The answer to a question over views named like the tables, as columns. It can only read, and it is stopped after `seconds`."""
        found = sql_views.ask([self.folder], query, parameters, seconds)
        return found if as_arrow else arrow.numpy(found, {}, ours=[arrow.ESCAPED])

    def sql_stream(self, query: str, seconds: float) -> Iterator[Any]:
        """The same for an answer of any size: its Arrow schema, then one record batch after the other."""
        return sql_views.stream([self.folder], query, seconds)

    @steady
    def table(self, name: str, columns: Sequence[str] | None = None, as_arrow: bool = False) -> Any:
        """A whole table: samples put together from all rows about them, metrics as they were written, of the others the rows that count."""
        columns = arguments.words("columns", columns)
        found = (
            sample_rows.ask(self.folder, None, None, None, columns, None, None)
            if name == "samples"
            else tables.whole(self.folder, name, columns)
        )
        return found if as_arrow else arrow.numpy(found, tables.types(name))

    @steady
    def spans(
        self,
        lo_ns: int | None = None,
        hi_ns: int | None = None,
        lanes: Sequence[str] | None = None,
        step: int | None = None,
        as_arrow: bool = False,
    ) -> Any:
        """Spans that touch a stretch of time, on some lanes, of a step; by start."""
        found = tables.spans(self.folder, lo_ns, hi_ns, arguments.words("lanes", lanes), arguments.whole("step", step))
        return found if as_arrow else arrow.numpy(found, tables.types("spans"))

    @steady
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
        """Samples, one row each however often they were written about. `where` and `order_by` are SQL; without `columns`, all of them."""
        limit, step = arguments.whole("limit", limit, 0), arguments.whole("step", step)
        found = sample_rows.ask(
            self.folder, where, order_by, limit, arguments.words("columns", columns), step, arguments.words("ids", ids)
        )
        return found if as_arrow else arrow.numpy(found, tables.types("samples"))

    def sample(self, id: str) -> Mapping[str, Any]:
        """Everything about one sample."""
        return tables.one_sample(self.samples(ids=[id]), id)

    @steady
    def rollups(self) -> pa.Table:
        """Sample statistics per step, environment and fate, as `store/numbers/rollup.py` says."""
        return self._rollups.table()

    @steady
    def rollup_parts(self) -> tuple[pa.Table | None, pa.Table | None]:
        """The same in two parts: what is kept, which seldom becomes another table, and what was added since."""
        return self._rollups.parts()

    @cached_property
    def _rollups(self) -> Rollups:
        return rollups.Rollups(self.folder, lambda: self.declared)

    def search(
        self,
        text: str,
        columns: Sequence[str] = ("completion", "prompt"),
        ignore_case: bool = False,
        regex: bool = False,
        limit: int | None = None,
    ) -> Iterator[Hit]:
        """Samples whose text holds `text`, newest first, each as soon as it is found. Stop asking (or close it) and it stops looking."""
        return islice(
            search.search(self.folder, text, arguments.words("columns", columns) or (), ignore_case, regex),
            arguments.whole("limit", limit, 0),
        )

    @steady
    def turns(self, sample: str | Sequence[str] | None = None, as_arrow: bool = False) -> Any:
        """What was said in a sample, in some, or in all, turn by turn."""
        found = tables.turns(self.folder, [sample] if isinstance(sample, str) else sample)
        return found if as_arrow else arrow.numpy(found, tables.types("turns"))

    @steady
    def evals(self, set: str | None = None) -> Columns:
        found: pa.Table = tables.whole(self.folder, "evals", None)
        rows = (
            found if set is None else found.filter(np.array([name == set for name in found["set"].to_pylist()], bool))
        )
        return arrow.numpy(rows, tables.types("evals"))

    def findings(self) -> Columns:
        return self.table("findings")  # type: ignore[no-any-return]

    def notes(self) -> Columns:
        return self.table("notes")  # type: ignore[no-any-return]

    def host(self) -> Columns:
        return self.table("host")  # type: ignore[no-any-return]
