"""From a name that a person asks for to the series of a run that answers: `find` and `find_all`.

The rule, in this order:

1. The name that the run logged is taken as it is, in the unit in which it was logged.
2. Else the name is read as ours, then in the dialect that the run speaks, then in every dialect
   that fits the run's algorithm; the first reading whose quantity the run holds is the answer.
   A `dialect` that is given comes first and alone, before ours.
3. A name that means the same number comes before one that means another quantity.
4. A distribution without a statistic is its mean, an operator needs no position. Of the samples, a
   name without a scope counts the trained ones where their fate is known.
5. A pattern is matched with the names that the run logged, else with what frameworks call them.
6. Evaluations are computed alike under `eval`, `bench`, `val-core` and `val-aux`, and `acc` is
   `accuracy`: what the run does not hold under one of them is found under another.
7. Numbers are answered in the unit of the name that was asked for.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from rollscope.errors import AmbiguousMetric, UnknownMetric

from . import not_found
from .dialect import Dialect
from .found import Found, as_logged
from .held import RunNames, other_heads, other_words
from .look import look, readings_of
from .match import Match
from .pattern import HOLE, spellings

__all__ = ["Found", "also", "find", "find_all"]
SEVERAL = 8  # names that an error lists


def find(asked: str, run: RunNames, dialect: str | None = None) -> Found:
    """The series that a name means on a run.

    Raises UnknownMetric if the run does not hold it, AmbiguousMetric if it holds several.
    """
    found = find_all(asked, run, dialect)
    if not found:
        readings = [match for matches in readings_of(asked, run, dialect) for match in matches]
        raise UnknownMetric(not_found.sentence(asked, run, dialect, readings))
    if len(found) > 1:
        raise AmbiguousMetric(_several(asked, found))
    return found[0]


def _several(asked: str, found: list[Found]) -> str:
    listed = ", ".join(one.stored for one in found[:SEVERAL])
    more = f" and {len(found) - SEVERAL} more" if len(found) > SEVERAL else ""
    return f"{asked!r} may mean {len(found)} metrics of this run: {listed}{more}. Ask for one of them."


def find_all(asked: str, run: RunNames, dialect: str | None = None) -> list[Found]:
    """The series that a name or a pattern means, in order; none if the run holds none.

    Braces may list choices, as in `critic/rewards/{mean,max}`. A name of the run is itself first.
    """
    if dialect is None and asked in run.names:
        return look(asked, run, dialect)
    found = [one for spelling in spellings(asked) for one in _matching(spelling.text, run, dialect)]
    return list({one.stored: one for one in found}.values())


def _matching(pattern: str, run: RunNames, dialect: str | None) -> list[Found]:
    if not any(sign in pattern for sign in "*?[{") or pattern in run.names:
        return look(pattern, run, dialect)
    glob = HOLE.sub("*", pattern)
    for spelt in (glob, *other_heads(glob), other_words(glob), *other_heads(other_words(glob))):
        if dialect is None and (names := fnmatch.filter(sorted(run.names), spelt)):
            return [as_logged(name, run) for name in names]
    keys = {key for name in run.names for key in also(run.match(name), dialect) if fnmatch.fnmatchcase(key, glob)}
    return [one for key in sorted(keys) for one in look(key, run, dialect)]


def also(match: Match | None, dialect: str | None = None) -> Iterator[str]:
    """The frameworks' keys for this statistic of an entry, with their placeholders filled."""
    if match is None:
        return
    speaks = Dialect.parse(dialect).speaks if dialect else None
    for name in match.entry.names:
        for spelling in spellings(name.key) if speaks is None or speaks(name) else ():
            key = spelling.fill(dict(match.bindings))
            if key is not None and (name.stat or spelling.stat or "mean") == (match.stat or "mean"):
                yield key
