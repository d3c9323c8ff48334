"""From our names to a framework's: `rename`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rollscope.catalog.spec import Name

from .dialect import Dialect
from .index import indexes
from .match import Match
from .pattern import spellings


def rename(metrics: Mapping[str, Any], dialect: str, missing: bool = False) -> Any:
    """Return `{their name: float}` for metrics that are the same number there, up to scale.

    With `missing=True`, return `(renamed, {name: why})`. The second part names each key that was
    left out, and why.
    """
    renaming = _Renaming(dialect)
    for name, value in metrics.items():
        renaming.add(name, value)
    written, left_out = renaming.result()
    renamed = {key: one.value * one.scale for key, one in written.items()}
    return (renamed, left_out) if missing else renamed


def keys_for(names: Iterable[str], dialect: str) -> dict[str, tuple[str, float]]:
    """The keys that a framework writes for our names: key -> our name, and theirs / ours."""
    renaming = _Renaming(dialect)
    for name in names:
        renaming.add(name, 1.0)
    return {key: (one.name, one.scale) for key, one in renaming.result()[0].items()}


@dataclass(frozen=True, slots=True)
class _Written:
    name: str  # ours
    value: float
    scale: float
    scope: str


class _Renaming:
    def __init__(self, dialect: str) -> None:
        self.dialect, self.speaks = dialect, Dialect.parse(dialect).speaks
        self.renamed: dict[str, _Written] = {}
        self.overrides: dict[str, _Written] = {}  # keys that another entry writes in this configuration
        self.without_data: dict[str, str] = {}  # overridden keys whose entry has no data -> why
        self.left_out: dict[str, str] = {}

    def add(self, name: str, value: Any) -> None:
        matches = indexes()[0].find(name)
        if not matches:
            self.left_out[name] = "not a name of the catalogue"
            return
        match = matches[0]
        if getattr(value, "weight", 1) == 0 and (keys := self._overridden(match)):
            self.without_data |= dict.fromkeys(keys, f"{match.name} says what theirs is, and has no data")
            return
        self._write(match, float(value.value if hasattr(value, "value") else value))

    def _overridden(self, match: Match) -> list[str]:
        """The keys that this entry writes in place of another entry."""
        keys = (
            spelling.fill(dict(match.bindings))
            for name in match.entry.names
            if name.override and self.speaks(name)
            for spelling in spellings(name.key)
        )
        return [key for key in keys if key is not None]

    def _write(self, match: Match, value: float) -> None:
        names = [name for name in match.entry.names if self.speaks(name)]
        if not names:
            self.left_out[match.name] = f"{self.dialect} has no name for it"
        for name, key in _keys(match, names):
            if not name.same:
                self.left_out[key] = name.note
            elif not _counts_the_same(match, name):
                ours = match.scope or "all samples, their fate not known"
                self.left_out.setdefault(key, f"theirs counts {name.scope} samples, this one {ours}")
            else:
                self._keep(key, name.override, _Written(match.name, value, name.scale, match.scope))

    def _keep(self, key: str, override: bool, one: _Written) -> None:
        """Keep a number, unless the key has one of just the samples that it counts."""
        written = self.overrides if override else self.renamed
        if one.scope or key not in written or not written[key].scope:
            written[key] = one

    def result(self) -> tuple[dict[str, _Written], dict[str, str]]:
        renamed, left_out = dict(self.renamed), dict(self.left_out)
        for key, why in self.without_data.items():
            if key not in self.overrides:
                renamed.pop(key, None)
                left_out[key] = why
        renamed |= self.overrides
        return renamed, {key: why for key, why in left_out.items() if key not in renamed}


def _counts_the_same(match: Match, name: Name) -> bool:
    """Whether both count the same samples.

    A name without a scope is of all samples while no fate is known: they are those generated, and
    as far as one knows those trained on, but never the discarded ones.
    """
    if not match.entry.scoped:
        return True
    return name.scope != "discarded" if match.scope == "" else match.scope == name.scope


def _keys(match: Match, names: list[Name]) -> Iterator[tuple[Name, str]]:
    """The framework's names that mean this statistic of the entry, with their holes filled."""
    for name in names:
        for spelling in spellings(name.key):
            key = spelling.fill(dict(match.bindings))
            if (name.stat or spelling.stat) == match.stat and key is not None:
                yield name, key
