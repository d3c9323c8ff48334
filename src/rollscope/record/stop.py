"""`run.should_stop`: hears that somebody asked to stop this attempt, on all ranks at one step.

A thread looks for the request, so the trainer never waits for a disk. With torch.distributed, rank
0 names a step two ahead in the job's key-value store, and every rank leaves there: ranks that train
together are never further apart. No collective is used. If not every rank asks, no rank stops: one
that left alone would hang the others.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

from rollscope.record.caller.queue import Queue, Rows
from rollscope.store.log.stop import StopRequest, read

from .clock import Clock
from .identity import Attempt
from .loss import Losses
from .thread import started

LOOK_SECONDS = 0.5
AHEAD = 2  # steps from the one at which rank 0 hears the request


class Stop:
    """Requests to stop one attempt. Nothing runs before the first `now`."""

    def __init__(self, attempt: Attempt, shard: int, clock: Clock, queue: Queue, losses: Losses) -> None:
        self.reason: str | None = None  # why the run ends, once `now` was True
        self._attempt, self._shard, self._clock = attempt, shard, clock
        self._queue, self._losses = queue, losses
        self._request: StopRequest | None = None
        self._ranks: _Ranks | None = None
        self._began = False
        self._ended = threading.Event()

    def now(self, step: int) -> bool:
        """Is this step the last?"""
        if not self._began:
            self._began = True
            self._begin()
        if self._ranks is not None:
            is_last = self._ranks.now(step, self._request is not None)
        else:
            is_last = self._request is not None
        if is_last and self.reason is None:
            self._stopped(step)
        return is_last

    def _begin(self) -> None:
        self._ranks = _ranks(f"rollscope/{self._attempt.id}/{self._attempt.number}/stop", self._losses)
        if self._ranks is None or self._ranks.rank == 0:
            started(self._look, "rollscope-stop", self._losses)
        if self._shard == 0:
            self._queue.put(Rows("runs", [{"hears_stop": self._attempt.number}]))

    def _look(self) -> None:
        while not self._ended.is_set() and self._request is None:
            request = read(str(self._attempt.folder))
            if request is not None and request.attempt == self._attempt.number:
                self._request = request
            self._ended.wait(LOOK_SECONDS)

    def _stopped(self, step: int) -> None:
        request = self._request
        self.reason = f"stopped as asked: {request.why}" if request else "stopped as asked"
        if self._shard == 0:
            text = f"Stops after step {step}, as {request.by} asked: {request.why}" if request else self.reason
            note = {"step": step, "time_ns": self._clock.now(), "kind": "stop", "text": text, "data": {"heard": True}}
            self._queue.put(Rows("notes", [note]))

    def close(self) -> None:
        self._ended.set()


class _Ranks:
    """The ranks of a job of torch.distributed, by its key-value store."""

    def __init__(self, store: Any, rank: int, count: int, prefix: str, losses: Losses) -> None:
        self.rank, self._count = rank, count
        self._store, self._losses = store, losses
        self._asking, self._last = f"{prefix}/asking", f"{prefix}/last"
        self._last_step: int | None = None
        store.add(self._asking, 1)

    def now(self, step: int, requested: bool) -> bool:
        if self._last_step is None and self._store.check([self._last]):
            self._last_step = int(self._store.get(self._last))
        if self._last_step is None and self.rank == 0 and requested:
            self._decide(step)
        return self._last_step is not None and step >= self._last_step

    def _decide(self, step: int) -> None:
        asking = self._store.add(self._asking, 0)
        if asking == self._count:
            self._last_step = step + AHEAD
            self._store.set(self._last, str(self._last_step))
        else:
            self._losses.say(
                f"a request to stop is not honoured: {asking} of {self._count} ranks call `run.should_stop`, and the"
                " others would wait for ever",
                "stop",
            )


def _ranks(prefix: str, losses: Losses) -> _Ranks | None:
    torch = sys.modules.get("torch")
    with contextlib.suppress(AttributeError):  # torch is half imported, or was built without it
        if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            count = torch.distributed.get_world_size()
            store = torch.distributed.distributed_c10d._get_default_store()
            return _Ranks(store, torch.distributed.get_rank(), count, prefix, losses) if count > 1 else None
    return None
