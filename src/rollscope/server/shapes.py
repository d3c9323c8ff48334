"""Types of the API's replies that no view defines.

mypy checks them, OpenAPI describes them, and scripts/wire_types.py writes them for the web to
web/wire/types.gen.d.ts. A number that JSON cannot hold is sent as a word: "NaN", "Infinity" and
"-Infinity" are logged values; null is no data.
"""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.diagnose.finding import CostShape, FindingShape
from rollscope.notify.stored import ToldShape
from rollscope.strict_json import Number
from rollscope.views.health.vital_sign import VitalSign
from rollscope.views.health.vitals import WatchList
from rollscope.views.metric_info import NameList
from rollscope.views.samples.sample_list import PickedSample
from rollscope.views.summary.run_notes import NoteShape
from rollscope.views.summary.run_row import RunRow
from rollscope.views.summary.tape import TapeSeries
from rollscope.views.time.time_parts import TimePart


class HiddenShape(TypedDict):
    """A person's statement about a rule in a run."""

    rule: str
    hidden: bool
    why: str


class SkippedShape(TypedDict):
    """A rule that could not look, and what it needs."""

    rule: str
    title: str
    needs: str


class StopShape(TypedDict):
    """A request to stop the current attempt of a run."""

    attempt: int
    why: str
    by: str
    time_ns: float


class FindingList(TypedDict):
    """`resume` says for a rule's finding where to resume; `hears` whether the run can be asked.

    `recovered` are findings that were written while the run ran, and hold no more. `diagnosed` is
    false while the first diagnosis is under way.
    """

    findings: list[FindingShape]
    diagnosed: bool
    recovered: list[FindingShape]
    rules: list[dict[str, str]]
    skipped: list[SkippedShape]
    told: list[ToldShape]
    resume: dict[str, str]
    hears: bool
    stop: StopShape | None


class NoteList(TypedDict):
    notes: list[NoteShape]


class SaidShape(TypedDict):
    """An entry of the project log; one that undoes others has `undoes` and no kind."""

    id: str
    time_ns: int
    author: str
    kind: NotRequired[str]
    name: NotRequired[str]
    value: NotRequired[Any]
    undoes: NotRequired[list[str]]


class SaidList(TypedDict):
    entries: list[SaidShape]


class ProjectShape(TypedDict):
    """Kind -> name -> the entry that holds, and a sentence for each line that cannot be read."""

    held: dict[str, dict[str, SaidShape]]
    problems: list[str]


class DeletedShape(TypedDict):
    """A run in the bin."""

    id: str
    author: str
    time_ns: int


class DeletedList(TypedDict):
    runs: list[DeletedShape]


class RunList(TypedDict):
    runs: list[RunRow]
    folder: str
    pending: int  # runs that are not read yet; an event tells when to ask again


class MetricCounts(TypedDict):
    names: dict[str, int]  # how many runs log each metric
    pending: int  # runs that are not read yet


class LastValuesShape(TypedDict):
    values: dict[str, dict[str, Number]]  # metric -> run -> its last value
    pending: int


class Names(NameList):
    watched: WatchList


class StillList(TypedDict):
    names: list[str]


class OutputShape(TypedDict):
    """Lines that a run printed; `first` is the number of those before them."""

    first: int
    lines: list[str]
    total: int


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


class Tape(TapeSeries):
    """The tape with its findings. x is the step; clocks translate a step to the other axes."""

    findings: list[FindingShape]
    diagnosed: bool  # False: the rules have not read this run yet


class Vital(VitalSign):
    findings: list[FindingShape]


class UsefulShape(TypedDict):
    """The share of the tokens generated that taught something, and where the rest went."""

    share: float
    samples: int
    tokens: int
    wasted: list[CostShape]
    sentence: str


class OverviewShape(TypedDict):
    diagnosed: bool
    verdict: str
    context: str
    status: str
    findings: list[FindingShape]
    kind: str  # of run: a scenario of the catalogue
    kinds: list[list[str]]  # name and title of each
    vitals: list[Vital]
    time: list[TimePart]
    time_step: int | None
    useful: UsefulShape | None
    samples: list[PickedSample]
    samples_step: int | None
    samples_stepless: int  # that name no step, and are in none of these numbers if others name one
    reward_range: list[float | None]
    facts: list[list[str]]


class ValuesShape(TypedDict):
    """Run -> name -> the value that is stored at a step."""

    step: int
    runs: dict[str, dict[str, Number]]


class SqlColumn(TypedDict):
    name: str
    type: str


class SqlAnswer(TypedDict):
    """Rows of an answer; `total` also counts those that were not sent."""

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


class SessionShape(TypedDict):
    """Who is signed in; `projects` has `*` for who sees them all."""

    signed_in: bool
    name: str
    may: str
    projects: list[str]
    runs: list[str]
    ends_ns: float


class TokenShape(TypedDict):
    """A token without its text; a time that has not come is null."""

    id: str
    name: str
    projects: list[str]
    runs: list[str]
    boards: list[str]
    may: str
    made_ns: float
    ends_ns: float
    used_ns: float | None
    revoked_ns: float | None


class TokenList(TypedDict):
    tokens: list[TokenShape]


class NewToken(TypedDict):
    """The text of a token, this once, and what it is."""

    token: str
    about: TokenShape


class Health(TypedDict):
    version: str
    web: str
    lake_behind_seconds: float | None  # None: it shows a folder, or has not seen all of the lake yet


class Held(TypedDict):
    """What a lake holds of a run: for each file kind, start, bytes, SHA-256 and time of objects."""

    run: str
    ship: int
    files: dict[str, list[tuple[str, int, int, str, int]]]


class Stored(TypedDict):
    bytes: int
    sha256: str


class Taken(TypedDict):
    """How many entries the lake did not have yet."""

    new: int


class Shipped(TypedDict):
    run: str
    ship: int
    rows: int
