"""The vocabulary of the catalogue: what an entry is, what a framework's name for it is, what an alarm is.

An entry is one decorated function (`@metric`, when a batch is enough to compute it) or one `record` (when it comes from evaluation
rows, spans, samples, the trainer or the host). Its text is written once, in a docstring of four parts:

    Meaning in one line.

    Definition: the formula, and which tokens, samples or groups are counted.

    Read: how to read it.

    Check: first thing to look at; second thing; third thing.

The parameters of a metric function are its inputs, told apart by a suffix that names their axis:
`x_A` tokens the policy sampled (action_mask) · `x_M` tokens counted in the loss (mask) · `x_V` every token after the prompt
(valid_mask) · `x_S` one per sample · no suffix: one per step. A parameter that is not a batch key is a `@derived` quantity, a function of the same name whose
parameters are inputs in turn; whatever several metrics share is computed once per block.
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

    `{word}` in a key is a placeholder, `{mean,max,min}` a choice of statistics (`{avg=mean,max}` when they spell one differently).
    `theirs = scale * ours`. `same=False` marks another quantity under a neighbouring name: it resolves and explains, with the note, but `rename` never writes it.
    """

    framework: str
    key: str
    trainer: str = ""
    versions: str = ""  # "" every version read, else "0.8", ">=0.9", "<1.13", or several with commas
    scale: float = 1.0
    same: bool = True
    note: str = ""
    stat: str = ""  # which of our statistics the key is, when it is a plain word ("reward" is our reward/mean)
    scope: Literal["trained", "generated", "discarded"] = (
        "trained"  # of a scoped entry: which samples their number counts
    )
    override: bool = False  # rename prefers it over the entry the key resolves to: the same key as one configuration or corner case really writes it


@dataclass(frozen=True, slots=True)
class Alarm:
    """A machine-readable threshold, with where it comes from. `times opening` compares with the run's own first steps."""

    when: Literal["above", "below", "outside", "above times opening", "below times opening"]
    level: float | tuple[float, float]
    severity: Literal["watch", "bad"]
    source: str
    says: str = ""
    stat: str = ""  # of a distribution: which statistic it is about

    @property
    def condition(self) -> str:
        """When it rings, in words: `max above 5`, `below 0.1 times the run's opening level`."""
        level = f"{self.level[0]:g} to {self.level[1]:g}" if isinstance(self.level, tuple) else f"{self.level:g}"
        side, _, relative = self.when.partition(" ")
        return f"{self.stat} {side} {level}".strip() + (" times the run's opening level" if relative else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One entry of the catalogue."""

    name: str  # canonical; `{placeholder}` parts may be filled with anything
    meaning: str
    definition: str
    unit: str
    kind: str  # the partial, or "distribution", which has one name for each of `stats`
    good: Good
    read: str
    check: tuple[str, ...]
    example: str
    range: tuple[float | None, float | None] = (None, None)
    healthy: tuple[float | None, float | None] = (None, None)  # what ui draws as a bracket; None = not known in general
    alarms: tuple[Alarm, ...] = ()
    names: tuple[Name, ...] = ()
    producer: Producer = "compute"
    needs: tuple[str, ...] = ()  # batch keys, or what the producer reads
    stats: tuple[str, ...] = ()
    scoped: bool = False  # also exists as <name>/generated, <name>/trained and discarded/<name>
    define: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    @property
    def section(self) -> str:
        return split(self.name)[0]


METRICS: dict[str, Metric] = {}
DERIVED: dict[str, Callable[..., Any]] = {}


def split(name: str) -> tuple[str, str, str]:
    """(section, group, metric) of a name: no slash is section `general`, one gives section and metric, more give all three.

    >>> split("entropy"), split("loss/policy"), split("timing/forward/total/mean")
    (('general', '', 'entropy'), ('loss', '', 'policy'), ('timing', 'forward', 'total/mean'))
    """
    parts = name.split("/", 2)
    if len(parts) == 1:
        return "general", "", name
    return (parts[0], "", parts[1]) if len(parts) == 2 else (parts[0], parts[1], parts[2])


def in_scope(name: str, scope: str) -> str:
    """The name of an entry for some of the samples; a statistic stays at the end.

    >>> in_scope("reward", "trained"), in_scope("task_reward/mean", "generated"), in_scope("reward", "discarded"), in_scope("reward", "")
    ('reward/trained', 'task_reward/generated/mean', 'discarded/reward', 'reward')
    """
    if scope in ("", "discarded"):
        return f"discarded/{name}" if scope else name
    head, _, last = name.rpartition("/")
    return f"{head}/{scope}/{last}" if head and last in STATS else f"{name}/{scope}"


def derived(function: Callable[..., Any]) -> Callable[..., Any]:
    """A shared intermediate, asked for by its name."""
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
    """Make a function an entry: its docstring is the text, its parameters the inputs, its return type the reduction."""

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
            needs=inputs_of(function),
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
    """An entry that is not computed from a batch: its text has the same four parts as a docstring."""
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


def inputs_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The batch keys a function asks for, through its derived quantities. Resolved late: a derived one may stand in another file."""
    return tuple(p for p in inspect.signature(function).parameters)


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
    """Meaning, definition, reading and checks from the four paragraphs of an entry's text (a doctest at the end is left alone)."""
    text = text.split(">>>")[0].strip()
    meaning, _, rest = text.partition("\n\n")
    found: dict[str, Any] = {"meaning": " ".join(meaning.split()), "definition": "", "read": "", "check": ()}
    for paragraph in rest.split("\n\n"):
        word, colon, body = paragraph.partition(":")
        body = " ".join(body.split())
        if colon and word in ("Definition", "Read"):
            found[word.lower()] = body
        elif colon and word == "Check":
            found["check"] = tuple(part.strip().rstrip(".") for part in body.split(";") if part.strip())
        else:
            assert not paragraph.strip(), (
                f"{name}: a paragraph of an entry starts with Definition:, Read: or Check:, not {paragraph[:40]!r}"
            )
    return found
