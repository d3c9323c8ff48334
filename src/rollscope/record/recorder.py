"""What stands behind one `Run` in one process: queue, drain, store, sinks, watchers, and the order in which they start and stop."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope import __version__
from rollscope.record.about.secret import hide, plain
from rollscope.record.caller import batch as copies
from rollscope.record.caller import queue as q
from rollscope.record.caller.handover import hand_over
from rollscope.record.caller.queue import Queue
from rollscope.record.compute import batch as batches
from rollscope.record.compute.counters import Counters
from rollscope.record.compute.worker import Worker
from rollscope.record.write.drain import Drain
from rollscope.record.write.encode import Schemas
from rollscope.record.write.evaluation import sample_of, taken
from rollscope.record.write.fanout import SinkThread
from rollscope.record.write.keeper import Keeper
from rollscope.record.write.log_files import StoreSink
from rollscope.sinks import Sink
from rollscope.store.log.block import Labels

from . import identity
from .clock import Clock
from .identity import Asked, Place
from .loss import Losses
from .spawn import spawn

Wanted = str | Sink | tuple[str, Mapping[str, Any]]  # a sink by name, by name with options, or itself
COMPUTE_SECONDS = 120.0  # how long finish() waits for batches that are still being computed
PATIENCE_SECONDS = 10.0  # how long finish() waits for a disk or a sink that does not answer


@dataclass(frozen=True, slots=True)
class Settings:
    """What `init` was called with."""

    asked: Asked
    facts: dict[str, Any]
    config: Any
    sinks: Sequence[Wanted]
    dialect: str | None
    keep_text: str | int | float
    keep_tokens: str | int | float
    redact: Callable[[str], str] | None
    host: bool | float
    scrape: Sequence[str]


class Machinery:
    def __init__(self, settings: Settings, place: Place, writer: str, owner: bool) -> None:
        self.settings = settings
        self.place = place
        self.writer = writer
        self.owner = owner  # of the run's facts and state: the process that called init, not a child of it
        self.clock = Clock()
        self.losses = Losses()
        self.queue = Queue(self.losses)
        self.schemas = Schemas()
        self.known = batches.Known()
        self.counters = Counters(place, writer, settings.asked.shards == 1 and owner)
        self.lane = f"trainer/{settings.asked.shard}"
        self._labels: dict[tuple[str | None, str, str | None], Labels] = {}
        self._worker = Worker(self.losses)
        self._errands = Worker(self.losses, "rollscope-errands")
        self._lock = threading.Lock()
        self._watchers: list[Any] = []
        self._drain: Drain | None = None
        self._keeper = Keeper(writer, self.losses, settings.keep_text, settings.keep_tokens, settings.redact)
        if owner:
            self._facts = self._run_facts()
            self._try_facts()
            self.start()
            self._begin()
        else:
            self._facts = {}
            self.queue.when_first(self.start)

    # what the run is

    def _run_facts(self) -> dict[str, Any]:
        known = identity.read(self.place.folder) or {}
        facts = {key: value for key, value in self.settings.facts.items() if value not in (None, [])}
        config = self.settings.config
        config = hide(config if isinstance(config, Mapping) else plain(config) if config is not None else {})
        started = {
            "attempt": self.place.attempt,
            "started_ns": self.clock.now(),
            "resumed_from": self.place.resumed_from,
        }
        process = {"pid": os.getpid(), "host": os.uname().nodename, "writer": self.writer}
        before = [a for a in known.get("attempts", []) if a["attempt"] != self.place.attempt]
        found = {
            "format": 1,
            "id": self.place.id,
            "config": {},
            **known,
            **facts,
            "state": "running",
            "attempt": self.place.attempt,
            "process": process,
        }
        found["launch"] = identity.launch(self.settings.asked)
        found |= {"attempts": [*before, started], "started_ns": known.get("started_ns", started["started_ns"])}
        if config:
            found["config"] = config
        if self.place.parent is not None:
            found |= {"parent": self.place.parent, "parent_step": self.place.parent_step}
        return found

    def _write_facts(self) -> None:
        known = identity.read(self.place.folder) or {}
        begins = self.settings.asked.shard == 0 and (known.get("attempt") or 0) < self.place.attempt
        if self._facts:
            identity.write(self.place, self._facts, replace=begins or "format" not in known)

    def _try_facts(self) -> None:
        try:
            self._write_facts()
        except OSError as error:
            self.losses.say(
                f"cannot write to {self.place.folder} ({error.strerror or error}); recording goes on in memory and is tried again",
                "store",
            )

    # start

    def start(self) -> None:
        """The drain and the sinks. A forked child gets here when it first records something; its sinks are the parent's business."""
        asked = self.settings.asked
        store = StoreSink(self.place.folder, self.writer, self._about_process(), self.place.attempt)
        store.prepare = self._write_facts
        store.on_rotate = self._seal
        store.on_removed = lambda: self.losses.say(
            f"the folder {self.place.folder} was removed; it was put back, with what this process still had", "removed"
        )
        sinks = [self._sink_thread(sink) for sink in self.settings.sinks] if self.owner else []
        keep_values = asked.shards > 1
        self._drain = Drain(
            self.queue,
            store,
            sinks,
            self._keeper,
            self.losses,
            self.clock,
            self.place.attempt,
            asked.shard,
            keep_values,
        )
        if not self.owner:
            from .lifecycle import child_began

            child_began(self)

    def _about_process(self) -> dict[str, Any]:
        asked = self.settings.asked
        about = {
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "rank": asked.shard,
            "shard": asked.shard,
            "shards": asked.shards,
            "version": __version__,
        }
        return about | {
            "child": not self.owner,
            "wall_ns": self.clock.now(),
            "monotonic_ns": self.clock.now() - self.clock.offset,
        }

    def _begin(self) -> None:
        self.queue.put((q.ROWS, "runs", [{"state": "running", "started_ns": self._facts["started_ns"]}]))
        if self.settings.asked.shard == 0:
            self._errands.put("facts", self._capture)
        if self.settings.host or self.settings.scrape:
            from rollscope.record.watch.watchers import watchers

            self._watchers = watchers(
                self.settings.host, self.settings.scrape, self.place.folder, self.queue, self.clock, self.losses
            )

    def _capture(self) -> None:
        from rollscope.record.about.provenance import (
            environment,  # here: what it imports takes as long as half of numpy
        )

        self.queue.put((q.ROWS, "runs", [{"environment": environment()}]))

    def _sink_thread(self, wanted: Wanted) -> SinkThread:
        if not isinstance(wanted, (str, tuple)):
            return SinkThread(type(wanted).__name__, lambda: wanted, self.losses)
        name, options = (wanted, {}) if isinstance(wanted, str) else wanted
        info = {**self._facts, "dir": str(self.place.folder), "writer": self.writer}

        def make() -> Sink:
            from rollscope.sinks.registry import make

            return make(name, info, self.settings.dialect, **options)

        return SinkThread(name, make, self.losses)

    # work

    def labels(self, env: str | None = None, split: str = "train", clock: str | None = None) -> Labels:
        found = self._labels.get((env, split, clock))
        if found is None:
            found = self._labels[env, split, clock] = Labels(
                self.place.attempt, self.settings.asked.shard, env, split, clock
            )
        return found

    def declare(self, env: str | None, said: dict[str, Any]) -> dict[str, Any]:
        ranges = said.pop("ranges", None)
        about = self.known.declared.setdefault(env or "", {})
        about |= said
        if ranges:
            self.known.declared.setdefault("", {}).setdefault("ranges", {}).update(ranges)
        return {
            "environments": {env: dict(said) for env, said in self.known.declared.items() if env},
            **self.known.declared.get("", {}),
        }

    def batch(self, batch: Mapping[str, Any], step: int, time_ns: int) -> None:
        copied, labels = copies.snapshot(batch, self._too_large), self.labels
        ready = copies.Ready(copied)

        def job() -> None:
            try:
                compute()
            finally:
                self._computed(step)

        def compute() -> None:
            told = {**self.counters.before(step), **self.known.add_to(copied, step)}
            found = ready.compute(lambda: batches.compute_all(told, self.losses))
            self.known.learn(copied, step)
            self.counters.learn(found[0][1], step)
            if clocks := self.counters.clocks(step):
                self.queue.put((q.ROWS, "steps", [{"step": step, "time_ns": time_ns, "end_ns": time_ns, **clocks}]))
            for env, metrics in found:
                self.queue.put((q.MIXED, step, time_ns, metrics, labels(env)))

        with self._lock:
            self.queue.computing[step] = self.queue.computing.get(step, 0) + 1
        if not self._worker.put("batches", job, copies.size(copied)):
            self._computed(step)

    def _too_large(self, key: str, bytes: int) -> None:
        why = f"{key!r} has {bytes / 1e9:.1f} GB, and more than {copies.WHOLE / 1e9:.1f} GB of a batch are not copied. Give what is made of it (entropy, logp)"
        self.losses.count("parts of batches", why)

    def _computed(self, step: int) -> None:
        with self._lock:
            left = self.queue.computing.get(step, 1) - 1
            if left > 0:
                self.queue.computing[step] = left
            else:
                self.queue.computing.pop(step, None)

    def commit(self, step: int, time_ns: int, clocks: dict[str, Any]) -> None:
        """After what is still being computed for it."""
        self._worker.after(lambda: self.queue.put_closed((q.COMMIT, step, time_ns, clocks, None)))

    def evaluation(
        self, name: str, results: list[dict[str, Any]], step: int, time_ns: int, prefix: str, detailed: bool
    ) -> None:
        samples = [sample_of(row, name) for row in results]
        about = {"split": "eval", "env": name}
        kept, about, transfer = hand_over(
            [sample for sample in samples if sample is not None], about, lambda why: self.losses.count("samples", why)
        )
        if kept:
            self.queue.put_samples((q.SAMPLES, step, time_ns, kept, transfer, about))
        rows = [taken(row, sample) for row, sample in zip(results, samples, strict=True)]
        self.queue.put((q.ROWS, "evals", [{**row, "set": name, "step": step, "time_ns": time_ns} for row in rows]))

        def job() -> None:
            from rollscope.catalog.evaluate import evaluate

            self.queue.put((q.MIXED, step, time_ns, evaluate(rows, name, prefix, detailed), self.labels(None, "eval")))

        self._worker.put("evaluations", job)

    def listen(self, listener: Callable[[Any], Any]) -> None:
        from rollscope.record.about.listener import Listener

        self._watchers.append(Listener(self.place.folder, listener, self.losses))

    def values(self, step: int) -> dict[str, Any]:
        self._worker.settle(PATIENCE_SECONDS)
        self.settle(PATIENCE_SECONDS)
        return self._drain.values(step) if self._drain else {}

    # end

    def settle(self, patience: float) -> bool:
        self._worker.settle(patience)
        return self._drain.settle(patience) if self._drain else True

    def finish(self, state: str, reason: str | None) -> None:
        for watcher in self._watchers:
            watcher.close()
        for worker in (self._worker, self._errands):
            if not worker.settle(COMPUTE_SECONDS if state == "finished" else PATIENCE_SECONDS):
                worker.give_up()
        self.counters.save()
        if self._drain is not None:
            self._drain.finish(PATIENCE_SECONDS, lambda: self._last_words(state, reason))
            self.queue.closed()
            if self.owner and self.settings.asked.shard == 0:  # a thousand ranks need not start a thousand sealers
                identity.leave(self.settings.asked, self.place)
                self._seal()

    def _last_words(self, state: str, reason: str | None) -> list[dict[str, Any]]:
        """Shard 0 speaks for the run; any shard may say that it crashed; a child says nothing."""
        if not self.owner or (state == "finished" and self.settings.asked.shard != 0):
            return []
        return [{"state": state, "reason": reason, "ended_ns": self.clock.now()}]

    def _seal(self) -> None:
        """Turn closed logs into Parquet, in a process of its own that nobody waits for."""
        if (
            os.environ.get("ROLLSCOPE_SEAL") == "0"
            or importlib.util.find_spec("pyarrow") is None
            or importlib.util.find_spec("rollscope.store.seal") is None
        ):
            return
        try:
            process = spawn("rollscope.store.seal", str(self.place.folder))
        except OSError as error:
            self.losses.say(f"sealing could not be started ({error}); `rollscope compact` does it later")
            return
        process.returncode = 0  # nobody waits for it: the interpreter must not warn about that

    def abandon(self) -> None:
        if self._drain is not None:
            self._drain.abandon()
