"""The sentence for a name that a run does not hold: what it means, what is near, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rollscope.errors import nearest

from .dialect import dialect_of
from .held import RunNames, full_name
from .index import indexes
from .match import Match

CLOSE = 0.6  # how alike two names are at least


def sentence(asked: str, run: RunNames, dialect: str | None, readings: Sequence[Match]) -> str:
    """Say what an asked name means that the run does not hold, or that no one knows it."""
    match = next((match for match in readings if match.same), next(iter(readings), None))
    if match is not None:
        return _not_held(asked, run, match)
    where = f" in the dialect {dialect!r}" if dialect else " in any dialect"
    known = {*run.names, *indexes()[1].literals(), *indexes()[0].literals()}
    return (
        f"no metric {asked!r} in this run, which has {len(run.names)}, nor{where}."
        f"{nearest(asked, known)} List them all: rollscope show RUN"
    )


def _not_held(asked: str, run: RunNames, match: Match) -> str:
    ours = full_name(match, match.scope)
    means = "" if match.via is None else f" It is {ours} in {dialect_of(match.via)}."
    return (
        f"no metric {asked!r} in this run, which has {len(run.names)}.{means}{_others(run, match)}"
        f" It is made from {', '.join(match.entry.needs) or match.entry.producer}."
        f"{_near(ours, run)} List them all: rollscope show RUN"
    )


def _near(ours: str, run: RunNames) -> str:
    """The run's names for the quantities whose names are like ours."""
    near = difflib.get_close_matches(ours, run.by_our_names, cutoff=CLOSE)
    stored = list(dict.fromkeys(run.by_our_names[name][0].stored for name in near))
    return f" Did you mean {' or '.join(map(repr, stored))}?" if stored else ""


def _others(run: RunNames, match: Match) -> str:
    """The run's series of another quantity beside the entry."""
    for stored in sorted(run.names):
        other = run.match(stored)
        if other is not None and other.entry is match.entry and not other.same and other.via is not None:
            return f" The run logs {stored}, which is another quantity: {other.via.note}."
    return ""
