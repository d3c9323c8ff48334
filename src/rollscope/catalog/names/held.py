"""What the names of one run mean: for each of our names, the series of the run that hold it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rollscope.errors import RollscopeError

from .index import canonical
from .match import Match
from .resolve import lookup
from .spoken import Spoken, spoken
from .units import unit_of

EVALUATED = ("eval", "bench", "val-core", "val-aux")  # first words of names that are computed alike
WORDS = {"accuracy": "acc", "acc": "accuracy"}  # two words for one score
INDEX = re.compile(r"^\d+_")  # the position of an operator in its name: `0_reward_filter`


@dataclass(frozen=True, slots=True)
class Held:
    """A series of a run that holds one of our quantities: stored = scale * ours."""

    stored: str
    match: Match

    @property
    def scale(self) -> float:
        return self.match.via.scale if self.match.via else 1.0

    @property
    def counts(self) -> str:
        """Which samples it counts: a scope, or empty for all, their fate not known."""
        return self.match.scope or (self.match.via.scope if self.match.via else "")


class RunNames:
    """The names of one run, read in the dialect that it speaks."""

    def __init__(self, names: Collection[str], framework: str | None = None, algorithm: str | None = None) -> None:
        self.names = names
        self.spoken: Spoken = spoken(names, framework, algorithm)

    def match(self, stored: str) -> Match | None:
        """The meaning of a stored name; None if the catalogue has none, or several."""
        return meaning(stored, self.spoken.dialect)

    def unit(self, stored: str) -> str:
        """The unit of a series as it is stored."""
        return unit_of(self.match(stored))

    @cached_property
    def by_our_names(self) -> dict[str, list[Held]]:
        """Our name -> the series that hold it; one logged under our name first, training's next."""
        found: dict[str, list[Held]] = defaultdict(list)
        for stored in self.names:
            if (match := self.match(stored)) is not None and match.same:
                for name in our_names(match):
                    found[name].append(Held(stored, match))
        for series in found.values():
            series.sort(key=lambda held: (held.match.via is not None, held.match.evaluation, held.stored))
        return found


@lru_cache(100_000)
def meaning(name: str, dialect: str | None) -> Match | None:
    try:
        return lookup(name, dialect)
    except RollscopeError:
        return None


def our_names(match: Match) -> Iterator[str]:
    """Our name for what a name means, with its statistic; an operator also without its position."""
    yield full_name(match, match.scope)
    operator = dict(match.bindings).get("operator", "")
    if INDEX.match(operator):
        yield full_name(match, match.scope, operator=INDEX.sub("", operator))


def other_words(name: str) -> str:
    """The name with `acc` for `accuracy`, or the other way round.

    >>> other_words("eval/x/accuracy/mean@4"), other_words("acc"), other_words("reward")
    ('eval/x/acc/mean@4', 'accuracy', 'reward')
    """
    return "/".join(WORDS.get(part, part) for part in name.split("/"))


def other_heads(name: str) -> list[str]:
    """A name of an evaluation with each other first word.

    >>> other_heads("bench/x/acc/mean@4")
    ['eval/x/acc/mean@4', 'val-core/x/acc/mean@4', 'val-aux/x/acc/mean@4']
    """
    first, _, rest = name.partition("/")
    return [f"{word}/{rest}" for word in EVALUATED if word != first] if first in EVALUATED and "/" in rest else []


def full_name(match: Match, scope: str, **bindings: str) -> str:
    """Our name in a scope. A distribution without a statistic is its mean."""
    stat = match.stat or ("mean" if match.entry.kind == "distribution" else "")
    return canonical(match.entry, stat, scope, {**dict(match.bindings), **bindings})
