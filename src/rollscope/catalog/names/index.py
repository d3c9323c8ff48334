"""An index from every spelling of every name to the entry behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.spec import METRICS, Metric, Name, in_scope

from .match import Match
from .pattern import HOLE, Spelling, spellings

SCOPES = ("generated", "trained", "discarded")
Speaks = Callable[[Name | None], bool]  # whether a name belongs to the dialect in question


@dataclass(frozen=True, slots=True)
class Alias:
    """One spelling that means one statistic of one entry."""

    spelling: Spelling
    entry: Metric
    stat: str
    scope: str
    via: Name | None  # the framework's name; None for our own

    def match(self, bindings: Mapping[str, str]) -> Match:
        name = canonical(self.entry, self.stat, self.scope, bindings)
        return Match(self.entry, name, self.stat, self.scope, bindings, self.via)


class Index:
    """Literal spellings in a dictionary; those with holes by the text before their first hole.

    Most of those are told apart by the text after their last hole, long before an expression runs.
    """

    def __init__(self, aliases: Iterable[Alias]) -> None:
        self.literal: dict[str, list[Alias]] = defaultdict(list)
        self.open: list[Alias] = []
        self.starts: dict[str, dict[str, list[Alias]]] = defaultdict(lambda: defaultdict(list))
        for alias in aliases:
            if alias.spelling.literal:
                self.literal[alias.spelling.text].append(alias)
            else:
                self.open.append(alias)
                start, _, rest = alias.spelling.text.partition("{")
                self.starts[start][rest.rpartition("}")[2]].append(alias)
        self._lengths: dict[str, list[int]] = {}  # of starts, by first letter
        for first in {start[:1] for start in self.starts}:
            self._lengths[first] = sorted({len(start) for start in self.starts if start[:1] in ("", first)})
        self._ends = {start: tuple(ends) for start, ends in self.starts.items()}

    def find(self, name: str, speaks: Speaks | None = None) -> list[Match]:
        """The matches of the most specific spelling; several if several entries claim it."""
        known = self.literal.get(name)
        exact = [alias.match({}) for alias in known if speaks is None or speaks(alias.via)] if known else []
        return exact or self._find_open(name, speaks)

    def meanings(self, name: str) -> Iterator[Alias]:
        """All spellings that a name matches, specific or not."""
        yield from self.literal.get(name, ())
        yield from (alias for alias in self._possible(name) if alias.spelling.match(name) is not None)

    def _find_open(self, name: str, speaks: Speaks | None) -> list[Match]:
        hits = []
        for alias in self._possible(name):
            if speaks is None or speaks(alias.via):
                bindings = alias.spelling.match(name)
                if bindings is not None:
                    hits.append((alias, bindings))
        if not hits:
            return []
        most = max(alias.spelling.weight for alias, _ in hits)
        return [alias.match(bindings) for alias, bindings in hits if alias.spelling.weight == most]

    def _possible(self, name: str) -> Iterator[Alias]:
        """Spellings with holes that begin and end as the name does."""
        for length in self._lengths.get(name[:1]) or self._lengths.get("") or ():
            start = name[:length]
            if name.endswith(self._ends.get(start, ())):
                for end, aliases in self.starts[start].items():
                    if name.endswith(end):
                        yield from aliases

    def literals(self, speaks: Speaks | None = None) -> set[str]:
        """All spellings without holes, or those of a dialect."""
        if speaks is None:
            return set(self.literal)
        return {text for text, aliases in self.literal.items() if any(speaks(alias.via) for alias in aliases)}

    def texts(self, speaks: Speaks | None = None) -> set[str]:
        """All spellings, with and without holes, or those of a dialect."""
        return self.literals(speaks) | {a.spelling.text for a in self.open if speaks is None or speaks(a.via)}


def canonical(entry: Metric, stat: str, scope: str, bindings: Mapping[str, str]) -> str:
    """Our name for a statistic of an entry in a scope, with the bound holes filled."""
    name = in_scope(entry.name, scope)
    if bindings:
        name = HOLE.sub(lambda hole: bindings.get(hole.group(1), hole.group(0)), name)
    return f"{name}/{stat}" if stat else name


def _our_aliases(entry: Metric) -> Iterable[Alias]:
    for scope in ("", *SCOPES) if entry.scoped else ("",):
        for stat in ("", *entry.stats):
            yield Alias(Spelling(canonical(entry, stat, scope, {})), entry, stat, scope, None)


def _their_aliases(entry: Metric) -> Iterable[Alias]:
    for name in entry.names:
        for spelling in () if name.override else spellings(name.key):
            stat = name.stat or spelling.stat
            scope = "discarded" if entry.scoped and name.scope == "discarded" else ""
            yield Alias(spelling, entry, stat if stat in entry.stats else "", scope, name)


@lru_cache(maxsize=1)
def indexes() -> tuple[Index, Index]:
    """The index of our own names and the index of all frameworks' names."""
    import rollscope.catalog.families  # noqa: F401  # fills METRICS

    entries = list(METRICS.values())
    ours = Index(alias for entry in entries for alias in _our_aliases(entry))
    theirs = Index(alias for entry in entries for alias in _their_aliases(entry))
    return ours, theirs
