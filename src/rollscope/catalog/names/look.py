"""What a name may mean on a run: its readings, the nearest first, and the series that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .dialect import FIRST, LATER, Dialect
from .found import Found, answer, as_logged, counted
from .held import Held, RunNames, full_name, other_heads, other_words
from .index import indexes
from .match import EVALUATION, Match
from .published import COMMON
from .resolve import PREFIXES

OTHER = {"trained": "generated", "generated": "trained"}


def look(asked: str, run: RunNames, dialect: str | None = None) -> list[Found]:
    """What a name means by the first reading that the run holds: one, several, or none.

    A name that has none may have some with `acc` for `accuracy`, or the other way round.
    """
    found, other = _look(asked, run, dialect), other_words(asked)
    if found or other == asked:
        return found
    return [_in_other_words(asked, one) for one in _look(other, run, dialect)]


def _in_other_words(asked: str, found: Found) -> Found:
    why = "; ".join(filter(None, (f"{asked} is {found.asked} in this run", found.why)))
    return replace(found, asked=asked, why=why)


def _look(asked: str, run: RunNames, dialect: str | None) -> list[Found]:
    if dialect is None and (found := _logged(asked, run)):
        return found
    readings = list(readings_of(asked, run, dialect))
    for matches in readings:
        found = _best([one for match in matches for one in _held(asked, match, run)])
        if len(found) > 1 and dialect is None and asked in COMMON:
            return look(asked, run, COMMON[asked])
        if found:
            return _of_its_trainer(found, asked, matches, run)
    return [as_logged(asked, run)] if asked in run.names and not any(readings) else []


def _of_its_trainer(found: list[Found], asked: str, matches: list[Match], run: RunNames) -> list[Found]:
    """Of several series, the one that trainers of the run's algorithm mean by the name."""
    own = [match for match in matches if match.via and match.via.trainer and run.spoken.trains(match.via)]
    narrower = _best([one for match in own for one in _held(asked, match, run)]) if len(found) > 1 else []
    return narrower if len(narrower) == 1 else found


def _logged(asked: str, run: RunNames) -> list[Found]:
    """The series that was logged under this name, else under it with another tracker's prefix."""
    if asked in run.names:
        return [as_logged(asked, run)]
    if indexes()[0].find(asked):
        return []
    evaluation = asked.startswith(EVALUATION)
    prefixes = EVALUATION if evaluation else ("", "train/")
    bare = next((asked.removeprefix(prefix) for prefix in prefixes if prefix and asked.startswith(prefix)), asked)
    stored = [prefix + bare for prefix in prefixes if prefix + bare in run.names]
    return [replace(as_logged(name, run), asked=asked, why=f"the run logs it as {name}") for name in stored[:1]]


def readings_of(asked: str, run: RunNames, dialect: str | None) -> Iterator[list[Match]]:
    """What a name may mean, the nearest reading first."""
    ours = indexes()[0].find(asked)
    if dialect is not None:
        yield _fitting(_spoken(asked, dialect), run)
        yield ours
        return
    yield ours
    if run.spoken.dialect is not None:
        yield _spoken(asked, run.spoken.dialect)
    for frameworks in (FIRST, LATER):
        anywhere = [match for framework in frameworks for match in _spoken(asked, framework)]
        yield _fitting(anywhere, run)
        yield anywhere


def _spoken(asked: str, text: str) -> list[Match]:
    """What a name means in a dialect: to its trainer, if that has the name for itself.

    It is seen through the prefix that a tracker put before it.
    """
    dialect, theirs = Dialect.parse(text), indexes()[1]
    for prefix in PREFIXES:
        if asked.startswith(prefix) and (matches := theirs.find(asked.removeprefix(prefix), dialect.speaks)):
            own = [match for match in matches if match.via and match.via.trainer]
            chosen = own if dialect.trainer and own else matches
            return [replace(match, before=prefix) for match in chosen] if prefix else chosen
    return []


def _fitting(matches: list[Match], run: RunNames) -> list[Match]:
    """The matches of trainers of the run's algorithm, if there are any."""
    return [match for match in matches if match.via and run.spoken.trains(match.via)] or matches


def _held(asked: str, match: Match, run: RunNames) -> list[Found]:
    """The series that hold what a match means, for the first choice of samples that has any."""
    names = [full_name(match, scope) for scope in _scopes(match)]
    names += [other for name in names for other in other_heads(name)]
    for name in names:
        series = [held for held in run.by_our_names.get(name, ()) if _is_of_kind(held, match)]
        training = [held for held in series if held.match.evaluation == match.evaluation] or series
        first = {full_name(held.match, held.match.scope): held for held in reversed(training)}
        if first:
            return [answer(asked, match, held, run) for held in first.values()]
    return []


def _scopes(match: Match) -> tuple[str, ...]:
    """The samples that a name may count, the nearest choice first."""
    counts = counted(match)
    if not match.entry.scoped or counts == "discarded":
        return (match.scope,)
    return (counts, "", OTHER[counts]) if counts else ("", "trained", "generated")


def _is_of_kind(held: Held, match: Match) -> bool:
    """An evaluation's name never means a training series."""
    return held.match.evaluation or not match.evaluation


def _best(found: list[Found]) -> list[Found]:
    """One for each stored name: the same number before another, without warning before with one."""
    ranked = sorted(found, key=lambda one: (not one.same, bool(one.warning)))
    best = {one.stored: one for one in reversed(ranked) if (one.same, bool(one.warning)) == _rank(ranked[0])}
    return sorted(best.values(), key=lambda one: one.stored)


def _rank(one: Found) -> tuple[bool, bool]:
    return one.same, bool(one.warning)
