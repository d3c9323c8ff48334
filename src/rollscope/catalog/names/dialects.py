"""Everybody's names for our entries: from a framework's key to the entry (`resolve`, `explain`) and back (`rename`).

A dialect is `framework[:trainer][@version]`, such as `trl:grpo@1.16`; less is allowed where it is unambiguous. A name
without a dialect is ours first, else the one entry that all dialects agree on, else an error that lists the candidates.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rollscope.catalog.spec import METRICS, Metric, Name, in_scope
from rollscope.errors import AmbiguousMetric, BadInput, UnknownMetric, nearest

from .pattern import HOLE, NUMBERS, Spelling, spellings
from .published import COMMON
from .versions import admits

FRAMEWORKS = ("verl", "openrlhf", "trl", "rlinf", "trinity", "telescope")
SCOPES = ("generated", "trained", "discarded")
EVALUATION = ("eval/", "eval_", "test/")  # before a training name: the same number of an evaluation
NEWEST = "9999"


@dataclass(frozen=True, slots=True)
class Dialect:
    framework: str
    trainer: str = ""
    version: str = ""

    @classmethod
    def parse(cls, text: str) -> Dialect:
        rest, _, version = text.strip().lower().partition("@")
        framework, _, trainer = rest.partition(":")
        if framework not in FRAMEWORKS:
            raise BadInput(
                f"no dialect {text!r}: the framework must be one of {', '.join(FRAMEWORKS)}, as in 'verl', 'trl:grpo' or 'trl:grpo@1.16'.{nearest(framework, FRAMEWORKS)}"
            )
        return cls(framework, trainer, version)

    def speaks(self, name: Name | None) -> bool:
        if name is None or name.framework != self.framework or not admits(name.versions, self.version):
            return False
        if not self.version and name in _superseded():
            return False
        return not self.trainer or not name.trainer or self.trainer in name.trainer.split(",")


@dataclass(frozen=True, slots=True)
class Found:
    """An entry, with the part of it that was asked for. Reads like the entry: `found.meaning`, `found.unit`, ..."""

    entry: Metric
    name: str  # ours, filled in: `reward/generated/mean`
    stat: str = ""
    scope: str = ""
    bindings: Mapping[str, str] = ()  # type: ignore[assignment]  # an empty tuple is an immutable empty mapping for our uses
    via: Name | None = None  # the framework's name it was found by
    also: tuple[str, ...] = ()  # what else a `*` stands for
    before: str = ""  # what stood before the framework's name and is not part of it: `train/`, `eval_`, ...

    def __getattr__(self, attribute: str) -> Any:
        return getattr(object.__getattribute__(self, "entry"), attribute)

    @property
    def same(self) -> bool:
        """Is the number under that name our number (up to its stated scale)?"""
        return self.via is None or self.via.same

    @property
    def evaluation(self) -> bool:
        """Is it the entry's number of an evaluation, logged under the training name with a word before it?"""
        return self.before in EVALUATION

    def json(self) -> dict[str, Any]:
        e = self.entry
        return {
            "name": self.name,
            "entry": e.name,
            "stat": self.stat or None,
            "scope": self.scope or None,
            "meaning": e.meaning,
            "definition": e.definition,
            "unit": e.unit,
            "kind": e.kind,
            "good": e.good,
            "range": list(e.range),
            "healthy": list(e.healthy),
            "read": e.read,
            "check": list(e.check),
            "example": e.example,
            "needs": list(e.needs),
            "producer": e.producer,
            "alarms": [
                {
                    "condition": a.condition,
                    "when": a.when,
                    "level": a.level,
                    "severity": a.severity,
                    "says": a.says,
                    "source": a.source,
                    "stat": a.stat,
                }
                for a in e.alarms
            ],
            "names": [name_json(n) for n in e.names],
            "asked_as": name_json(self.via) if self.via else None,
            "also": list(self.also),
        }


