"""Trinity-RFT, live and from its buffers.

    monitor:
      monitor_type: rollscope.sources.trinity.RollscopeMonitor
    data_processor:
      experience_pipeline:
        operators:
          - name: rollscope.sources.trinity.RollscopeOperator
            args: {project: PROJECT, name: NAME}

Explorer and trainer each start a monitor, and both record into one run; the explorer's steps have a
clock of their own. The operator records every experience as a sample. From files: the SQL buffers
(such as `explorer_output.db`) and the JSONL buffer of experiences.
"""

from __future__ import annotations

from typing import Any

from .files import recognises, rows

NAMES = ("trinity", "trinity-rft")
__all__ = ["NAMES", "RollscopeMonitor", "RollscopeOperator", "recognises", "rows"]


def __getattr__(name: str) -> Any:
    if name == "RollscopeMonitor":
        from .monitor import RollscopeMonitor

        return RollscopeMonitor
    if name == "RollscopeOperator":
        from .operator import RollscopeOperator

        return RollscopeOperator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
