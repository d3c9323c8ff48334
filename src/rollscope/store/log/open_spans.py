"""Spans that have begun and not ended: a small file beside the logs, rewritten while they last.

A span is a row of the log when it ends. Until then its writer names it in `<writer>.open.json`, so
that a reader sees what a lane does now. A writer that finishes removes its file; one that is killed
leaves it, and then it says what was under way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from rollscope.store import regular_file

SUFFIX = ".open.json"
MOST_BYTES = 1 << 20


def write(run: str, writer: str, spans: Sequence[dict[str, Any]]) -> None:
    """Name the open spans of a writer, or remove its file if there is none. Raises OSError."""
    path = os.path.join(run, writer + SUFFIX)
    if not spans:
        if os.path.exists(path):
            os.unlink(path)
        return
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "spans": spans}, file)
    os.replace(f"{path}.new", path)


def read(run: str) -> dict[str, list[dict[str, Any]]]:
    """Writer -> its open spans. A file that cannot be read says nothing."""
    found = {}
    with os.scandir(run) as entries:
        paths = [entry.path for entry in entries if entry.name.endswith(SUFFIX)]
    for path in sorted(paths):
        try:
            spans = regular_file.parsed(regular_file.read(path, MOST_BYTES)).get("spans")
        except (OSError, ValueError, AttributeError):
            continue
        rows = [span for span in spans if _is_span(span)] if isinstance(spans, list) else []
        found[os.path.basename(path).removesuffix(SUFFIX)] = rows
    return found


def _is_span(span: Any) -> bool:
    return (
        isinstance(span, dict)
        and all(isinstance(span.get(name), str) for name in ("name", "lane", "kind"))
        and isinstance(span.get("start_ns"), int)
    )