def name_json(n: Name) -> dict[str, Any]:
    return {"dialect": dialect_of(n), "key": n.key, "same": n.same, "scale": n.scale, "note": n.note}


def dialect_of(n: Name) -> str:
    return n.framework + (f":{n.trainer}" if n.trainer else "") + (f"@{n.versions}" if n.versions else "")


@dataclass(frozen=True, slots=True)
class _Way:
    """One spelling that leads to one statistic of one entry."""

    spelling: Spelling
    entry: Metric
    stat: str
    scope: str
    via: Name | None

    def found(self, bindings: Mapping[str, str]) -> Found:
        return Found(
            self.entry,
            canonical(self.entry, self.stat, self.scope, bindings),
            self.stat,
            self.scope,
            bindings,
            self.via,
        )


class _Index:
    """Literal spellings in a dictionary; those with holes by what stands before their first hole."""

    def __init__(self, ways: Iterable[_Way]) -> None:
        self.literal: dict[str, list[_Way]] = defaultdict(list)
        self.open: list[_Way] = []
        self.starts: dict[str, list[_Way]] = defaultdict(list)
        for way in ways:
            if way.spelling.literal:
                self.literal[way.spelling.text].append(way)
            else:
                self.open.append(way)
                self.starts[way.spelling.text.partition("{")[0]].append(way)

    def find(self, name: str, speaks: Any = None) -> list[Found]:
        """What the most specific spelling says; several when several entries claim it."""
        exact = [way.found({}) for way in self.literal.get(name, ()) if speaks is None or speaks(way.via)]
        if exact:
            return exact
        near = [way for end in range(len(name) + 1) for way in self.starts.get(name[:end], ())]
        hits = [
            (way, b)
            for way in near
            if (speaks is None or speaks(way.via)) and (b := way.spelling.match(name)) is not None
        ]
        best = max((way.spelling.weight for way, _ in hits), default=0)
        return [way.found(b) for way, b in hits if way.spelling.weight == best]

    def texts(self) -> Iterable[str]:
        yield from self.literal
        yield from (way.spelling.text for way in self.open)


def canonical(entry: Metric, stat: str, scope: str, bindings: Mapping[str, str]) -> str:
    name = HOLE.sub(
        lambda hole: bindings.get(hole.group(1), hole.group(0)) if bindings else hole.group(0),
        in_scope(entry.name, scope),
    )
    return f"{name}/{stat}" if stat else name


def _ours(entry: Metric) -> Iterable[_Way]:
    for scope in ("", *SCOPES) if entry.scoped else ("",):
        for stat in ("", *entry.stats):
            yield _Way(Spelling(canonical(entry, stat, scope, {})), entry, stat, scope, None)


def _theirs(entry: Metric) -> Iterable[_Way]:
    for name in entry.names:
        for spelling in () if name.override else spellings(name.key):
            stat = name.stat or spelling.stat
            scope = "discarded" if entry.scoped and name.scope == "discarded" else ""
            yield _Way(spelling, entry, stat if stat in entry.stats else "", scope, name)


@lru_cache(maxsize=1)
def _superseded() -> frozenset[Name]:
    """Names of older versions whose key means something else in the newest: who says no version means that one."""
    import rollscope.catalog.families  # noqa: F401  # fills METRICS

    by_key: dict[tuple[str, str], list[Name]] = defaultdict(list)
    for name in {name for entry in METRICS.values() for name in entry.names if not name.override}:
        for spelling in spellings(name.key):
            by_key[name.framework, spelling.text].append(name)
    newest = {name: admits(name.versions, NEWEST) for names in by_key.values() for name in names}
    return frozenset(
        old
        for names in by_key.values()
        for old in names
        if not newest[old] and any(newest[name] and _covers(name, old) for name in names)
    )


def _covers(new: Name, old: Name) -> bool:
    """Does a name speak of all trainers another names? One that names none says nothing about a trainer's own."""
    return set(old.trainer.split(",")) <= set(new.trainer.split(","))


