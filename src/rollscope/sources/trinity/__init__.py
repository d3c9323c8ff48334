"""Trinity-RFT, live and from its buffers.

    monitor:
      monitor_type: rollscope.sources.trinity.RollscopeMonitor

Explorer and trainer each begin a monitor; both record into one run, the explorer's steps on a clock of their own. From files: the SQL buffers
(`explorer_output.db` and kin) and the JSONL buffer of experiences.
"""

from __future__ import annotations

from typing import Any

from .files import recognises, rows

NAMES = ("trinity", "trinity-rft")
__all__ = ["NAMES", "RollscopeMonitor", "recognises", "rows"]


def __getattr__(name: str) -> Any:
    if name == "RollscopeMonitor":
        from .monitor import RollscopeMonitor

        return RollscopeMonitor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
