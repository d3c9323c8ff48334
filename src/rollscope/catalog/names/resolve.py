"""From a name to the entry behind it: `resolve`, `lookup` and the list of all names.

A name without a dialect is ours if we have it, else the one entry that all dialects agree on, else
an error that lists the candidates.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import replace

from rollscope.catalog.spec import METRICS, Name
from rollscope.errors import AmbiguousMetric, UnknownMetric, nearest

from .dialect import FIRST, Dialect, dialect_of
from .index import Speaks, indexes
from .match import EVALUATION, Match
from .pattern import HOLE, NUMBERS
from .published import COMMON

PREFIXES = ("", "train/", *EVALUATION)  # trackers add `train/` or `eval/`, Hugging Face `eval_`


def resolve(name: str, dialect: str | None = None) -> Match:
    """Return the entry behind a name; `*` and `{placeholders}` match anything.

    Raises UnknownMetric if there is no such name and AmbiguousMetric if it has several meanings.
    """
    if "*" in name or "{" in name:
        return _resolve_pattern(name, dialect)
    match = lookup(name, dialect)
    if match is None:
        raise UnknownMetric(_unknown(name, dialect))
    return match


explain = resolve


def lookup(name: str, dialect: str | None = None) -> Match | None:
    """Return the entry behind a name, or None. A run may have names of its own."""
    ours = indexes()[0].find(name)
    if dialect is None and ours:
        return ours[0]
    for speaks in (Dialect.parse(dialect).speaks,) if dialect else (_is_of_the_first, None):
        if (match := _theirs(name, dialect, speaks)) is not None:
            return match
    return ours[0] if ours else None


def _theirs(name: str, dialect: str | None, speaks: Speaks | None) -> Match | None:
    """What a name means to the frameworks, seen through the prefix that a tracker put before it."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and (matches := indexes()[1].find(name.removeprefix(prefix), speaks)):
            match = _choose(name, dialect, matches)
            return replace(match, before=prefix) if prefix else match
    return None


def _is_of_the_first(name: Name | None) -> bool:
    return name is not None and name.framework in FIRST


def names_of(dialect: str | None = None) -> list[str]:
    """List all names of a dialect, or our own, patterns included."""
    ours, theirs = indexes()
    return sorted(ours.texts() if dialect is None else theirs.texts(_speaks(dialect)))


def _speaks(dialect: str | None) -> Speaks | None:
    return Dialect.parse(dialect).speaks if dialect else None


def _choose(name: str, dialect: str | None, matches: list[Match]) -> Match:
    """Pick the match if all mean the same number.

    Within one trainer, a name that is ours up to scale wins over one of another quantity.
    """
    matches = _nearest_trainer(dialect, matches)
    exact = {(m.via.framework, m.via.trainer) for m in matches if m.same and m.via}
    matches = [m for m in matches if m.same or m.via is None or (m.via.framework, m.via.trainer) not in exact]
    if len({m.name for m in matches}) == 1:
        return next((m for m in matches if m.same), matches[0])
    if dialect is None and name in COMMON:
        return resolve(name, COMMON[name])
    raise AmbiguousMetric(_ambiguous(name, dialect, matches))


def _nearest_trainer(dialect: str | None, matches: list[Match]) -> list[Match]:
    """Prefer the names of the dialect's trainer; without a trainer, a framework's general names."""
    wanted = bool(dialect and Dialect.parse(dialect).trainer)
    near = {m.via.framework for m in matches if m.via and bool(m.via.trainer) == wanted}
    return [m for m in matches if m.via is None or m.via.framework not in near or bool(m.via.trainer) == wanted]


def _ambiguous(name: str, dialect: str | None, matches: list[Match]) -> str:
    listed = "; ".join(sorted({f"{m.name} in {dialect_of(m.via)}" for m in matches if m.via}))
    narrower = "a dialect" if dialect is None else "a narrower dialect"
    example = dialect_of(next(m.via for m in matches if m.via))
    return f"{name!r} means different things: {listed}. Say which with {narrower}, such as dialect={example!r}."


def _unknown(name: str, dialect: str | None) -> str:
    ours, theirs = indexes()
    known = theirs.literals(_speaks(dialect)) | ours.literals()
    where = f"in the dialect {dialect!r}" if dialect else f"in the catalogue of {len(METRICS)} or in any dialect"
    return f"no metric {name!r} {where}.{nearest(name, known)} List them all: rollscope explain --list"


def _resolve_pattern(pattern: str, dialect: str | None) -> Match:
    for name in _fillings(pattern):
        try:
            return resolve(name, dialect)
        except UnknownMetric:
            continue
    names = sorted(_matching(HOLE.sub("*", pattern), dialect))
    if not names:
        raise UnknownMetric(f"no metric matches the pattern {pattern!r}. List them all: rollscope explain --list")
    return replace(resolve(names[0], dialect), also=tuple(names[1:]))


def _fillings(pattern: str) -> Iterable[str]:
    """Example names of a pattern: first with words and numbers in their holes, then all numbers."""
    words = HOLE.sub(lambda hole: "1" if hole.group(1) in NUMBERS else "any", pattern)
    for name in (words.replace("@*", "@1").replace("*", "any"), HOLE.sub("1", pattern).replace("*", "1")):
        if "{" not in name:  # an unclosed brace is not a placeholder
            yield name


def _matching(pattern: str, dialect: str | None) -> set[str]:
    ours, theirs = indexes()
    names = theirs.literals(_speaks(dialect)) if dialect else theirs.literals() | ours.literals()
    return {name for name in names if fnmatch.fnmatchcase(name, pattern)}
