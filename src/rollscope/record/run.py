"""`Run`: what a training loop calls.

Every method but three hands its values over and returns at once: `flush` and `finish` wait for the
disk, `reduce` for the other ranks, each for a bounded time. None raises into training once the run
exists. Losses are counted, written into the run as notes, and printed once on stderr.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

from rollscope.record.caller.declared import declared_facts
from rollscope.record.caller.frozen import frozen_row
from rollscope.record.caller.handover import hand_over
from rollscope.record.caller.label import label, plain_text
from rollscope.record.caller.numbers import Numbers
from rollscope.record.caller.queue import MANY, NUMBERS, Rows, Samples
from rollscope.record.caller.span import Span, put_measured
from rollscope.record.caller.step import known_clocks, step_number

from . import lifecycle
from .facts import described
from .identity import Attempt
from .loss import ODD, never_raises, one_line
from .recorder import Recorder
from .settings import Settings

TRAIN = "train"


class Run:
    """A run that is being recorded."""

    def __init__(self, settings: Settings, attempt: Attempt, owner: bool = True) -> None:
        self._settings = settings
        self._attempt = attempt
        self._open(owner)
        lifecycle.watch(self)

    def _open(self, owner: bool) -> None:
        self._recorder = Recorder(self._settings, self._attempt, secrets.token_hex(8), owner)
        self._queue = self._recorder.queue
        self._clock = self._recorder.clock
        self._losses = self._recorder.losses
        self._numbers = Numbers(self._queue, self._recorder.formats, self._losses)
        self._plain = self._recorder.labels()
        self._ids = itertools.count(1)
        self._begins = self._queue.begun.append
        self._step = self._attempt.first_step
        self._finished = False

    def _after_fork(self) -> None:
        """In a forked child: open a new recorder, which starts when the child first records."""
        finished, step = self._finished, self._step
        self._recorder.abandon()
        self._open(owner=False)
        self._finished, self._step = finished, step

    @property
    def id(self) -> str:
        return self._attempt.id

    @property
    def folder(self) -> Path:
        return self._attempt.folder

    @property
    def step(self) -> int:
        """The current step: the last one that something was logged for."""
        return self._step

    @property
    def losses(self) -> dict[str, int]:
        """What could not be kept so far, in words, and how often."""
        return {f"{what}: {why}": number for (what, why), number in self._losses.total.items()}

    def log(
        self,
        metrics: Mapping[str, Any],
        step: int | None = None,
        *,
        env: str | None = None,
        split: str = TRAIN,
        clock: str | None = None,
    ) -> None:
        """Record numbers or partials of a step.

        `env` and `split` say which data they are of. `clock` names what `step` counts, if not
        optimiser updates.
        """
        try:
            time_ns = perf_counter_ns() + self._clock.offset
            if step is None:
                step = self._step
            else:
                if type(step) is not int or step >> 63:
                    step = step_number(step)
                if clock is None:
                    self._step = step
            if env is None and clock is None and split is TRAIN:
                labels = self._plain
            else:
                labels = self._recorder.labels(env, split, clock)
            numbers = self._numbers
            if numbers.has_tensors or type(metrics) is not dict:  # the sum below would run on the tensors' device
                numbers.put(metrics, step, time_ns, labels)
                return
            values = metrics.copy()  # before reading them: nothing brings cold memory in faster
            # A float sum proves that all are Python numbers, which cannot change: any other value
            # gives the sum another type, or raises. No other test is as fast.
            try:
                are_numbers = type(sum(values.values(), 0.0)) is float
            except Exception:
                are_numbers = False
            queue = self._queue
            if not are_numbers:
                numbers.put(values, step, time_ns, labels)
            elif queue.cells < MANY:
                queue.cells += len(values)
                queue.put((NUMBERS, step, time_ns, values, labels))
            else:
                numbers.put_packed(values, [*values.values()], step, time_ns, labels)
        except ODD as error:
            self._losses.count("calls of log", one_line(error))

    @never_raises("batches")
    def log_batch(self, batch: Mapping[str, Any], step: int | None = None) -> None:
        """Compute every metric the batch supports, off this thread. Keys are those of `rs.compute`.

        Unknown keys are reported once. At most 1 GiB of a batch is copied: larger logits on a
        device are read in the call, and any other part that does not fit is left out, counted and
        reported.
        """
        self._recorder.jobs.batch(batch, self._at(step), self._clock.now())

    def log_samples(self, samples: Any = (), step: int | None = None, **same: Any) -> None:
        """Record samples: dicts, `rs.Sample`s, or one mapping of columns.

        `same` holds for all of them. A later call with the same id fills in missing fields.
        """
        try:
            time_ns, step = self._clock.now(), self._at(step)
            chunks, common, transfer = hand_over(samples, same, self._losses.count)
            if chunks:
                self._queue.put_samples(Samples(step, time_ns, chunks, transfer, common))
        except ODD as error:
            self._losses.count("calls of log_samples", one_line(error))

    @never_raises("evaluations")
    def log_eval(
        self,
        name: str,
        results: Iterable[Mapping[str, Any]],
        step: int | None = None,
        *,
        prefix: str = "eval",
        detailed: bool = False,
    ) -> None:
        """Record an evaluation: its rows, its metrics (split `eval`), and its samples."""
        name, prefix = label(name, self._losses.count), label(prefix, self._losses.count)
        self._recorder.jobs.evaluation(name, results, self._at(step), self._clock.now(), prefix, bool(detailed))

    def span(
        self,
        name: str,
        lane: str | None = None,
        *,
        kind: str = "work",
        step: int | None = None,
        device: bool = False,
        **data: Any,
    ) -> Span:
        """Measure a stretch of time: `with run.span("generate", lane="inference/0"): ...`.

        `device=True` measures CUDA work by events, without waiting for it. Facts in `data` that
        say why it ran when it did: `version` of the weights, `queued_ns` when the work entered its
        queue, `causes` the keys (`span.key`) of spans it waited for, in any process.
        """
        return Span(self, name, lane, kind, step, device, data)

    def log_span(
        self,
        name: str,
        start_ns: int,
        end_ns: int,
        lane: str | None = None,
        *,
        kind: str = "work",
        step: int | None = None,
        **data: Any,
    ) -> str:
        """Record a span that was measured elsewhere, in wall-clock nanoseconds. Returns its key."""
        return put_measured(self, name, lane, kind, (start_ns, end_ns), step, data)

    @never_raises("declarations")
    def declare(self, env: str | None = None, **facts: Any) -> None:
        """Say what is known beforehand.

        `reward_min`, `reward_max` and `metrics_ranges` are those of an environment, or of all
        environments. `ranges` are those of metrics, by name. From `gpus`, `gpu_hour_price` and
        `currency` the doctor says what wasted work cost.
        """
        env, facts = env and label(env, self._losses.count), declared_facts(facts, self._losses.count)
        self._put("runs", {"declared": self._recorder.jobs.context.declare(env, facts)})

    @never_raises("descriptions")
    def describe(self, **facts: Any) -> None:
        """Add facts that became known later: columns of `runs`, such as `tags`. None is ignored."""
        if known := described(facts, self._losses.count):
            self._put("runs", known)

    @never_raises("notes")
    def note(self, text: str, step: int | None = None, *, kind: str = "note", **data: Any) -> None:
        """Write a note beside the numbers of a step."""
        row = {"step": self._step if step is None else step, "time_ns": self._clock.now(), "data": data or None}
        self._put("notes", row | {"text": plain_text(text), "kind": label(kind, self._losses.count)})

    def on_finding(self, listener: Callable[[Any], Any]) -> None:
        """Start a doctor that reads this run, and call `listener(finding)` for each finding."""
        if not self._finished:
            self._recorder.listen(listener)

    def should_stop(self, step: int | None = None) -> bool:
        """True once somebody asked to stop: save a checkpoint and leave. Every rank calls it."""
        return self._recorder.should_stop(self._step if step is None else step)

    @never_raises("commits")
    def commit(self, step: int | None = None, **clocks: Any) -> None:
        """Say that the step is complete: sinks get it now. `tokens=`, `epoch=`, ... are clocks."""
        step = self._step if step is None else step_number(step)
        self._recorder.jobs.commit(step, self._clock.now(), known_clocks(clocks, self._losses.count))
        self._step = max(self._step, step + 1)

    def reduce(self, step: int | None = None, *, timeout: float = 60.0) -> dict[str, float]:
        """The step's values over all ranks. Closes the step for the sinks of shard 0.

        This is a collective: every rank calls it for the same step. If a rank does not come in
        time, that is counted, and this rank's own values are returned.
        """
        try:
            return self._recorder.reduce(self._step if step is None else step_number(step), timeout)
        except Exception as error:
            self._losses.count("reductions", one_line(error), of_store=False)
            return {}

    def flush(self, patience: float = 5.0) -> bool:
        """Write everything recorded so far, now.

        True if all of it is on the disk, safe from a power loss. False if that took longer than
        `patience` seconds: the rest stays in memory and is tried again. False also if something
        was lost since the last flush; `losses` counts it.
        """
        try:
            return self._recorder.flush(patience)
        except Exception as error:
            self._losses.say(f"flushing failed: {one_line(error)}")
            return False

    def finish(self, state: str = "finished", reason: str | None = None) -> None:
        """Write everything and close. A second call does nothing.

        Also called at exit, on an exception, and by `with`.
        """
        if self._finished:
            return
        self._finished = True
        try:
            self._recorder.finish(state, reason)
        except Exception as error:
            self._losses.say(f"finishing failed: {one_line(error)}")
        lifecycle.unwatch(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or kind is SystemExit:
            self.finish()
        else:
            self.note(lifecycle.traceback_of(error), kind="output")
            self.finish("crashed", lifecycle.reason(kind, error))

    def __repr__(self) -> str:
        return f"<Run {self.id} in {self.folder.parent}>"

    def _at(self, step: int | None) -> int:
        if step is not None:
            self._step = step_number(step)
        return self._step

    def _put(self, table: str, row: dict[str, Any]) -> None:
        self._queue.put(Rows(table, [frozen_row(row, self._losses.count, table)]))
