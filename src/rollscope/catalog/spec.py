"""The vocabulary of the catalogue: entries, frameworks' names for them, and alarms.

An entry is one function with `@metric`, if a batch is enough to compute it, or one `record`, if it
comes from evaluation rows, spans, samples, the trainer or the host. A docstring of four parts holds
its text:

    Meaning in one line.

    Definition: the formula, and which tokens, samples or groups are counted.

    Read: how to read it.

    Check: first thing to look at; second thing; third thing.

The parameters of a metric function are its inputs. A suffix names their axis: `x_A` tokens the
policy sampled (action_mask) · `x_M` tokens counted in the loss (mask) · `x_V` every token after the
prompt (valid_mask) · `x_S` one per sample · no suffix: one per step. A parameter that is not a
batch key is a `@derived` quantity: a function of that name whose parameters are inputs in turn.
A quantity that several metrics share is computed once per block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Good = Literal["up", "down", "steady", "near one", "near zero", "context"]
Producer = Literal[
    "compute", "evaluate", "view over spans", "view over samples", "recorder", "trainer", "host", "engine", "framework"
]
STATS = ("mean", "std", "min", "max", "p05", "p50", "p95")


@dataclass(frozen=True, slots=True)
class Name:
    """A framework's key for an entry.

    `{word}` in a key is a placeholder; `{mean,max,min}` is a choice of statistics, or
    `{avg=mean,max}` if the framework has another word for one. `theirs = scale * ours`.
    `same=False` marks another quantity under a neighbouring name: `resolve` and `explain` find it,
    with the note, but `rename` never writes it.
    """

    framework: str
    key: str
    trainer: str = ""
    versions: str = ""  # "0.8", ">=0.9", "<1.13", several with commas, or "" for all versions
    scale: float = 1.0
    same: bool = True
    note: str = ""
    stat: str = ""  # our statistic, if the key has none: TRL's "reward" is our reward/mean
    scope: Literal["trained", "generated", "discarded"] = "trained"  # the samples they count
    # `rename` writes the key from this entry, not from the entry that the key resolves to, because
    # one configuration or corner case of the framework does.
    override: bool = False


@dataclass(frozen=True, slots=True)
class Alarm:
    """A threshold and its source. `times opening` compares with the first steps of the run."""

    when: Literal["above", "below", "outside", "above times opening", "below times opening"]
    level: float | tuple[float, float]
    severity: Literal["watch", "bad"]
    source: str
    says: str = ""
    stat: str = ""  # the statistic of a distribution

    @property
    def condition(self) -> str:
        """The threshold in words: `max above 5`, `below 0.1 times the run's opening level`."""
        level = f"{self.level[0]:g} to {self.level[1]:g}" if isinstance(self.level, tuple) else f"{self.level:g}"
        side, _, relative = self.when.partition(" ")
        return f"{self.stat} {side} {level}".strip() + (" times the run's opening level" if relative else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One entry of the catalogue."""

    name: str  # canonical; a `{placeholder}` matches any text
    meaning: str
    definition: str
    unit: str
    kind: str  # of its partial, or "distribution", which has one name for each of `stats`
    good: Good
    read: str
    check: tuple[str, ...]
    example: str
    range: tuple[float | None, float | None] = (None, None)
    healthy: tuple[float | None, float | None] = (None, None)  # drawn as a bracket; None: not known
    alarms: tuple[Alarm, ...] = ()
    names: tuple[Name, ...] = ()
    producer: Producer = "compute"
    needs: tuple[str, ...] = ()  # batch keys, or the inputs of the producer
    stats: tuple[str, ...] = ()
    scoped: bool = False  # adds <name>/generated, <name>/trained and discarded/<name>
    define: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    @property
    def section(self) -> str:
        return split(self.name)[0]


METRICS: dict[str, Metric] = {}
DERIVED: dict[str, Callable[..., Any]] = {}


def split(name: str) -> tuple[str, str, str]:
    """Split a name into section, group and metric.

    A name without a slash is in section `general`; with one slash it has no group.

    >>> split("entropy"), split("loss/policy"), split("timing/forward/total/mean")
    (('general', '', 'entropy'), ('loss', '', 'policy'), ('timing', 'forward', 'total/mean'))
    """
    parts = name.split("/", 2)
    if len(parts) == 1:
        return "general", "", name
    return (parts[0], "", parts[1]) if len(parts) == 2 else (parts[0], parts[1], parts[2])


