"""Links between spans: what had to end before a span could start, across lanes.

A sample is generated, scored, and trained in a batch; the update makes a version; the trainer sends
it, a worker loads it, and the first generation with it follows. Every span is recorded with the
keys of those it waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rollscope.record.run import Run
from rollscope.trainer.timeline import Span


class Links:
    """Records spans, each with its causes."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._scored: dict[str, str] = {}  # group -> key of the last span that worked on it
        self._sent: dict[int, str] = {}  # version -> key of the trainer's span that sent it
        self._loaded: dict[str, str] = {}  # lane -> key of the load that no generation has followed yet
        self._batch: list[str] = []  # keys that the next update waits for
        self._update = ""  # key of the last optimiser span

    def batch(self, groups: Collection[str]) -> None:
        """The next update trains on these groups."""
        self._batch = sorted({self._scored.pop(group) for group in groups if group in self._scored})

    def drop(self, groups: Collection[str]) -> None:
        """These groups are discarded."""
        for group in groups:
            self._scored.pop(group, None)

    def record(self, spans: Iterable[Span]) -> None:
        for span in spans:
            span.causes = self._causes(span) or None
            self._remember(span, self._run.log_span(**span.columns()))

    def _causes(self, span: Span) -> list[str]:
        match span.name:
            case "sync_weights" if span.lane.startswith("trainer"):
                return [self._update] if self._update else []
            case "sync_weights":
                return [self._sent[span.version]] if span.version in self._sent else []
            case "generate" if span.lane in self._loaded:
                return [self._loaded.pop(span.lane)]
            case "generate" | "env_response" | "reward":
                return sorted({self._scored[group] for group in span.groups or () if group in self._scored})
            case "prepare_tensors":
                causes, self._batch = self._batch, []
                return causes
        return []

    def _remember(self, span: Span, key: str) -> None:
        match span.name:
            case "optimizer":
                self._update = key
            case "sync_weights" if span.lane.startswith("trainer"):
                self._sent = {span.version or 0: key}
            case "sync_weights":
                self._loaded[span.lane] = key
            case "generate" | "env_response" | "reward":
                self._scored |= dict.fromkeys(span.groups or (), key)
