"""Train on pairs: many passes over a fixed set, with held-out pairs scored at every evaluation."""

from __future__ import annotations

import random
import time
from typing import Any

import torch
from torch import Tensor

from rollscope.errors import BadInput
from rollscope.record.run import Run
from rollscope.trainer import checkpoint, interrupts, recording
from rollscope.trainer.algorithms.dpo import Dpo
from rollscope.trainer.algorithms.reward_model import RewardModel
from rollscope.trainer.backend import Backend, Batch, Tokens
from rollscope.trainer.config import Config
from rollscope.trainer.environments.mix import Mix
from rollscope.trainer.evals import Evaluator
from rollscope.trainer.limit import Limit
from rollscope.trainer.progress import OnStep, Progress, ignore
from rollscope.trainer.timeline import Timeline

from .pairs import make_pairs


class PreferenceLoop:
    def __init__(
        self,
        config: Config,
        run: Run,
        backend: Backend,
        mix: Mix,
        evaluate: Evaluator,
        timeline: Timeline,
    ) -> None:
        self.config, self.run, self.backend, self.evaluate, self.timeline = config, run, backend, evaluate, timeline
        self.step = 0
        self.used: set[str] = set()  # ids of samples that were trained on
        self.rng = random.Random(f"order {config.run.seed}")
        with timeline.span("generate", step=0):
            tasks = [task for some in mix.tasks.values() for task in some]
            self.pairs = make_pairs(backend.policy, mix.environments, tasks, config, "train")
            self.held_out = make_pairs(backend.policy, evaluate.environments, evaluate.tasks, config, "eval")
        if not self.pairs or not self.held_out:
            raise BadInput(
                f"{' and '.join(mix.environments)} gave no pairs: every answer to a task got the same reward."
                " Warm up less, or raise rollout.repeats"
            )
        self._record_pairs()

    def _record_pairs(self) -> None:
        for split, pairs in (("train", self.pairs), ("eval", self.held_out)):
            samples = [sample for pair in pairs for sample in pair]
            recording.generated(self.run, samples, split=split, step=0)
            recording.scored(self.run, samples, step=0)
            sides = ("chosen", "rejected") * len(pairs)
            rows = [{"id": sample.id, "tags": {"side": side}} for sample, side in zip(samples, sides, strict=True)]
            self.run.log_samples(step=0, samples=rows)

    def train(self, on_step: OnStep = ignore) -> None:
        if self.step == 0:
            self.run_evaluation()
        limit = Limit(self.run, self.config.run)
        while self.step < self.config.run.steps and not limit.reached:
            interrupts.check()
            on_step(limit.look(self.train_step()))
        self.save()

    def train_step(self) -> Progress:
        start, step = time.perf_counter(), self.step
        pairs = self.rng.choices(self.pairs, k=self.config.rollout.groups_per_step)
        batch = Batch(step, step, [sample for pair in pairs for sample in pair])
        metrics = self.backend.train_step(batch)
        self.record(batch, metrics, start)
        self.step = step + 1
        score = self.run_evaluation() if self.evaluate.due(self.step) else None
        if self.config.checkpoint.every and self.step % self.config.checkpoint.every == 0:
            self.save()
        steps, seconds = self.config.run.steps, time.perf_counter() - start
        return Progress(self.step, steps, self.accuracy(batch), len(batch.samples), 0, seconds, score)

    def accuracy(self, batch: Batch) -> float:
        """The share of pairs whose chosen answer scores above the rejected one."""
        arrays = batch.arrays
        if "chosen_score" in arrays:
            return float((arrays["chosen_score"] > arrays["rejected_score"]).mean())
        up = arrays["chosen_logp"] - arrays["ref_chosen_logp"]
        down = arrays["rejected_logp"] - arrays["ref_rejected_logp"]
        return float((up > down).mean())

    def record(self, batch: Batch, metrics: dict[str, float], start: float) -> None:
        step = batch.step
        columns = recording.pair_level(batch.samples, step)
        if isinstance(self.backend, Dpo):
            columns |= self.backend.tokens
        seconds = self.timeline.lap() | {"step": time.perf_counter() - start}
        self.run.log_batch(batch.arrays, step=step)
        machine = recording.machine(self.backend.policy, self.config.run.peak_tflops)
        self.run.log_batch(columns | {"seconds": seconds} | machine, step=step)
        fresh = [sample for sample in batch.samples if sample.id not in self.used]
        self.used |= {sample.id for sample in fresh}
        rows = [{"id": s.id, "step": step, "reward": s.reward, "trained": True} for s in fresh]
        self.run.log_samples(step=step, samples=rows)
        self.run.log(metrics, step=step)
        self.run.commit(step)

    @torch.no_grad()
    def run_evaluation(self) -> float:
        """Score the held-out pairs; a policy also answers the evaluation tasks."""
        with self.timeline.span("evaluate", step=self.step):
            tokens = Tokens.of([sample for pair in self.held_out for sample in pair]).to(self.backend.policy.device)
            scores = self._scores(tokens)
            margins = (scores[0::2] - scores[1::2]).tolist()
            rows: list[dict[str, Any]] = [
                {"task": chosen.task.key, "scores": {"acc": float(margin > 0), "margin": margin}, "sample": chosen.id}
                for (chosen, _), margin in zip(self.held_out, margins, strict=True)
            ]
            self.run.log_eval("pairs", step=self.step, results=[{**r, "repeat": 0, "failed": False} for r in rows])
            if isinstance(self.backend, Dpo):
                return self.evaluate(self.run, self.backend.policy, self.step, self.step)
        return float(sum(row["scores"]["acc"] for row in rows) / len(rows))

    def _scores(self, tokens: Tokens) -> Tensor:
        """A reward model's scores, or a policy's log-ratios to the reference."""
        if isinstance(self.backend, RewardModel):
            return self.backend.scores(tokens)
        backend = self.backend
        assert isinstance(backend, Dpo)
        return backend.answer_logps(backend.policy, tokens)[0] - backend.answer_logps(backend.reference, tokens)[0]

    def save(self) -> None:
        state = {"backend": self.backend.state(), "step": self.step, "rng": self.rng.getstate()}
        with self.timeline.span("save_checkpoint", step=self.step):
            checkpoint.save(self.run.folder, state)

    def load(self, state: dict[str, Any]) -> None:
        self.backend.load(state["backend"])
        self.step = state["step"]
        self.rng.setstate(state["rng"])