@lru_cache(maxsize=1)
def _indexes() -> tuple[_Index, _Index]:
    import rollscope.catalog.families  # noqa: F401  # fills METRICS

    entries = list(METRICS.values())
    return _Index(way for e in entries for way in _ours(e)), _Index(way for e in entries for way in _theirs(e))


def _prefixes(name: str) -> Iterable[str]:
    """What may stand before a framework's key: trackers put `train/` or `eval/` there, Hugging Face writes `eval_` itself."""
    yield from (prefix for prefix in ("", "train/", *EVALUATION) if name.startswith(prefix))


def resolve(name: str, dialect: str | None = None) -> Found:
    """The entry behind a name. `*` and `{placeholders}` in what is asked stand for anything."""
    if "*" in name or "{" in name:
        return _resolve_pattern(name, dialect)
    found = lookup(name, dialect)
    if found is None:
        raise UnknownMetric(_unknown(name, dialect))
    return found


def lookup(name: str, dialect: str | None = None) -> Found | None:
    """The entry behind a name, or None: for the many names of a run, of which some are a person's own."""
    ours, theirs = _indexes()
    speaks = Dialect.parse(dialect).speaks if dialect else None
    if speaks is None and (found := ours.find(name)):
        return found[0]
    for prefix in _prefixes(name):
        if found := theirs.find(name.removeprefix(prefix), speaks):
            one = _the_one(name, dialect, found)
            return replace(one, before=prefix) if prefix else one
    if speaks is not None and (found := ours.find(name)):
        return found[0]
    return None


explain = resolve


def _the_one(name: str, dialect: str | None, found: list[Found]) -> Found:
    """All candidates must mean the same number; within one trainer, a name that is ours up to scale goes before one of another quantity."""
    found = _nearest_trainer(dialect, found)
    exact = {(f.via.framework, f.via.trainer) for f in found if f.same and f.via}
    found = [f for f in found if f.same or f.via is None or (f.via.framework, f.via.trainer) not in exact]
    if len({f.name for f in found}) == 1:
        return next((f for f in found if f.same), found[0])
    if dialect is None and name in COMMON:
        return resolve(name, COMMON[name])
    listed = "; ".join(sorted({f"{f.name} in {dialect_of(f.via)}" for f in found if f.via}))
    narrower = "a dialect" if dialect is None else "a narrower dialect"
    raise AmbiguousMetric(
        f"{name!r} means different things: {listed}. Say which with {narrower}, such as dialect={dialect_of(next(f.via for f in found if f.via))!r}."
    )


def _nearest_trainer(dialect: str | None, found: list[Found]) -> list[Found]:
    """With a trainer asked for, its own names go before those of all trainers; without one, a framework's general names go before its trainers'."""
    asked = bool(dialect and Dialect.parse(dialect).trainer)
    near = {f.via.framework for f in found if f.via and bool(f.via.trainer) == asked}
    return [f for f in found if f.via is None or f.via.framework not in near or bool(f.via.trainer) == asked]


def _resolve_pattern(name: str, dialect: str | None) -> Found:
    for filled in _fillings(name):
        try:
            return resolve(filled, dialect)
        except UnknownMetric:
            continue
    names = sorted(_matching(HOLE.sub("*", name), dialect))
    if not names:
        raise UnknownMetric(f"no metric matches the pattern {name!r}. List them all: rollscope explain --list")
    first = resolve(names[0], dialect)
    return replace(first, also=tuple(names[1:]))


def _fillings(name: str) -> Iterable[str]:
    """What a pattern may stand for: words in its holes and numbers where a number belongs, else numbers everywhere."""
    word = HOLE.sub(lambda hole: "1" if hole.group(1) in NUMBERS else "any", name)
    for filled in (word.replace("@*", "@1").replace("*", "any"), HOLE.sub("1", name).replace("*", "1")):
        if "{" not in filled:  # a brace that is never closed is no placeholder
            yield filled


