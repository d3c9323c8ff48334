"""What the API answers, as types: checked by mypy here, described in OpenAPI, and from there written to web/wire/types.gen.d.ts.

A number that JSON cannot hold travels as a word: "NaN", "Infinity" and "-Infinity" are values somebody logged; null is no data.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.diagnose.finding import FindingShape
from rollscope.strict_json import Number


class HiddenShape(TypedDict):
    """A person's word about a rule in a run."""

    rule: str
    hidden: bool
    why: str


class NoteShape(TypedDict):
    """Words about a step, or about the run."""

    step: int | None
    time_ns: float
    text: str
    kind: str


class NoteList(TypedDict):
    notes: list[NoteShape]


class RunRow(TypedDict):
    """One line of the Runs page."""

    id: str
    name: str
    project: str
    group: str
    tags: list[str]
    algorithm: str
    framework: str
    state: str
    reason: str
    started_ns: float
    ended_ns: float
    heard_ns: float
    step: int | None
    steps: int
    steps_planned: int | None
    step_seconds: float | None
    slot: int
    spark: list[float | None]
    headline: str
    headline_value: Number
    eval: str
    eval_value: Number
    findings: dict[str, int] | None
    config: dict[str, Any]
    damage: int


class RunList(TypedDict):
    runs: list[RunRow]
    folder: str


class DamageShape(TypedDict):
    file: str
    byte: int
    says: str


class RunDetail(TypedDict):
    run: RunRow
    config: dict[str, Any]
    environment: dict[str, Any]
    declared: dict[str, Any]
    damage: list[DamageShape]
    notes: list[NoteShape]
    output: list[str]
    checkpoint: str
    last_ok_step: int | None


class EvalMark(TypedDict):
    step: int
    set: str


class Tape(TypedDict):
    """What the tape draws. x is the step; clocks translate a step to the other axes."""

    first: int
    last: int
    planned: int | None
    headline: str
    x: list[float]
    reward: list[float | None]
    dropped: list[float | None]
    evals: list[EvalMark]
    findings: list[FindingShape]
    diagnosed: bool  # False: the rules have not read this run yet
    notes: list[NoteShape]
    clocks: dict[str, list[float | None]]
    started: float


class Vital(TypedDict):
    title: str
    metrics: list[str]
    labels: list[str]
    unit: str
    status: str
    value: Number
    extra: str
    reading: str
    range: list[float | None]
    healthy: list[float | None]
    entry: str
    findings: list[FindingShape]
    points: bool


class TimePart(TypedDict):
    name: str
    seconds: float
    wait: bool


class SampleRow(TypedDict):
    """A sample without its text; previews are the first characters."""

    id: str
    group: str
    task: str
    env: str
    step: int | None
    reward: Number
    score: Number
    advantage: Number
    tokens: int | None
    stop_reason: str
    trained: bool | None
    discard_reason: str
    prompt: str
    completion: str


class SampleList(TypedDict):
    samples: list[SampleRow]
    total: int


class PickedSample(TypedDict):
    label: str
    sample: SampleRow


class OverviewShape(TypedDict):
    diagnosed: bool
    verdict: str
    context: str
    status: str
    findings: list[FindingShape]
    vitals: list[Vital]
    time: list[TimePart]
    time_step: int | None
    samples: list[PickedSample]
    samples_step: int | None
    reward_range: list[float | None]
    facts: list[list[str]]


class RankValue(TypedDict):
    """What one rank logged."""

    rank: int
    value: Number
    weight: Number


class PointShape(TypedDict):
    """One value of one metric at one step, with what it stands on."""

    name: str
    step: int
    value: Number
    weight: Number
    counted: str
    kind: str
    unit: str
    low: Number
    high: Number
    before_step: int | None
    before: Number
    change: Number
    time_ns: float
    ranks: list[RankValue]


class FindingList(TypedDict):
    findings: list[FindingShape]
    rules: list[dict[str, str]]


class EntryShape(TypedDict):
    """One entry of the glossary."""

    name: str
    section: str
    meaning: str
    definition: str
    unit: str
    kind: str
    good: str
    read: str
    check: list[str]
    example: str
    range: list[float | None]
    healthy: list[float | None]
    stats: list[str]
    scoped: bool
    producer: str
    needs: list[str]
    alarms: list[dict[str, Any]]
    names: list[dict[str, Any]]


class EntryRow(TypedDict):
    name: str
    section: str
    meaning: str
    unit: str
    also: list[str]


class Glossary(TypedDict):
    entries: list[EntryRow]
    scenarios: list[dict[str, Any]]
    symptoms: list[dict[str, Any]]


class Answer(TypedDict):
    """A glossary entry that was asked for by any name."""

    entry: EntryShape
    asked: str
    name: str
    stat: str
    scope: str
    via: dict[str, Any] | None


class SqlColumn(TypedDict):
    name: str
    type: str


class SqlAnswer(TypedDict):
    """Rows of an answer; `total` counts also those that are not here."""

    columns: list[SqlColumn]
    rows: list[list[Any]]
    total: int
    seconds: float


class TableColumn(TypedDict):
    name: str
    type: str
    says: str


class TableShape(TypedDict):
    name: str
    columns: list[TableColumn]


class TableList(TypedDict):
    tables: list[TableShape]


class Health(TypedDict):
    version: str
    web: str
