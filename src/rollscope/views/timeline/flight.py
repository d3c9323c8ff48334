"""What is under way now, for a page: open spans on their lanes, with their age.

A span whose process is gone was left open; it ends, as far as anyone knows, with the last that was
recorded.
"""

from __future__ import annotations

import time
from typing import Any

from rollscope.store.run import Run

from .picture import Lanes


def in_flight(run: Run, lanes: Lanes) -> list[dict[str, Any]]:
    """Open spans, the oldest first, in seconds since the first span of the run."""
    now = time.time_ns()
    found = []
    for span in run.open_spans():
        end = now if span["alive"] else max(lanes.end, span["start_ns"])
        found.append(
            {
                "name": span["name"],
                "lane": span["lane"],
                "kind": span["kind"],
                "sample": span.get("sample"),
                "step": span.get("step"),
                "start_s": (span["start_ns"] - lanes.origin) / 1e9,
                "seconds": max(0, end - span["start_ns"]) / 1e9,
                "alive": span["alive"],
            }
        )
    return sorted(found, key=lambda span: span["start_s"])
