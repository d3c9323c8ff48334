"""What the names of a run mean: the entry of each logged name, and the series of each of our names.

A run logged under our names is read as is; a run of a framework is read through its dialect. A name
that the catalogue does not know is still a series, without an entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.names.match import Match
from rollscope.catalog.names.resolve import lookup
from rollscope.catalog.spec import Metric
from rollscope.errors import RollscopeError
from rollscope.store.run import Run


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


@lru_cache(maxsize=65536)
def meaning(logged: str, framework: str | None = None) -> Meaning:
    """The meaning of a logged name. An ambiguous name has no match."""
    try:
        return Meaning(logged, lookup(logged, framework or None))
    except RollscopeError:
        return Meaning(logged, None)


def by_our_names(logged: Iterable[str], framework: str | None = None) -> dict[str, Meaning]:
    """Our name -> the logged series that holds this quantity.

    A series under our own name comes before training's series of a framework, and that before an
    evaluation's.
    """
    meanings = [meaning(name, framework) for name in logged]
    meanings.sort(key=lambda m: (m.logged != m.name, m.evaluation))
    ours: dict[str, Meaning] = {}
    for m in meanings:
        if m.same:
            ours.setdefault(m.name, m)
    return ours


def stored_meanings(run: Run) -> dict[str, Meaning]:
    """Our name -> the stored series of a run that holds this quantity."""
    return by_our_names(run.stored_names(), run.facts.get("framework"))
