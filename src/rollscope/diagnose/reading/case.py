"""The run as rules read it: series by our names, numbers from samples, evaluations, host, record.

A case is kept with its reader. After a refresh it reads only what was added. `until` shows the run
as it was at a step, so one can ask what the doctor would have said then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rollscope.diagnose.curves.series import NonFinite, Series
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, meanings_of, stored_meanings
from rollscope.views.steps import step_statistics

from . import about, evaluation
from .evaluation import Evaluation
from .live_numbers import LiveNumbers
from .non_finite import non_finite

Value = TypeVar("Value")
COMPANION = "doctor"  # of a reader: its case
COVERED = 0.8  # of the steps of a logged series: what samples say of fewer does not replace it


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity of one device over time."""

    device: str
    time_ns: NDArray[np.int64]
    value: NDArray[np.float64]


class Case:
    """One run, read once and again as it grows."""

    def __init__(self, run: Run, until: int | None = None) -> None:
        self.run, self.step = run, until
        self._version = -1
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, run: Run) -> Case:
        """The case that belongs to a reader."""
        return run.companion(COMPANION, lambda: cls(run))

    @staticmethod
    def forget(run: Run) -> None:
        """Drop what was read for a diagnosis that is over; what would be read again stays."""
        run.forget(COMPANION)

    def until(self, step: int) -> Case:
        """The same run as it was at a step."""
        return Case(self.run, step)

    def _keep(self, key: Hashable, make: Callable[[], Value]) -> Value:
        if self._version != self.run.version:
            self._version = self.run.version
            self._kept.clear()
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[no-any-return]

    # ---- series

    def meanings(self) -> dict[str, Meaning]:
        """Our name -> the series of the run that holds this quantity."""

        def read() -> dict[str, Meaning]:
            names = sorted({*self.run.stored_names(), *self.run.derived()})
            return meanings_of(self.run, names) | self._denser()

        return self._keep("meanings", read)

    def _denser(self) -> dict[str, Meaning]:
        """Logged series whose steps the samples cover in part: a run may keep few samples."""
        derived = self.run.derived()
        logged = {name: m for name, m in stored_meanings(self.run).items() if name in derived and m.same}
        return {
            name: m
            for name, m in logged.items()
            if len(derived[name]) < COVERED * len(self.run.series(m.logged)["step"])
        }

    def series(self, names: tuple[str, ...]) -> Series | None:
        """The defined points of the first name that has any."""
        for name in names:
            meaning = self.meanings().get(name)
            series = None if meaning is None else self._read(meaning)
            if series is not None:
                return series
        return None

    def like(self, prefix: str) -> dict[str, Series]:
        """The series whose names begin with a prefix."""
        found = {name: self._read(m) for name, m in self.meanings().items() if name.startswith(prefix)}
        return {name: series for name, series in found.items() if series is not None}

    def _read(self, meaning: Meaning) -> Series | None:
        return self._keep(("series", meaning.logged), lambda: self._points(meaning))

    def _points(self, meaning: Meaning) -> Series | None:
        columns = self.run.series(meaning.logged)
        step, value = np.asarray(columns["step"], np.int64), np.asarray(columns["value"], np.float64)
        value = value if meaning.scale == 1 else value / meaning.scale
        step, value = self._continued(meaning, step, value)
        defined = np.isfinite(value)
        series = Series(step[defined], value[defined], meaning.logged).until(self.step)
        return series if len(series) else None

    def _continued(self, meaning: Meaning, step: Any, value: Any) -> tuple[Any, Any]:
        """The points, and those of later steps that only samples have: a step that never closed."""
        if not self.run.has("samples") or not self.run.is_stored(meaning.logged):
            return step, value
        more = self._keep("statistics", lambda: step_statistics(self.run)).get(meaning.name)
        later = more["step"] > (step[-1] if len(step) else -1) if more is not None else np.empty(0, bool)
        if more is None or not later.any():
            return step, value
        return np.concatenate([step, more["step"][later]]), np.concatenate([value, more["value"][later]])

    def non_finite(self) -> list[NonFinite]:
        return self._keep("non finite", lambda: non_finite(self.run, self.step))

    # ---- samples

    def aggregate(self, name: str) -> Series | None:
        """A number per step that is made from samples."""
        numbers: LiveNumbers = self.run.companion("doctor numbers", lambda: LiveNumbers(self.run))
        series = numbers.series(name)
        series = None if series is None else series.until(self.step)
        return series if series is not None and len(series) else None

    # ---- everything else

    def evaluations(self) -> list[Evaluation]:
        def read() -> list[Evaluation]:
            return evaluation.evaluations(self.run, self.meanings().values(), self._read)

        return [e for one in self._keep("evaluations", read) if len((e := one.until(self.step)).series)]

    def gauges(self, name: str) -> list[Gauge]:
        if not self.run.has("host"):
            return []
        rows = self._keep("host", self.run.host)
        mine = rows["name"] == name
        devices = sorted({str(device) for device in rows["device"][mine]})
        return [self._gauge(rows, mine & (rows["device"] == device), device) for device in devices]

    def _gauge(self, rows: dict[str, Any], mine: Any, device: str) -> Gauge:
        time_ns, value = np.asarray(rows["time_ns"][mine], np.int64), np.asarray(rows["value"][mine], np.float64)
        known = np.isfinite(value)
        return Gauge(device, time_ns[known], value[known])

    def about(self) -> about.About:
        known = self._keep("about", lambda: about.about(self.run))
        return known if self.step is None else known.until(self.step)
