"""The loop: keep the workers busy, wait for enough fresh groups, update, publish the weights, record, evaluate.

Rollout runs ahead of training by at most `max_async` steps' worth of groups; what comes back too old is discarded, and a request
that cannot be in time any more is cancelled. With the inline pool the same loop is synchronous and deterministic.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.record.run import Run
from rollscope.trainer.rollouts import buffer, pipeline
from rollscope.trainer.rollouts.player import Request, Sample
from rollscope.trainer.rollouts.workers import Pool, Report, flat

from . import checkpoint, recording
from .backend import Backend, Batch
from .config import Config
from .environment import Task
from .evals import Evaluator
from .timeline import Timeline

STARVED = 50  # steps' worth of groups that may be discarded in a row before we say so and stop


class Starved(RollscopeError):
    """Nothing that could be trained on came out of the pipeline."""


@dataclass(slots=True)
class Flight:
    """A request a worker is busy with."""

    worker: int
    groups: int
    version: int
    since: float
    cancelled: bool = False


@dataclass(slots=True)
class Progress:
    """What a step told, for whoever shows it."""

    step: int
    steps: int
    reward: float
    trained: int
    discarded: int
    seconds: float
    evaluation: float | None = None


@dataclass(slots=True)
class Counts:
    """What goes on counting over a resume."""

    step: int = 0
    version: int = 0
    requests: int = 0
    groups: int = 0
    tokens: int = 0
    samples: int = 0
    order: list[int] = field(default_factory=list)  # tasks still to come in this pass
    epoch: int = 0


class Orchestrator:
    def __init__(
        self,
        config: Config,
        run: Run,
        backend: Backend,
        pool: Pool,
        tasks: list[Task],
        evaluate: Evaluator,
        timeline: Timeline,
    ) -> None:
        self.config, self.run, self.backend, self.pool, self.tasks, self.evaluate, self.timeline = (
            config,
            run,
            backend,
            pool,
            tasks,
            evaluate,
            timeline,
        )
        self.counts = Counts()
        self.flights: dict[int, Flight] = {}
        self.discarded: list[Sample] = []
        self.pipeline = pipeline.build(config, self.discarded.append)
        self.buffer = buffer.Buffer(config.rollout.max_off_policy_steps, self.discarded.append)
        self.examined = -1  # the step of the last evaluation
        self.inference: dict[str, float] = {}  # seconds of the workers' lanes, by name, since the last step
        self.began, self.resumed_at = time.perf_counter(), 0

    def train(self, said: Callable[[Progress], object] = lambda _: None) -> None:
        if self.counts.step == 0 and self.evaluate.due(0):
            self.examine()
        self.publish()
        limit = self.config.run.seconds
        try:
            while self.counts.step < self.config.run.steps and not (limit and time.perf_counter() - self.began > limit):
                said(self.step())
        finally:  # whatever ends the run, what was decided about samples is on record
            recording.settled(self.run, self.counts.step, self.counts.version, None, self.discarded)
        if (
            self.config.evaluation.every and self.examined != self.counts.step
        ):  # the clock ended it between two evaluations
            self.examine()
        self.save()

    def examine(self) -> float:
        self.examined = self.counts.step
        with self.timeline.span("evaluate", step=self.counts.step):
            return self.evaluate(self.run, self.backend.policy, self.counts.step, self.counts.version)

    def step(self) -> Progress:
        """One update, from waiting for its data to its record."""
        start, step = time.perf_counter(), self.counts.step
        with self.timeline.span("waiting_for_data", kind="wait", step=step):
            batch = self.collect(step)
        metrics = self.backend.train_step(batch)
        self.counts.step, self.counts.version = step + 1, self.counts.version + 1
        self.publish()
        discarded, self.discarded[:] = list(self.discarded), []
        self.record(batch, discarded, metrics, start)
        score = self.examine() if self.evaluate.due(step + 1) else None
        every = self.config.checkpoint.every
        if every and (step + 1) % every == 0:
            self.save()
        rewards = [s.result.total_reward for s in batch.samples + discarded if s.result]
        mean = sum(rewards) / len(rewards) if rewards else float("nan")
        return Progress(
            step + 1,
            self.config.run.steps,
            mean,
            len(batch.samples),
            len(discarded),
            time.perf_counter() - start,
            score,
        )

    # rollout

    def collect(self, step: int) -> Batch:
        """Wait until enough fresh groups have come through the pipeline."""
        wanted, lost = self.config.rollout.groups_per_step, len(self.discarded)
        while True:
            begun, before = time.perf_counter(), self.buffer.samples
            gone = self.buffer.evict(self.counts.version)
            self.pipeline.count(pipeline.STALE, before, before - gone, time.perf_counter() - begun)
            if len(self.buffer) >= wanted:
                break
            if len(self.discarded) - lost > STARVED * wanted * self.config.rollout.repeats:
                raise Starved(self._starved(self.discarded[lost:]))
            self.feed(step)
            for report in self.pool.reports(timeout=0.05):
                self.hear(report)
            self.cancel_late()
        return Batch(step, self.counts.version, self.buffer.sample(wanted))

    def _starved(self, lost: list[Sample]) -> str:
        reasons: dict[str, int] = {}
        for sample in lost:
            reasons[str(sample.discard_reason)] = reasons.get(str(sample.discard_reason), 0) + 1
        why = ", ".join(f"{count} for {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1]))
        equal = reasons.get("zero_advantage", 0) > len(lost) / 2
        advice = (
            "Every answer to a prompt got the same reward: warm up longer, or raise rollout.repeats"
            if equal
            else "Look at the reward function first"
        )
        error = next((f" The first error was: {s.error}." for s in lost if s.error), "")
        return f"step {self.counts.step} found nothing to train on: the last {len(lost)} samples were all discarded ({why}).{error} {advice}"

    def feed(self, step: int) -> None:
        """Ask idle capacity for more groups, up to `max_async` steps ahead; synchronous training asks for what is missing and not one more."""
        rollout = self.config.rollout
        size = rollout.groups_per_request or -(-rollout.groups_per_step // self.pool.size)
        allowed = rollout.groups_per_step * (1 + (rollout.max_async if rollout.workers else 0))
        if not rollout.workers:
            size = min(size, rollout.groups_per_step - len(self.buffer))
        while (flying := sum(flight.groups for flight in self.flights.values())) + len(
            self.buffer
        ) + size <= allowed or not flying:
            loads = [sum(flight.worker == w for flight in self.flights.values()) for w in range(self.pool.size)]
            worker = loads.index(min(loads))
            self.counts.requests += 1
            seed = 7919 * self.counts.requests + self.config.run.seed
            request = Request(
                [self.next_group() for _ in range(size)],
                rollout.repeats,
                rollout.max_completion_tokens,
                rollout.temperature,
                seed,
                step,
            )
            self.flights[self.counts.requests] = Flight(worker, size, self.counts.version, time.perf_counter())
            self.pool.submit(worker, self.counts.requests, request)

    def next_group(self) -> tuple[str, Task]:
        counts = self.counts
        if not counts.order:
            counts.order = list(range(len(self.tasks)))
            random.Random(f"{self.config.run.seed} {counts.epoch}").shuffle(counts.order)
            counts.epoch += 1
        counts.groups += 1
        return f"g{counts.groups}", self.tasks[counts.order.pop()]

    def hear(self, report: Report) -> None:
        recording.spans(self.run, report.spans)
        for span in report.spans:
            self.inference[span.name] = self.inference.get(span.name, 0.0) + (span.end_ns - span.start_ns) / 1e9
        if report.stage == "generated":
            recording.generated(self.run, report.samples)
            return
        recording.scored(self.run, report.samples)
        self.flights.pop(report.request)
        groups: dict[str, list[Sample]] = {}
        for sample in report.samples:
            groups.setdefault(sample.group, []).append(sample)
        with self.timeline.span("pipeline", step=self.counts.step):
            self.buffer.add(self.pipeline(list(groups.values())))

    def cancel_late(self) -> None:
        """Stop what would be discarded anyway, and what takes too long."""
        rollout = self.config.rollout
        for number, flight in self.flights.items():
            slow = rollout.straggler_seconds and time.perf_counter() - flight.since > rollout.straggler_seconds
            stale = self.counts.version - flight.version > rollout.max_off_policy_steps + rollout.max_async
            if (slow or stale) and not flight.cancelled:
                flight.cancelled = True
                self.pool.cancel(flight.worker, number)

    def publish(self) -> None:
        """Hand the newest weights to the workers."""
        faults = self.config.failure.faults
        if self.counts.version % faults.sync_every and faults.begun(self.counts.step):
            return
        with self.timeline.span("sync_weights", step=self.counts.step):
            self.pool.publish(flat(self.backend.policy), self.counts.version)

    # record

    def record(self, batch: Batch, discarded: list[Sample], metrics: dict[str, float], start: float) -> None:
        step, run = batch.step, self.run
        if "token_rewards" in batch.arrays:
            for sample, reward in zip(batch.samples, batch.arrays["token_rewards"].sum(-1).tolist(), strict=True):
                sample.reward = reward  # with the KL penalty, when that is part of it
        if "advantages" in batch.arrays:
            weight = batch.arrays["mask"].sum(-1).clip(min=1)
            for sample, advantage in zip(
                batch.samples, (batch.arrays["advantages"] * batch.arrays["mask"]).sum(-1) / weight, strict=True
            ):
                sample.advantage = float(advantage)
        everybody = batch.samples + discarded
        self.counts.samples += len(everybody)
        self.counts.tokens += sum(len(s.prompt_ids) + len(s.ids) for s in everybody)
        recording.settled(run, step, batch.version, batch, discarded)
        run.log_batch(batch.arrays, step=step)
        level = recording.sample_level(everybody, batch.version, self.config.rollout.max_completion_tokens)
        level |= recording.machine(self.backend.policy)
        run.log_batch(level | {"operators": self.pipeline.lap(), "seconds": self.seconds(start)}, step=step)
        elapsed = time.perf_counter() - self.began
        run.log(
            metrics | {"perf/episodes_per_second/run": (self.counts.samples - self.resumed_at) / elapsed}, step=step
        )
        clocks = {"tokens": self.counts.tokens, "samples": self.counts.samples, "policy_version": batch.version}
        run.commit(
            step,
            **clocks,
            epoch=self.counts.epoch - len(self.counts.order) / len(self.tasks),
            explore_step=self.counts.requests,
        )

    def seconds(self, start: float) -> dict[str, float]:
        """Where this step's time went, on both sides."""
        trainer, inference = self.timeline.lap(), self.inference
        self.inference = {}
        waited, sent = trainer.get("waiting_for_data", 0.0), trainer.get("sync_weights", 0.0)
        more = {
            "wait_rollout": waited,
            "read_samples": waited,
            "weight_sync/trainer": sent,
            "weight_sync/inference": inference.pop("sync_weights", 0.0),
        }
        return inference | trainer | more | {"step": time.perf_counter() - start}

    def save(self) -> None:
        with self.timeline.span("save_checkpoint", step=self.counts.step):
            checkpoint.save(self.run.folder, self.state())

    def state(self) -> dict[str, Any]:
        return {"backend": self.backend.state(), "counts": self.counts, "buffer": self.buffer.waiting()}

    def load(self, state: dict[str, Any]) -> None:
        self.backend.load(state["backend"])
        self.counts = state["counts"]
        self.buffer.add(state["buffer"])
        self.resumed_at = self.counts.samples
