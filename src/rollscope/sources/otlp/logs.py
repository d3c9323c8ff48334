"""Log records of OpenTelemetry: messages of a sample's conversation as turns, others as notes."""

from __future__ import annotations

import json
from typing import Any

from .attributes import SAMPLE, STEP, attributes, count, nanoseconds, value_of, word
from .messages import said
from .rollout import STOP, Turns
from .spans import span_id

ROLES = {  # events of the conventions for messages -> who speaks
    **{f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")},
    "gen_ai.choice": "assistant",
}
DETAILS = "gen_ai.client.inference.operation.details"
WARNING = 13  # the lowest severity number of a warning


def call_of(record: dict[str, Any], resource: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    """The sample, the row and the attributes of an event that holds a whole call."""
    found = attributes(record.get("attributes"))
    sample = word(found, SAMPLE) or word(resource, SAMPLE)
    if sample is None or (record.get("eventName") or found.get("event.name")) != DETAILS:
        return None
    time_ns = _time(record)
    row = {"id": span_id(record.get("spanId")), "step": count(found, STEP), "start_ns": time_ns, "end_ns": time_ns}
    return sample, row, found


def turn_row(record: dict[str, Any], resource: dict[str, Any], turns: Turns) -> dict[str, Any] | None:
    """A message of a sample; None if the record is none, or does not say of which sample."""
    found, body = attributes(record.get("attributes")), value_of(record.get("body"))
    role = ROLES.get(str(record.get("eventName") or found.get("event.name")))
    sample = word(found, SAMPLE) or word(resource, SAMPLE)
    if role is None or sample is None:
        return None
    message = body.get("message", body) if isinstance(body, dict) else body
    reason = body.get("finish_reason") if isinstance(body, dict) else None
    return {
        "sample": sample,
        "turn": turns.number(sample),
        "step": count(found, STEP),
        "time_ns": _time(record),
        **said(message, role),
        "stop_reason": None if reason is None else STOP.get(str(reason), str(reason)),
    }


def note_row(record: dict[str, Any]) -> dict[str, Any]:
    """One log record. Raises ValueError with a sentence if it says nothing."""
    found, body = attributes(record.get("attributes")), value_of(record.get("body"))
    event = record.get("eventName") or found.get("event.name")
    if body is None and not event:
        raise ValueError("a log record has neither a body nor an event's name")
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False) if body is not None else ""
    severity = record.get("severityNumber")
    trace = {"trace": record.get("traceId"), "span": record.get("spanId")}
    return {
        "step": count(found, STEP),
        "time_ns": _time(record),
        "text": f"{event}: {text}" if event and text else str(event or text),
        "kind": "warning" if isinstance(severity, int) and severity >= WARNING else "output",
        "data": {**found, **{key: value for key, value in trace.items() if value}} or None,
    }


def _time(record: dict[str, Any]) -> int | None:
    return nanoseconds(record.get("timeUnixNano")) or nanoseconds(record.get("observedTimeUnixNano"))
