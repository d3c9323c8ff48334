"""Log records of OpenTelemetry as notes of a run."""

from __future__ import annotations

import json
from typing import Any

from .attributes import STEP, attributes, count, nanoseconds, value_of

WARNING = 13  # the lowest severity number of a warning


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
        "time_ns": nanoseconds(record.get("timeUnixNano")) or nanoseconds(record.get("observedTimeUnixNano")),
        "text": f"{event}: {text}" if event and text else str(event or text),
        "kind": "warning" if isinstance(severity, int) and severity >= WARNING else "output",
        "data": {**found, **{key: value for key, value in trace.items() if value}} or None,
    }
