"""Learning from pairs: answers of the policy itself, the better one chosen, the worse one rejected, then many passes over them.

The better one is the best of the policy's own answers, or the teacher's when none of them is better than the worst. Nothing is
generated while training; held-out pairs are judged at every evaluation.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from rollscope.errors import BadInput
from rollscope.record.run import Run
from rollscope.trainer.algorithms.dpo import Dpo
from rollscope.trainer.algorithms.reward_model import RewardModel
from rollscope.trainer.policy import tokenizer
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.rollouts.player import Player, Request, Sample

from . import checkpoint, recording
from .backend import Backend, Batch, Tokens
from .config import Config
from .environment import Environment, State, Task, Turn
from .evals import Evaluator
from .orchestrator import Progress
from .timeline import Timeline

Pair = tuple[Sample, Sample]


def make_pairs(
    policy: Transformer, environment: Environment, tasks: Sequence[Task], config: Config, split: str
) -> list[Pair]:
    """At most one pair per task: where no answer is better than another there is nothing to prefer."""
    if environment.max_turns != 1:
        raise BadInput(
            f"{config.algorithm.name} makes pairs of single answers; {environment.name} takes {environment.max_turns} turns. Use countdown or sorting"
        )
    player = Player(policy, environment, Timeline("inference/0", lambda _: None))
    rng = random.Random(f"pairs {config.run.seed}")
    rollout, pairs = config.rollout, []
    for start in range(0, len(tasks), 64):
        groups = [(f"{split}-pair-{start + i}", task) for i, task in enumerate(tasks[start : start + 64])]
        samples = player.play(
            Request(
                groups, rollout.repeats, rollout.max_completion_tokens, rollout.temperature, config.run.seed + start
            )
        )
        player.score(samples)
        for i in range(0, len(samples), rollout.repeats):
            answers = [*samples[i : i + rollout.repeats], _taught(player, environment, samples[i], rng)]
            judged = sorted((s for s in answers if s.result is not None), key=lambda s: s.reward)
            if len(judged) > 1 and judged[-1].reward > judged[0].reward:
                pairs.append((judged[-1], judged[0]))
    return pairs


def _taught(player: Player, environment: Environment, like: Sample, rng: random.Random) -> Sample:
    """What the teacher would have answered."""
    said = environment.demonstrate(State(like.task), rng)
    ids = [*tokenizer.encode(said), tokenizer.EOS]
    state = State(like.task, [Turn("assistant", said, len(ids), stop_reason="stop")])
    sample = Sample(
        f"{like.group}.taught",
        like.group,
        -1,
        like.env,
        state,
        like.prompt_ids,
        ids,
        [1] * len(ids),
        [0.0] * len(ids),
        "stop",
    )
    player.score([sample])
    return sample


class PreferenceLoop:
    def __init__(
        self,
        config: Config,
        run: Run,
        backend: Backend,
        environment: Environment,
        tasks: Sequence[Task],
        evaluate: Evaluator,
        timeline: Timeline,
    ) -> None:
        self.config, self.run, self.backend, self.evaluate, self.timeline = config, run, backend, evaluate, timeline
        self.step = 0
        self.used: set[str] = set()  # samples that were trained on at least once
        self.rng = random.Random(f"order {config.run.seed}")
        with timeline.span("generate", step=0):
            self.pairs = make_pairs(backend.policy, environment, tasks, config, "train")
            self.held_out = make_pairs(backend.policy, environment, evaluate.tasks, config, "eval")
        if not self.pairs or not self.held_out:
            raise BadInput(
                f"{environment.name} gave no pairs to prefer: every answer to a task got the same reward. Warm up less, or raise rollout.repeats"
            )
        self._introduce()

    def _introduce(self) -> None:
        for split, pairs in (("train", self.pairs), ("eval", self.held_out)):
            samples = [sample for pair in pairs for sample in pair]
            recording.generated(self.run, samples, split=split, step=0)
            recording.scored(self.run, samples, step=0)
            sides = [
                {"id": sample.id, "tags": {"side": side}}
                for pair in pairs
                for sample, side in zip(pair, ("chosen", "rejected"), strict=True)
            ]
            self.run.log_samples(step=0, samples=sides)

    def train(self, said: Callable[[Progress], object] = lambda _: None) -> None:
        limit, began = self.config.run.seconds, time.perf_counter()
        if self.step == 0:
            self.judge()
        while self.step < self.config.run.steps and not (limit and time.perf_counter() - began > limit):
            start, step = time.perf_counter(), self.step
            pairs = self.rng.choices(self.pairs, k=self.config.rollout.groups_per_step)
            batch = Batch(step, step, [sample for pair in pairs for sample in pair])
            metrics = self.backend.train_step(batch)
            self.record(batch, metrics, start)
            self.step = step + 1
            score = self.judge() if self.evaluate.due(self.step) else None
            if self.config.checkpoint.every and self.step % self.config.checkpoint.every == 0:
                self.save()
            right = self.accuracy(batch)
            said(
                Progress(
                    self.step, self.config.run.steps, right, len(batch.samples), 0, time.perf_counter() - start, score
                )
            )
        self.save()

    def accuracy(self, batch: Batch) -> float:
        arrays = batch.arrays
        if "chosen_score" in arrays:
            return float((arrays["chosen_score"] > arrays["rejected_score"]).mean())
        up, down = (
            arrays["chosen_logp"] - arrays["ref_chosen_logp"],
            arrays["rejected_logp"] - arrays["ref_rejected_logp"],
        )
        return float((up > down).mean())

    def record(self, batch: Batch, metrics: dict[str, float], start: float) -> None:
        tokens: dict[str, Any] = {
            "prompt_tokens": [len(s.prompt_ids) for s in batch.samples],
            "response_tokens": [len(s.ids) for s in batch.samples],
        }
        if isinstance(self.backend, Dpo):
            tokens |= self.backend.tokens
        seconds = self.timeline.lap() | {"step": time.perf_counter() - start}
        self.run.log_batch(batch.arrays, step=batch.step)
        self.run.log_batch(tokens | {"seconds": seconds} | recording.machine(self.backend.policy), step=batch.step)
        fresh = [sample for sample in batch.samples if sample.id not in self.used]
        self.used |= {sample.id for sample in fresh}
        self.run.log_samples(
            step=batch.step,
            samples=[{"id": s.id, "step": batch.step, "reward": s.reward, "trained": True} for s in fresh],
        )
        self.run.log(metrics, step=batch.step)
        self.run.commit(batch.step)

    @torch.no_grad()
    def judge(self) -> float:
        """Held-out pairs, and for a policy what it now answers by itself."""
        with self.timeline.span("evaluate", step=self.step):
            tokens = Tokens.of([sample for pair in self.held_out for sample in pair]).to(self.backend.policy.device)
            if isinstance(self.backend, RewardModel):
                score = self.backend.scores(tokens)
            else:
                assert isinstance(self.backend, Dpo)
                score = (
                    self.backend.summed(self.backend.policy, tokens)[0]
                    - self.backend.summed(self.backend.reference, tokens)[0]
                )
            margin = (score[0::2] - score[1::2]).tolist()
            rows: list[dict[str, Any]] = [
                {
                    "task": chosen.task.key,
                    "repeat": 0,
                    "scores": {"acc": float(m > 0), "margin": m},
                    "failed": False,
                    "sample": chosen.id,
                }
                for (chosen, _), m in zip(self.held_out, margin, strict=True)
            ]
            self.run.log_eval("pairs", step=self.step, results=rows)
            if isinstance(self.backend, Dpo):
                return self.evaluate(self.run, self.backend.policy, self.step, self.step)
        return float(sum(row["scores"]["acc"] for row in rows) / len(rows))

    def save(self) -> None:
        with self.timeline.span("save_checkpoint", step=self.step):
            checkpoint.save(
                self.run.folder, {"backend": self.backend.state(), "step": self.step, "rng": self.rng.getstate()}
            )

    def load(self, state: dict[str, Any]) -> None:
        self.backend.load(state["backend"])
        self.step = state["step"]
        self.rng.setstate(state["rng"])
