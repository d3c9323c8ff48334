"""The stand-in for a trace of Trackio."""

from __future__ import annotations

from typing import Any

from .anything import unsupported


class Trace:
    """Messages and what is known about them: a sample."""

    def __init__(self, messages: Any = (), metadata: Any = None, spans: Any = None) -> None:
        self.messages, self.metadata = list(messages), dict(metadata or {})
        if spans:
            unsupported("a trace's list of spans", "its messages and its metadata are")
