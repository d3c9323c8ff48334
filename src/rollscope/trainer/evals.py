"""Periodic evaluation: held-out tasks, each answered k times, recorded as rows, metrics and samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rollscope.record.run import Run
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.rollouts.player import Player, Request, Sample

from . import recording
from .config import Config
from .environment import Environment, Task
from .timeline import Span, Timeline


class Evaluator:
    def __init__(self, config: Config, environment: Environment, training: Sequence[Task]) -> None:
        self.config, self.environment = config, environment
        self.name = config.evaluation.name or f"{environment.name}-eval"
        count = config.evaluation.tasks
        leak = config.failure.faults.eval_on_train  # a failure on demand: the exam is the homework
        self.tasks = list(training[:count]) if leak else environment.tasks("eval", count, seed=config.run.seed)

    def due(self, step: int) -> bool:
        """At the start, every so many steps, and after the last."""
        every = self.config.evaluation.every
        return bool(every) and (step % every == 0 or step == self.config.run.steps)

    def __call__(self, run: Run, policy: Transformer, step: int, version: int) -> float:
        """Evaluate and record; the mean of the first score (accuracy, where the environment has it)."""
        seen: list[Span] = []
        timeline = Timeline("eval/0", seen.append)
        player = Player(policy, self.environment, timeline)
        player.version = version
        with timeline.span("evaluate", step=step):
            rollout, evaluation = self.config.rollout, self.config.evaluation
            groups = [(f"{self.name}.{step}.{i}", task) for i, task in enumerate(self.tasks)]
            seed = 1_000_003 * (self.config.run.seed + 1) + step
            samples = player.play(
                Request(groups, evaluation.repeats, rollout.max_completion_tokens, evaluation.temperature, seed, step)
            )
            player.score(samples, step)
        recording.spans(run, seen)
        recording.generated(run, samples, split="eval", step=step)
        recording.scored(run, samples, step=step)
        results = [_row(sample) for sample in samples]
        run.log_eval(self.name, step=step, results=results, prefix=evaluation.prefix)
        right = [row["scores"].get("acc", row["scores"]["reward"]) for row in results if not row["failed"]]
        return sum(right) / len(right) if right else float("nan")


def _row(sample: Sample) -> dict[str, Any]:
    result = sample.result
    scores = {} if result is None else {"reward": result.total_reward}
    if result is not None and "accuracy" in result.sample_metrics:
        scores["acc"] = result.sample_metrics["accuracy"]  # the score veRL calls core
    return {
        "task": sample.task.key, "repeat": sample.repeat, "scores": scores, "answer": result.answer if result else None, "failed": result is None,
        "turns": sum(t.role == "assistant" for t in sample.state.turns), "tokens": sample.completion_tokens, "stop_reason": sample.stop_reason,
        "seconds": sample.generate_seconds, "sample": sample.id,
    }  # fmt: skip
