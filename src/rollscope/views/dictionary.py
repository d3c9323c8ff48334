"""What the names of a run mean: the entry of each logged name, and the series of each of our names.

A run logged under our names is read as is; a run of a framework is read through its dialect. A name
that the catalogue does not know is still a series, without an entry.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.names import held
from rollscope.catalog.names.dialect import Dialect
from rollscope.catalog.names.held import RunNames
from rollscope.catalog.names.match import Match
from rollscope.catalog.names.rename import keys_for
from rollscope.catalog.names.spoken import spoken
from rollscope.catalog.names.units import unit_of
from rollscope.catalog.spec import Metric
from rollscope.store.naming import Logged
from rollscope.store.run import Run

MOST_KEPT = 5000  # names of a run whose meanings are kept


@dataclass(frozen=True, slots=True)
class Meaning:
    """A logged name and its match in the catalogue. If `same`, ours = logged / scale."""

    logged: str
    match: Match | None

    @property
    def name(self) -> str:
        """Our name, or the logged one if the catalogue has none."""
        return self.match.name if self.match else self.logged

    @property
    def entry(self) -> Metric | None:
        return self.match.entry if self.match else None

    @property
    def stat(self) -> str:
        """The statistic in the name (`mean`, `std`, ...); empty if it has none."""
        return self.match.stat if self.match else ""

    @property
    def same(self) -> bool:
        """Is it our quantity, and not another one under a neighbouring name?"""
        return self.match is None or self.match.same

    @property
    def evaluation(self) -> bool:
        """Is it an evaluation's number under a training name (`eval_reward`)?"""
        return self.match is not None and self.match.evaluation

    @property
    def scale(self) -> float:
        return self.match.via.scale if self.match and self.match.via else 1.0

    @property
    def unit(self) -> str:
        """The unit in which the logged numbers are."""
        return unit_of(self.match)


@lru_cache(maxsize=65536)
def meaning(logged: str, dialect: str | None = None) -> Meaning:
    """The meaning of a logged name in a dialect. An ambiguous name has no match."""
    return Meaning(logged, held.meaning(logged, dialect or None))


def dialect_of(run: Run) -> str | None:
    """The dialect that a run speaks: by its framework, its algorithm and the names it logged."""
    facts = run.facts
    about = run.remember("dialect", lambda: spoken(run.stored_names(), facts.get("framework"), facts.get("algorithm")))
    return about.dialect


def by_our_names(
    logged: Collection[str], framework: str | None = None, algorithm: str | None = None
) -> dict[str, Meaning]:
    """Our name -> the logged series that holds this quantity.

    A series under our own name comes before training's series of a framework, and that before an
    evaluation's. A name that the catalogue does not know stands for itself.
    """
    run = RunNames(logged, framework, algorithm)
    ours = {name: Meaning(series[0].stored, series[0].match) for name, series in run.by_our_names.items()}
    return {name: Meaning(name, None) for name in logged if run.match(name) is None} | ours


def meanings_of(run: Run, logged: Collection[str]) -> dict[str, Meaning]:
    """Our name -> the series of a run, among these, that holds this quantity."""
    framework, algorithm = run.facts.get("framework"), run.facts.get("algorithm")
    if len(logged) > MOST_KEPT:
        return by_our_names(logged, framework, algorithm)
    return dict(_by_our_names(tuple(logged), framework, algorithm))


@lru_cache(maxsize=32)
def _by_our_names(logged: tuple[str, ...], framework: str | None, algorithm: str | None) -> dict[str, Meaning]:
    """A run has the same names at every step, and often those of another run."""
    return by_our_names(logged, framework, algorithm)


def in_dialect(run: Run, logged: Collection[str], dialect: str) -> list[Logged]:
    """The series of a run that a framework has a name for, under that name and in its unit.

    A name of that framework, and one that the catalogue does not know, stays as it is.
    """
    ours = {name: m for name, m in meanings_of(run, logged).items() if m.match is not None}
    keys = keys_for(ours, dialect)
    written = {key: (ours[name].logged, scale / ours[name].scale) for key, (name, scale) in keys.items()}
    written |= {name: (name, 1.0) for name in logged if _stays(meaning(name, dialect_of(run)), dialect)}
    return [Logged(key, stored, scale, meaning(key, dialect).unit) for key, (stored, scale) in written.items()]


def _stays(m: Meaning, dialect: str) -> bool:
    return m.match is None or (m.match.via is not None and Dialect.parse(dialect).speaks(m.match.via))


def stored_meanings(run: Run) -> dict[str, Meaning]:
    """Our name -> the stored series of a run that holds this quantity.

    Of a run that logged no number, such as a folder of dumps, those computed from its samples.
    """
    return meanings_of(run, run.stored_names() or list(run.derived()))