def _matching(pattern: str, dialect: str | None) -> set[str]:
    ours, theirs = _indexes()
    speaks = Dialect.parse(dialect).speaks if dialect else None
    theirs_texts = {text for text, ways in theirs.literal.items() if speaks is None or any(speaks(w.via) for w in ways)}
    return {
        text
        for text in theirs_texts | (set(ours.literal) if speaks is None else set())
        if fnmatch.fnmatchcase(text, pattern)
    }


def _unknown(name: str, dialect: str | None) -> str:
    ours, theirs = _indexes()
    speaks = Dialect.parse(dialect).speaks if dialect else None
    known = {text for text, ways in theirs.literal.items() if speaks is None or any(speaks(w.via) for w in ways)} | set(
        ours.literal
    )
    where = f"in the dialect {dialect!r}" if dialect else f"in the catalogue of {len(METRICS)} or in any dialect"
    return f"no metric {name!r} {where}.{nearest(name, known)} List them all: rollscope explain --list"


def rename(metrics: Mapping[str, Any], dialect: str, missing: bool = False) -> Any:
    """`{their name: float}` for what is the same number there, up to the stated scale.

    With `missing=True`: `(renamed, {name: why})`, where the second part names every key that was left out, and why.
    """
    speaks = Dialect.parse(dialect).speaks
    renamed: dict[str, float] = {}
    left_out: dict[str, str] = {}
    overrides: dict[str, float] = {}
    nothing: dict[str, str] = {}
    for name, value in metrics.items():
        found = _ours_or_none(name)
        if found is None:
            left_out[name] = "not a name of the catalogue"
            continue
        if getattr(value, "weight", 1) == 0 and (keys := _overridden(found, speaks)):
            nothing |= dict.fromkeys(keys, f"{found.name} says what theirs is, and has no data")
            continue
        _write(
            found,
            float(value.value if hasattr(value, "value") else value),
            speaks,
            renamed,
            overrides,
            left_out,
            dialect,
        )
    for key, why in nothing.items():
        if key not in overrides:
            renamed.pop(key, None)
            left_out[key] = why
    renamed |= overrides
    left_out = {key: why for key, why in left_out.items() if key not in renamed}
    return (renamed, left_out) if missing else renamed


def _ours_or_none(name: str) -> Found | None:
    found = _indexes()[0].find(name)
    return found[0] if found else None


def _overridden(found: Found, speaks: Any) -> list[str]:
    """The keys an entry takes from another one."""
    filled = (
        spelling.fill(dict(found.bindings))
        for name in found.entry.names
        if name.override and speaks(name)
        for spelling in spellings(name.key)
    )
    return [key for key in filled if key is not None]


def _write(
    found: Found,
    value: float,
    speaks: Any,
    renamed: dict[str, float],
    overrides: dict[str, float],
    left_out: dict[str, str],
    dialect: str,
) -> None:
    names = [n for n in found.entry.names if speaks(n)]
    if not names:
        left_out[found.name] = f"{dialect} has no name for it"
    for name in names:
        for spelling in spellings(name.key):
            if (name.stat or spelling.stat) != found.stat:
                continue
            key = spelling.fill(dict(found.bindings))
            if key is None:
                continue
            if not name.same:
                left_out[key] = name.note
            elif found.scope not in ("", name.scope):
                left_out.setdefault(key, f"theirs counts {name.scope} samples, this one {found.scope}")
            else:
                (overrides if name.override else renamed)[key] = value * name.scale


def names_of(dialect: str | None = None) -> list[str]:
    """Every key of a dialect (or of ours), patterns included, for listings."""
    ours, theirs = _indexes()
    if dialect is None:
        return sorted(set(ours.texts()))
    speaks = Dialect.parse(dialect).speaks
    return sorted(
        {way.spelling.text for ways in [*theirs.literal.values(), theirs.open] for way in ways if speaks(way.via)}
    )
