"""A batch of OpenTelemetry, by run: rows of spans, samples, turns, notes and readings, and numbers.

What cannot be understood is counted, with a sentence; the rest of the batch is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Records, RunStart
from rollscope.sources.intake.gather import Gather

from .attributes import ATTEMPT, attributes, word
from .logs import call_of, note_row, turn_row
from .numbers import readings
from .resource import KIND, run_of
from .rollout import Turns, call_rows, is_call, is_tool, sample_of, sample_row, tool_row
from .seen import SpanIds
from .spans import span_row
from .tokens import Sequences

SIGNALS = {  # signal -> its keys from the batch down, and what one entry is called
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}
MOST_REASONS = 3  # sentences of an answer
TOO_DEEP = "an entry is left out: its values are nested too deeply to be read"


@dataclass(slots=True)
class Known:
    """What is known of a run from batches before: its spans, and its samples' turns and tokens."""

    spans: SpanIds = field(default_factory=SpanIds)
    told: SpanIds = field(default_factory=SpanIds)  # calls whose messages are known, from the span or an event
    turns: Turns = field(default_factory=Turns)
    tokens: Sequences = field(default_factory=Sequences)


class RunRows:
    """The rows of one run."""

    def __init__(self, start: RunStart, known: Known, path: Path) -> None:
        self.start, self._known, self._path = start, known, path
        self.numbers = Gather(path)
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.count = 0

    def add(self, table: str, row: dict[str, Any]) -> None:
        self.tables.setdefault(table, []).append(row)
        self.count += 1

    def items(self) -> Iterator[Item]:
        """What was added since the last call."""
        self.count = 0
        yield from self.numbers.points()
        for table, rows in self.tables.items():
            yield Records(table, rows)
        self.tables = {}

    def span(self, span: dict[str, Any], resource: dict[str, Any]) -> None:
        found = attributes(span.get("attributes"))
        sample = sample_of(span, found, resource)
        row = span_row(span, found, resource, sample)
        if row["id"] in self._known.spans:
            return  # it was sent before
        self._known.spans.add(row["id"])
        self.add("spans", row)
        if sample is not None:
            self._rollout(sample, row, span, found, resource)

    def _rollout(
        self, sample: str, row: dict[str, Any], span: dict[str, Any], found: dict[str, Any], resource: dict[str, Any]
    ) -> None:
        self.add("samples", sample_row(sample, row, span, found, resource))
        if is_call(found):
            attempt = word(found, ATTEMPT) or word(resource, ATTEMPT)
            text = self._call(sample, row, found)
            self.add("samples", {"id": sample, **text, **self._known.tokens.columns(sample, attempt, found)})
        elif is_tool(found):
            self.add("turns", tool_row(sample, row, found, self._known.turns))

    def _call(self, sample: str, row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Add the turns of a call; return its text. Its span and its event may both hold them."""
        if row["id"] is not None and row["id"] in self._known.told:
            return {}
        text, turns = call_rows(sample, row, found, self._known.turns)
        for turn in turns:
            self.add("turns", turn)
        if turns and row["id"] is not None:
            self._known.told.add(row["id"])
        return text

    def metric(self, metric: dict[str, Any], resource: dict[str, Any]) -> None:
        service, host = str(resource.get("service.name") or KIND), resource.get("host.name")
        for name, time_ns, step, value in list(readings(metric)):
            if step is not None:
                self.numbers.add(step, time_ns, {name: value})
                self.count += 1
            else:
                about = {"device": service, "host": None if host is None else str(host)}
                self.add("host", {"time_ns": time_ns, "name": name, "value": value, **about})

    def log(self, record: dict[str, Any], resource: dict[str, Any]) -> None:
        """What is said in a sample is turns of it; any other record is a note."""
        if (event := call_of(record, resource)) is not None:
            sample, row, found = event
            self.add("samples", {"id": sample, **self._call(sample, row, found)})
            return
        turn = turn_row(record, resource, self._known.turns)
        self.add("notes" if turn is None else "turns", note_row(record) if turn is None else turn)


class Batches:
    """Takes batches, and keeps their rows until they are asked for.

    `known` is what is known of each run, by its id. A run that has everything before an offset of
    the file (`ends`) gets no rows of it; they are read only to know them.
    """

    def __init__(
        self,
        path: Path,
        kind: str = KIND,
        known: dict[str, Known] | None = None,
        ends: Mapping[str, int] | None = None,
    ) -> None:
        self._path, self._kind, self._ends = path, kind, ends or {}
        self.known = {} if known is None else known
        self.runs: dict[str, RunRows] = {}
        self.refused = 0
        self.reasons: list[str] = []

    def take(self, signal: str, batch: Any, offset: int = 0) -> None:
        """Take a batch that begins at an offset of its file."""
        outer, middle, inner = SIGNALS[signal]
        for part in _objects(batch, outer):
            about = part.get("resource")
            resource = attributes(about.get("attributes")) if isinstance(about, dict) else {}
            start = run_of(resource, self._kind)
            is_new = self._ends.get(start.id, 0) <= offset
            rows = self._rows(start) if is_new else self._unkept(start)
            take = {"traces": rows.span, "metrics": rows.metric, "logs": rows.log}[signal]
            entries = [one for scope in _objects(part, middle) for one in _objects(scope, inner)]
            for entry in sorted(entries, key=_start) if signal == "traces" else entries:
                try:
                    take(entry, resource)
                except (ValueError, RecursionError) as error:
                    if is_new:
                        self.refuse(TOO_DEEP if isinstance(error, RecursionError) else str(error))

    def refuse(self, why: str) -> None:
        self.refused += 1
        if len(self.reasons) < MOST_REASONS and why not in self.reasons:
            self.reasons.append(why)

    def _rows(self, start: RunStart) -> RunRows:
        if start.id not in self.runs:
            self.runs[start.id] = self._unkept(start)
        return self.runs[start.id]

    def _unkept(self, start: RunStart) -> RunRows:
        return RunRows(start, self.known.setdefault(start.id, Known()), self._path)


def _start(entry: dict[str, Any]) -> tuple[int, str]:
    """Sorts spans by their start: turns follow each other."""
    text = str(entry.get("startTimeUnixNano") or "")
    return len(text), text


def _objects(holder: Any, key: str) -> list[dict[str, Any]]:
    listed = holder.get(key) if isinstance(holder, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def signal_of(batch: Any) -> str | None:
    """The signal of a batch, by its key."""
    return next((signal for signal, keys in SIGNALS.items() if isinstance(batch, dict) and keys[0] in batch), None)
