"""The recorder behind one `Run`: its threads, and the order in which they start and stop."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from rollscope.errors import CannotRead
from rollscope.record.caller.call_labels import CallLabels
from rollscope.record.caller.queue import Commit, Queue, Rows
from rollscope.record.caller.row_format import RowFormats
from rollscope.record.caller.step import step_number
from rollscope.record.compute.counters import Counters
from rollscope.record.compute.jobs import Jobs
from rollscope.record.compute.worker import Worker
from rollscope.record.write.drain import Drain
from rollscope.record.write.fanout import SinkThread
from rollscope.record.write.keeper import Keeper
from rollscope.record.write.log_files import LogFiles
from rollscope.sinks import Sink

from . import run_json
from .clock import Clock
from .facts import process_facts, run_facts
from .identity import Attempt
from .launch import mark_ended
from .loss import Losses, one_line
from .settings import Settings, SinkChoice
from .spawn import spawn
from .stop import Stop

COMPUTE_SECONDS = 120.0  # how long finish() waits for batches that are still being computed
PATIENCE_SECONDS = 10.0  # how long finish() waits for a disk or a sink that does not respond


class _Closable(Protocol):
    def close(self) -> None: ...


class Recorder:
    """Queue, drain, log files, sinks, workers and watchers of one process.

    The `owner` is the process that called `init`: it writes the run's facts and state, feeds the
    sinks and starts the watchers. Any other process (a forked child, a process that joined) only
    writes its own log, and starts its drain when it first records something.
    """

    def __init__(self, settings: Settings, attempt: Attempt, writer: str, owner: bool) -> None:
        self.settings = settings
        self.attempt = attempt
        self.writer = writer
        self.owner = owner
        self.clock = Clock()
        self.losses = Losses()
        self.queue = Queue(self.losses)
        self.formats = RowFormats(self.losses.count)
        self.shard = settings.request.shard
        self.lane = f"trainer/{self.shard}"
        self.counters = Counters(attempt, writer, settings.request.shards == 1 and owner)
        self.labels = CallLabels(attempt.number, self.shard, self.losses.count)
        self.jobs = Jobs(self.queue, self.counters, self.labels, self.losses)
        self._errands = Worker(self.losses, "rollscope-errands")
        self._watchers: list[_Closable] = []
        self.stop = Stop(attempt, self.shard, self.clock, self.queue, self.losses)
        self._drain: Drain | None = None
        self._written: bool | None = None  # whether everything was written, once the run is finished
        text = settings.text
        self._keeper = Keeper(writer, self.losses, text.keep_text, text.keep_tokens, text.redact)
        self._facts: dict[str, Any] = {}
        if owner:
            if attempt.notice:
                self.losses.say(attempt.notice)
            self._facts = run_facts(settings, attempt, writer, self.clock.now(), self.losses)
            self._try_write_facts()
            self._start()
            self._begin()
        else:
            self.queue.when_first(self._start)

    # start

    def _try_write_facts(self) -> None:
        try:
            self._write_facts()
        except OSError as error:
            why = error.strerror or error
            self.losses.say(
                f"cannot write to {self.attempt.folder} ({why}); keeping rows in memory and trying again", "store"
            )

    def _write_facts(self) -> None:
        """Write `run.json`, if this process is to. Raises OSError alone."""
        if not self._facts:
            return
        try:
            run_json.write(self.attempt.folder, self._facts, self.shard)
        except OSError:
            raise
        except CannotRead as error:  # the log must begin all the same
            self.losses.say(str(error))
        except Exception as error:
            self.losses.say(f"{self.attempt.folder / 'run.json'} could not be written: {one_line(error)}")

    def _start(self) -> None:
        """Start the drain, and the sinks of the owner."""
        sinks = [self._sink_thread(choice) for choice in self.settings.sinks.sinks] if self.owner else []
        self._drain = Drain(
            self.queue,
            self._log_files(),
            sinks,
            self._keeper,
            self.losses,
            self.clock,
            self.attempt.number,
            self.shard,
            keep_values=self.settings.request.shards > 1,
        )
        if not self.owner:
            from .lifecycle import child_began

            child_began(self)

    def _log_files(self) -> LogFiles:
        facts = process_facts(self.settings.request, self.clock, self.owner)
        files = LogFiles(self.attempt.folder, self.writer, facts, self.attempt.number)
        files.prepare = self._write_facts
        files.on_rotate = self._seal
        files.on_removed = lambda: self.losses.say(
            f"a log in {self.attempt.folder} was removed or replaced; it was restored, with the rows this process has",
            "removed",
        )
        doubt = "their file could not be read back after its handle died; they may be lost"
        files.on_doubtful = lambda bytes: self.losses.count("bytes", doubt, bytes)
        return files

    def _sink_thread(self, choice: SinkChoice) -> SinkThread:
        if not isinstance(choice, (str, tuple)):
            return SinkThread(type(choice).__name__, lambda: choice, self.losses)
        name, options = (choice, {}) if isinstance(choice, str) else choice
        info = {**self._facts, "dir": str(self.attempt.folder), "writer": self.writer}

        def open_sink() -> Sink:
            from rollscope.sinks.registry import make

            return make(name, info, self.settings.sinks.dialect, **options)

        return SinkThread(name, open_sink, self.losses)

    def _begin(self) -> None:
        """Write that the run has begun, look at its surroundings, start the watchers."""
        self.queue.put(Rows("runs", [{"state": "running", "started_ns": self._facts["started_ns"]}]))
        if self.shard == 0 or self.attempt.leads:
            self._errands.put("facts", self._capture)
            self._attend()
            self._ship()
        try:
            self._watch()
        except Exception as error:
            self.losses.say(f"the machine is not watched: {one_line(error)}")

    def _watch(self) -> None:
        watch = self.settings.watch
        if watch.host or watch.scrape:
            from rollscope.record.watch.watchers import watchers

            folder = self.attempt.folder
            self._watchers += watchers(watch.host, watch.scrape, folder, self.queue, self.clock, self.losses)

    def _attend(self) -> None:
        """Start the doctor that `init` was asked for."""
        doctor = self.settings.doctor
        if doctor.notify or doctor.stop:
            from rollscope.record.about.attendant import attend

            self._errands.put("the doctor", lambda: attend(self.attempt.folder, doctor, self.losses))

    def _ship(self) -> None:
        """Start the shipper that `init` was asked for."""
        lake = self.settings.lake
        if lake:
            from rollscope.record.about.shipper import ship

            self._errands.put("the shipper", lambda: ship(self.attempt.folder, lake, self.losses))

    def _capture(self) -> None:
        # Imported here: its imports take half as long as numpy's.
        from rollscope.record.about.provenance import environment

        self.queue.put(Rows("runs", [{"environment": environment()}]))

    def listen(self, listener: Callable[[Any], Any]) -> None:
        """Start a doctor that calls `listener` with each finding."""
        from rollscope.record.about.listener import Listener

        try:
            self._watchers.append(Listener(self.attempt.folder, listener, self.losses))
        except Exception as error:
            self.losses.say(f"on_finding could not start a doctor: {one_line(error)}")

    def should_stop(self, step: Any) -> bool:
        """Whether this step is the last, as somebody asked. It reads memory: a thread looks."""
        try:
            return self.stop.now(step_number(step))
        except Exception as error:
            self.losses.say(f"requests to stop are not heard: {one_line(error)}", "stop")
            return False

    # work and end

    def values(self, step: int) -> dict[str, Any]:
        """The values of a step so far, merged over this writer's calls."""
        self.jobs.release()
        self.jobs.worker.settle(PATIENCE_SECONDS)  # twice, with the next line: a collective must not miss a slow batch
        self.settle(PATIENCE_SECONDS)
        return self._drain.intake.values(step) if self._drain else {}

    def reduce(self, step: int, timeout: float) -> dict[str, float]:
        """The step's values over all ranks, or this rank's own if that fails."""
        from rollscope.record.compute.all_ranks import reduce

        merged = self.values(step)
        try:
            merged = reduce(merged, timeout, self.counters.common(step))
        except Exception as error:
            self.losses.count("reductions", one_line(error), of_store=False)
        self.queue.put_closed(Commit(step, self.clock.now(), {}, merged if self.shard == 0 else {}))
        return {name: float(value) for name, value in merged.items()}

    def settle(self, patience: float) -> bool:
        """Compute and write everything recorded so far; False if that is not done in time."""
        if self._written is not None:
            return self._written
        until = time.monotonic() + patience
        self.jobs.release()
        computed = self.jobs.worker.settle(patience)
        written = self._drain is None or self._drain.settle(max(0.0, until - time.monotonic()))
        return computed and written

    def flush(self, patience: float) -> bool:
        """Settle, and wait for the disk. True if nothing was lost since the last flush."""
        until = time.monotonic() + patience
        written = self.settle(patience)
        if written and self._drain is not None and self._written is None:
            written = self._drain.sync(max(0.0, until - time.monotonic()))
        return self.losses.none_since_last_look() and written

    def finish(self, state: str, reason: str | None) -> None:
        """Stop every thread, write everything, and say how the run ended."""
        for watcher in [*self._watchers, self.stop]:
            watcher.close()
        if state == "finished" and reason is None:
            reason = self.stop.reason
        self.jobs.release()
        for worker in (self.jobs.worker, self._errands):
            if not worker.settle(COMPUTE_SECONDS if state == "finished" else PATIENCE_SECONDS):
                worker.give_up()
        self.counters.save()
        if self._drain is None:
            return
        self._written = self._drain.finish(PATIENCE_SECONDS, lambda: self._final_rows(state, reason))
        self.queue.close()
        if self.owner and (self.shard == 0 or self.attempt.leads):  # a thousand ranks must not start a thousand sealers
            mark_ended(self.settings.request)
            self._seal()

    def _final_rows(self, state: str, reason: str | None) -> list[dict[str, Any]]:
        """The last row of `runs`.

        Shard 0 speaks for the run, any shard says that it crashed, a child says nothing.
        """
        if not self.owner or (state == "finished" and not self._speaks()):
            return []
        return [{"state": state, "reason": reason, "ended_ns": self.clock.now()}]

    def _speaks(self) -> bool:
        """Shard 0 speaks for the run; if it never came, the shard whose `run.json` stands."""
        return self.shard == 0 or run_json.is_of(self.attempt.folder, self.writer, self.attempt.leads)

    def _seal(self) -> None:
        """Turn closed logs into sets, in a helper process. The trainer does not wait for it."""
        try:
            if os.environ.get("ROLLSCOPE_SEAL") == "0" or importlib.util.find_spec("pyarrow") is None:
                return
            process = spawn("rollscope.store.seal", str(self.attempt.folder))
            process.returncode = 0  # keeps the interpreter from warning that the process still runs
        except Exception as error:  # no handles, no processes, an interpreter that cannot be found
            why = one_line(error)
            self.losses.say(f"sealing could not be started ({why}); `rollscope compact` seals the logs later", "seal")

    def abandon(self) -> None:
        """In a forked child: forget the parent's drain and its file."""
        if self._drain is not None:
            self._drain.abandon()
