"""The training loop: keep the workers busy, wait for fresh groups, update, publish weights, record.

Rollout runs ahead of training by at most `max_async` steps' worth of groups. Groups that come back
too old are discarded, and a request that cannot be in time any more is cancelled. With the inline
pool the same loop is synchronous and deterministic.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.record.run import Run
from rollscope.trainer.environments.mix import Mix, TaskOrder
from rollscope.trainer.rollouts import buffer, pipeline
from rollscope.trainer.rollouts.dispatch import Dispatcher
from rollscope.trainer.rollouts.player import Sample
from rollscope.trainer.rollouts.workers import Pool, Report, flat

from . import checkpoint, interrupts, recording
from .backend import Backend, Batch
from .config import Config
from .evals import Evaluator
from .limit import Limit
from .progress import OnStep, Progress, ignore
from .timeline import Timeline

STARVED = 50  # steps' worth of groups that may be discarded in a row before the run stops


class Starved(RollscopeError):
    """The pipeline discarded everything, so there is nothing to train on."""


@dataclass(slots=True)
class Counts:
    """Counters that continue after a resume."""

    step: int = 0
    version: int = 0
    requests: int = 0
    groups: int = 0
    tokens: int = 0
    samples: int = 0


class Orchestrator:
    def __init__(
        self,
        config: Config,
        run: Run,
        backend: Backend,
        pool: Pool,
        mix: Mix,
        evaluate: Evaluator,
        timeline: Timeline,
        links: recording.Links,
    ) -> None:
        self.links = links
        self.config, self.run, self.backend, self.pool = config, run, backend, pool
        self.mix, self.evaluate, self.timeline = mix, evaluate, timeline
        self.counts = Counts()
        order = TaskOrder(mix.tasks, mix.weights, config.run.seed)
        self.dispatcher = Dispatcher(config, pool, order, self.counts)
        self.discarded: list[Sample] = []
        self.pipeline = pipeline.build(config, self.discarded.append)
        self.buffer = buffer.Buffer(config.rollout.max_off_policy_steps, self.discarded.append)
        self.under_way = recording.UnderWay(run)
        self.evaluated_at = -1  # step of the last evaluation
        self.inference: dict[str, float] = {}  # seconds on the workers' lanes, by span name, since the last step
        self.began, self.samples_before = time.perf_counter(), 0

    def train(self, on_step: OnStep = ignore) -> None:
        if self.counts.step == 0 and self.evaluate.due(0):
            self.run_evaluation()
        self.publish()
        limit = Limit(self.run, self.config.run)
        try:
            while self.counts.step < self.config.run.steps and not limit.reached:
                interrupts.check()
                on_step(limit.look(self.step()))
        finally:  # record the discarded samples even if the run fails
            self.under_way.show({}, self.counts.step)
            recording.settled(self.run, self.counts.step, self.counts.version, None, self.discarded)
        if self.evaluate.wanted and self.evaluated_at != self.counts.step:
            self.run_evaluation(last=True)  # the time limit ended the run between two evaluations
        self.save()

    def run_evaluation(self, last: bool = False) -> float:
        step = self.evaluated_at = self.counts.step
        with self.timeline.span("evaluate", step=step):
            return self.evaluate(self.run, self.backend.policy, step, self.counts.version, last)

    def step(self) -> Progress:
        """Wait for data, update once, publish the weights and record the step."""
        start, step = time.perf_counter(), self.counts.step
        with self.timeline.span("waiting_for_data", kind="wait", step=step):
            batch = self.collect(step)
        self.links.batch({sample.group for sample in batch.samples})
        metrics = self.backend.train_step(batch)
        self.counts.step, self.counts.version = step + 1, self.counts.version + 1
        self.publish()
        discarded, self.discarded[:] = list(self.discarded), []
        self.links.drop({sample.group for sample in discarded})
        self.record(batch, discarded, metrics, start)
        score = self.run_evaluation() if self.evaluate.due(step + 1) else None
        every = self.config.checkpoint.every
        if every and (step + 1) % every == 0:
            self.save()
        rewards = [s.result.total_reward for s in batch.samples + discarded if s.result]
        mean = sum(rewards) / len(rewards) if rewards else float("nan")
        seconds = time.perf_counter() - start
        return Progress(step + 1, self.config.run.steps, mean, len(batch.samples), len(discarded), seconds, score)

    # rollout

    def collect(self, step: int) -> Batch:
        """Wait until enough fresh groups have passed the pipeline."""
        wanted, before = self.config.rollout.groups_per_step, len(self.discarded)
        while True:
            interrupts.check()
            self._evict()
            if len(self.buffer) >= wanted:
                break
            if len(self.discarded) - before > STARVED * wanted * self.config.rollout.repeats:
                raise Starved(self._starved(self.discarded[before:]))
            self.dispatcher.feed(step, len(self.buffer))
            self.under_way.show(self.dispatcher.played(), step)
            for report in self.pool.reports(timeout=0.05):
                self.receive(report)
            self.dispatcher.cancel_late()
        return Batch(step, self.counts.version, self.buffer.sample(wanted))

    def _evict(self) -> None:
        start = time.perf_counter()
        evicted = self.buffer.evict(self.counts.version)
        self.pipeline.count(pipeline.STALE, evicted, time.perf_counter() - start)

    def _starved(self, lost: list[Sample]) -> str:
        reasons: dict[str, int] = {}
        for sample in lost:
            reasons[str(sample.discard_reason)] = reasons.get(str(sample.discard_reason), 0) + 1
        why = ", ".join(f"{count} for {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1]))
        error = next((f" The first error was: {s.error}." for s in lost if s.error), "")
        advice = "Look at the reward function first"
        if reasons.get("zero_advantage", 0) > len(lost) / 2:
            advice = "Every answer to a prompt got the same reward: warm up longer, or raise rollout.repeats"
        return (
            f"step {self.counts.step} found nothing to train on:"
            f" the last {len(lost)} samples were all discarded ({why}).{error} {advice}"
        )

    def receive(self, report: Report) -> None:
        """Record a worker's report. Scored groups go through the pipeline into the buffer."""
        self.links.record(report.spans)
        for span in (span for span in report.spans if span.sample is None):
            self.inference[span.name] = self.inference.get(span.name, 0.0) + (span.end_ns - span.start_ns) / 1e9
        if report.stage == "generated":
            recording.generated(self.run, report.samples)
            return
        recording.scored(self.run, report.samples)
        self.dispatcher.finished(report.request)
        groups: dict[str, list[Sample]] = {}
        for sample in report.samples:
            groups.setdefault(sample.group, []).append(sample)
        with self.timeline.span("pipeline", step=self.counts.step):
            self.buffer.add(self.pipeline(list(groups.values())))

    def publish(self) -> None:
        """Send the newest weights to the workers."""
        faults = self.config.failure.faults
        if self.counts.version % faults.sync_every and faults.active(self.counts.step):
            return
        with self.timeline.span("sync_weights", step=self.counts.step, version=self.counts.version):
            self.pool.publish(flat(self.backend.policy), self.counts.version)

    # record

    def record(self, batch: Batch, discarded: list[Sample], metrics: dict[str, float], start: float) -> None:
        step, run, counts = batch.step, self.run, self.counts
        _set_final_rewards(batch)
        samples = batch.samples + discarded
        counts.samples += len(samples)
        counts.tokens += sum(len(s.prompt_ids) + s.completion_tokens for s in samples)  # as counter/tokens counts
        recording.settled(run, step, batch.version, batch, discarded)
        run.log_batch(batch.arrays | {"sample": [s.id for s in batch.samples]}, step=step)
        level = recording.sample_level(samples, batch.version, self.config.rollout.max_completion_tokens)
        level |= recording.machine(self.backend.policy, self.config.run.peak_tflops)
        level |= {"operators": self.pipeline.lap(len(batch.samples)), "seconds": self.seconds(start)}
        run.log_batch(level, step=step)
        rate = (counts.samples - self.samples_before) / (time.perf_counter() - self.began)
        run.log(metrics | {"perf/episodes_per_second/run": rate}, step=step)
        clocks = {"tokens": counts.tokens, "samples": counts.samples, "policy_version": batch.version}
        run.commit(step, **clocks, epoch=counts.groups / self.mix.size, explore_step=counts.requests)

    def seconds(self, start: float) -> dict[str, float]:
        """The step's seconds by span name, of the trainer and of the workers."""
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
        self.dispatcher.resume(self.counts)
        self.buffer.add(state["buffer"])
        self.samples_before = self.counts.samples


def _set_final_rewards(batch: Batch) -> None:
    """Write the update's rewards and advantages back to the samples.

    A reward includes the KL penalty if `kl_in` is "reward"; an advantage is the mean over its
    tokens.
    """
    arrays = batch.arrays
    if "token_rewards" in arrays:
        for sample, reward in zip(batch.samples, arrays["token_rewards"].sum(-1).tolist(), strict=True):
            sample.reward = reward
    if "advantages" in arrays:
        means = (arrays["advantages"] * arrays["mask"]).sum(-1) / arrays["mask"].sum(-1).clip(min=1)
        for sample, advantage in zip(batch.samples, means, strict=True):
            sample.advantage = float(advantage)
