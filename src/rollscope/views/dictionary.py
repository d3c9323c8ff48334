"""What the names of a run mean: for each logged name its entry, and for each of our names the series that holds it.

A run logged under our own names reads as is; one that came from a framework reads through its dialect. A name that the
catalogue does not know is still a series: it simply has no entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.names.match import Match
from rollscope.catalog.names.resolve import lookup
from rollscope.errors import RollscopeError


@dataclass(frozen=True, slots=True)
class Meaning:
    """A logged name and what it stands for: `ours = logged / scale` where `same`."""

    logged: str
    found: Match | None

    @property
    def name(self) -> str:
        """Our name, or the logged one where we have none."""
        return self.found.name if self.found else self.logged

    @property
    def same(self) -> bool:
        return self.found is None or self.found.same

    @property
    def evaluation(self) -> bool:
        """Is it an evaluation's number under a training name (`eval_reward`)?"""
        return self.found is not None and self.found.evaluation

    @property
    def scale(self) -> float:
        return self.found.via.scale if self.found and self.found.via else 1.0


@lru_cache(maxsize=65536)
def meaning(logged: str, framework: str | None = None) -> Meaning:
    try:
        return Meaning(logged, lookup(logged, framework or None))
    except RollscopeError:  # ambiguous: shown under its own name
        return Meaning(logged, None)


def by_our_names(logged: Iterable[str], framework: str | None = None) -> dict[str, Meaning]:
    """Our name -> the logged series that is that quantity: one under our own name first, then training's, and an evaluation's where there is no other."""
    found: dict[str, Meaning] = {}
    for m in sorted((meaning(name, framework) for name in logged), key=lambda m: (m.logged != m.name, m.evaluation)):
        if m.same:
            found.setdefault(m.name, m)
    return found
