"""Takes the items of the queue: rows go to the backlog and the sinks, numbers to their step too."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

from rollscope.record.caller.handover import Chunk, chunks
from rollscope.record.caller.queue import NUMBERS, Commit, FromDevice, Queue, Rows, Samples
from rollscope.record.caller.span import Span
from rollscope.record.clock import Clock
from rollscope.record.loss import ODD, Losses, one_line
from rollscope.sinks import Row
from rollscope.store.log.block import Labels

from .backlog import Backlog
from .fanout import SinkThread
from .keeper import Keeper
from .sample_rows import spread
from .steps import Step, Steps

SLICE_SECONDS = 0.0003  # of work before other threads get the interpreter
BATCH = 64  # items between two looks at the clock


class Intake:
    """What the drain does with an item, by its kind."""

    def __init__(
        self,
        queue: Queue,
        backlog: Backlog,
        sinks: list[SinkThread],
        keeper: Keeper,
        losses: Losses,
        clock: Clock,
        rank: int,
        keep_values: bool,
    ) -> None:
        self.waiting: list[FromDevice | Samples | Span] = []  # for a device, or for the next round
        self._queue = queue
        self._backlog = backlog
        self._sinks = sinks
        self._keeper = keeper
        self._losses = losses
        self._clock = clock
        self._rank = rank
        self._lane = f"trainer/{rank}"
        self._steps = Steps(keep_values or bool(sinks))

    def take(self) -> None:
        """Take everything that waits now, and release the interpreter between slices of work."""
        self.waiting, waiting = [], self.waiting
        computed = self._queue.computing.ended()
        since = time.perf_counter()
        for i, item in enumerate(itertools.chain(waiting, self._queue.take())):
            try:
                self._take(item)
            except ODD as error:
                self._losses.count("calls", f"they could not be read: {one_line(error)}")
            if i % BATCH == BATCH - 1 and time.perf_counter() - since > SLICE_SECONDS:
                time.sleep(1e-5)
                since = time.perf_counter()
        self._queue.computing.forget(computed)

    def _take(self, item: Any) -> None:
        if type(item) is tuple:  # the hot kinds
            if item[0] == NUMBERS:
                _, step, time_ns, values, labels = item
                self._numbers(step, time_ns, values, labels)
            else:
                _, step, time_ns, form, row, labels = item
                self._backlog.metrics.add_packed(form, labels, row)
                self._add_to_step(step, time_ns, form.values(row) if self._steps.keep_values else {}, labels)
            return
        match item:
            case Span():
                self._span(item)
            case FromDevice():
                self._from_device(item)
            case Samples():
                self._samples(item)
            case Rows(table, rows):
                self._add(table, self._keeper.redacted(table, rows))
            case Commit():
                self._commit(item)

    def _numbers(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        if values:
            self._backlog.metrics.add(step, time_ns, values, labels)
        self._add_to_step(step, time_ns, values, labels)

    def _add_to_step(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        if labels.clock is not None:
            return
        if labels.env is not None and self._steps.keep_values:
            values = {f"{labels.env}/{name}": value for name, value in values.items()}
        self._steps.add(step, time_ns, values)

    def _span(self, span: Span) -> None:
        if span.resolved:
            self._backlog.add("spans", [span.row(self._clock.offset, self._lane, self._rank)])
        else:
            self.waiting.append(span)

    def _from_device(self, item: FromDevice) -> None:
        if item.arriving.transfer.has_arrived():
            self._numbers(item.step, item.time_ns, item.arriving.values(), item.labels)
        else:
            self.waiting.append(item)

    def _samples(self, item: Samples) -> None:
        if not item.transfer.has_arrived():
            self.waiting.append(item)
            return
        first, *later = (
            chunks(spread(item.samples, self._losses.count)) if isinstance(item.samples, Mapping) else item.samples
        )
        if later:  # in the next round, so that numbers do not wait for text
            self.waiting.append(Samples(item.step, item.time_ns, later, item.transfer, item.common))
            self._queue.wake.set()
        total = self._chunk(first, item)
        if first.count:
            self._queue.sample_bytes = total // first.count

    def _chunk(self, chunk: Chunk, item: Samples) -> int:
        """Keep some samples. Returns about how many bytes they hold."""
        about = (item.step, item.time_ns, item.common)
        taken = None if self._sinks else self._keeper.columns(chunk, *about)  # sinks take rows
        if taken is not None:
            return sum(map(self._backlog.add, ("samples", "turns"), taken))
        rows, turns = self._keeper.rows(chunk.records(), *about)
        return self._add("samples", rows) + self._add("turns", turns)

    def _add(self, table: str, rows: list[dict[str, Any]]) -> int:
        """Give rows to the backlog and to the sinks. Returns about how many bytes they hold."""
        total = self._backlog.add(table, rows)
        if self._sinks and table not in ("host", "spans"):
            self._feed([Row(table, row.get("step"), row.get("time_ns", 0), row) for row in rows])
        return total

    def _feed(self, rows: list[Row]) -> None:
        for sink in self._sinks:
            sink.put(rows)

    # steps

    def values(self, step: int) -> dict[str, Any]:
        """The step's merged values so far."""
        entry = self._steps.open.get(step)
        return dict(entry.values) if entry else {}

    def _commit(self, item: Commit) -> None:
        step = self._steps.touch(item.step, item.time_ns)
        step.clocks |= item.clocks
        if item.merged is not None:
            step.values = item.merged
        self._steps.close(item.step)
        self._close([step])

    def close_due_steps(self) -> None:
        """Close steps that later ones have made due, except those with a batch in computation."""
        self._close(self._steps.due(self._queue.computing.first))

    def close_all_steps(self) -> None:
        self._close(self._steps.close_all())

    def _close(self, steps: list[Step]) -> None:
        for step in steps:
            self._add("steps", [step.row()])
            if step.values:
                self._feed([Row("metrics", step.number, step.last_ns, step.values)])
