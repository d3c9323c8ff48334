"""Findings as JSON and back, between the process of one's own rules and the one that asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.diagnose.finding import Advice, Cost, Finding, SpanAt

LONGEST = 4000  # characters of a text
MOST = 100  # items of a list
TEXTS = ("claim", "evidence", "samples", "rule", "title", "order")
LISTS = ("metrics", "check", "sample_ids")


def finding(row: Mapping[str, Any]) -> Finding:
    """The finding that `Finding.json` wrote. Raises on anything else."""
    severity: Any = row["severity"] if row["severity"] in ("bad", "watch", "info") else "watch"
    texts: dict[str, Any] = {name: str(row[name])[:LONGEST] for name in TEXTS}
    lists: dict[str, Any] = {name: tuple(str(item)[:LONGEST] for item in row[name][:MOST]) for name in LISTS}
    return Finding(
        step=int(row["step"]),
        until=None if row["until"] is None else int(row["until"]),
        severity=severity,
        advice=tuple(Advice(str(a["text"])[:LONGEST], str(a["source"])[:LONGEST]) for a in row["advice"][:MOST]),
        spans=tuple(SpanAt(**span) for span in row["spans"][:MOST]),
        cost=Cost(**row["cost"]) if row["cost"] else None,
        **texts,
        **lists,
    )
