"""Spans of OpenTelemetry as spans of a run. Every attribute is kept."""

from __future__ import annotations

from typing import Any

from .attributes import GROUP, LANE, STEP, VERSION, attributes, count, first, nanoseconds, word

IDS = 2**63 - 1  # a span's id as a number of 63 bits
ERROR = (2, "2", "STATUS_CODE_ERROR")
MOST_EVENTS = 100  # of a span that are kept
MOST_LINKS = 1_000


def span_id(text: Any) -> int | None:
    """The number of a span; None if it is not one: 16 hexadecimal digits, not all 0."""
    if not isinstance(text, str) or len(text) != 16:
        return None
    try:
        return int(text, 16) & IDS or None
    except ValueError:
        return None


def span_row(
    span: dict[str, Any], found: dict[str, Any], resource: dict[str, Any], sample: str | None
) -> dict[str, Any]:
    """One span. Raises ValueError with a sentence if it is none."""
    id, start = span_id(span.get("spanId")), nanoseconds(span.get("startTimeUnixNano"))
    end = nanoseconds(span.get("endTimeUnixNano"))
    if id is None:
        raise ValueError(f"a span has the id {str(span.get('spanId'))[:40]!r}; expected 16 hexadecimal digits")
    if start is None or end is None or end < start:
        raise ValueError(f"the span {str(span.get('name'))[:80]!r} has no start before its end")
    name = str(span.get("name") or "span")[:1000]
    return {
        "id": id,
        "parent": span_id(span.get("parentSpanId")),
        "name": name,
        "lane": _lane(found, resource),
        "kind": "wait" if "wait" in name.lower() else "work",
        "start_ns": start,
        "end_ns": end,
        "step": count(found, STEP),
        "group": word(found, GROUP),
        "sample": sample,
        "version": count(found, VERSION),
        "data": _data(span, found),
        "causes": _causes(span, id),
    }


def _lane(found: dict[str, Any], resource: dict[str, Any]) -> str:
    """Who spent the time: the service, and its worker, instance or process."""
    service = str(resource.get("service.name") or "otlp")
    who = first({**resource, **found}, (*LANE, "service.instance.id", "process.pid", "host.name"))
    return f"{service}/{who}"[:200] if who is not None else service[:200]


def _data(span: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What has no column: attributes, trace, events, attributes of links, and how it failed."""
    status = span.get("status") if isinstance(span.get("status"), dict) else {}
    data: dict[str, Any] = {**found, "trace": span.get("traceId")}
    events = _objects(span.get("events"))[:MOST_EVENTS]
    if events:
        data["events"] = [
            {
                "name": one.get("name"),
                "time_ns": nanoseconds(one.get("timeUnixNano")),
                **attributes(one.get("attributes")),
            }
            for one in events
        ]
    links = [one for one in _objects(span.get("links"))[:MOST_LINKS] if one.get("attributes")]
    if links:
        data["links"] = [
            {"trace": one.get("traceId"), "span": one.get("spanId"), **attributes(one["attributes"])} for one in links
        ]
    if status and status.get("code") in ERROR:
        data["error"] = str(status.get("message") or "error")[:10_000]
    return data


def _causes(span: dict[str, Any], own: int) -> list[str] | None:
    """The spans that a span is linked to; in another trace, too."""
    linked = [span_id(link.get("spanId")) for link in _objects(span.get("links"))[:MOST_LINKS]]
    return list(dict.fromkeys(str(id) for id in linked if id is not None and id != own)) or None


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