def in_scope(name: str, scope: str) -> str:
    """The name of an entry for some of the samples; a statistic stays at the end.

    >>> in_scope("reward", "trained"), in_scope("reward", "discarded"), in_scope("reward", "")
    ('reward/trained', 'discarded/reward', 'reward')
    >>> in_scope("task_reward/mean", "generated")
    'task_reward/generated/mean'
    """
    if scope in ("", "discarded"):
        return f"discarded/{name}" if scope else name
    head, _, last = name.rpartition("/")
    return f"{head}/{scope}/{last}" if head and last in STATS else f"{name}/{scope}"


def derived(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a derived quantity, which metrics read by its name."""
    assert function.__name__ not in DERIVED, f"two derived quantities are called {function.__name__}"
    DERIVED[function.__name__] = function
    return function


def metric(
    name: str,
    *,
    unit: str,
    good: Good,
    example: str = "",
    names: Iterable[Name] = (),
    alarms: Iterable[Alarm] = (),
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an entry: docstring, parameters and return type are text, inputs and kind."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        text = inspect.getdoc(function) or ""
        kind = _kind_of(function)
        stats = more.pop("stats", STATS if kind == "distribution" else ())
        _enter(
            name,
            text,
            unit=unit,
            good=good,
            example=example,
            names=names,
            alarms=alarms,
            kind=kind,
            stats=tuple(stats),
            needs=tuple(inspect.signature(function).parameters),  # `resolve_needs` makes them keys
            define=function,
            **more,
        )
        return function

    return enter


def record(
    name: str,
    text: str,
    *,
    unit: str,
    good: Good,
    kind: str,
    producer: Producer,
    needs: Iterable[str],
    example: str = "",
    names: Iterable[Name] = (),
    alarms: Iterable[Alarm] = (),
    **more: Any,
) -> None:
    """Add an entry that is not computed from a batch. Its text has the same four parts."""
    stats = more.pop("stats", STATS if kind == "distribution" else ())
    _enter(
        name,
        inspect.cleandoc(text),
        unit=unit,
        good=good,
        example=example,
        names=names,
        alarms=alarms,
        kind=kind,
        producer=producer,
        needs=tuple(needs),
        stats=tuple(stats),
        **more,
    )


def _kind_of(function: Callable[..., Any]) -> str:
    annotation = function.__annotations__.get("return", "")
    word = annotation if isinstance(annotation, str) else annotation.__name__
    word = word.removesuffix(" | None").removeprefix("dict[str, ").removesuffix("]")
    return {"Distribution": "distribution", "PopulationStd": "std0"}.get(word, _snake(word))


def _snake(word: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(word))


def _enter(name: str, text: str, *, names: Iterable[Name], alarms: Iterable[Alarm], **more: Any) -> None:
    assert name not in METRICS, f"two entries are called {name}"
    METRICS[name] = Metric(name=name, **_parts(name, text), names=tuple(names), alarms=tuple(alarms), **more)


def _parts(name: str, text: str) -> Mapping[str, Any]:
    """Meaning, definition, reading and checks from the four paragraphs of an entry's text.

    A doctest at the end is left out.
    """
    text = text.split(">>>")[0].strip()
    meaning, _, rest = text.partition("\n\n")
    parts: dict[str, Any] = {"meaning": " ".join(meaning.split()), "definition": "", "read": "", "check": ()}
    for paragraph in rest.split("\n\n"):
        word, colon, body = paragraph.partition(":")
        body = " ".join(body.split())
        if colon and word in ("Definition", "Read"):
            parts[word.lower()] = body
        elif colon and word == "Check":
            parts["check"] = tuple(point.strip().rstrip(".") for point in body.split(";") if point.strip())
        else:
            words = "Definition:, Read: or Check:"
            assert not paragraph.strip(), f"{name}: a paragraph starts with {words}, not {paragraph[:40]!r}"
    return parts
