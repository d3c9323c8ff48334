"""Periodic evaluation: held-out tasks, answered several times, recorded as rows and samples."""

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
        leak = config.failure.faults.eval_on_train  # on demand: evaluate on training tasks
        self.tasks = list(training[:count]) if leak else environment.tasks("eval", count, seed=config.run.seed)

    def due(self, step: int) -> bool:
        """True at the start, every `evaluation.every` steps, and after the last step."""
        every = self.config.evaluation.every
        return bool(every) and (step % every == 0 or step == self.config.run.steps)

    def __call__(self, run: Run, policy: Transformer, step: int, version: int) -> float:
        """Evaluate and record.

        Returns the mean accuracy, or the mean reward if there is no accuracy.
        """
        spans: list[Span] = []
        samples = self._play(policy, step, version, Timeline("eval/0", spans.append))
        recording.spans(run, spans)
        recording.generated(run, samples, split="eval", step=step)
        recording.scored(run, samples, step=step)
        results = [_row(sample) for sample in samples]
        run.log_eval(self.name, step=step, results=results, prefix=self.config.evaluation.prefix)
        scores = [row["scores"].get("acc", row["scores"]["reward"]) for row in results if not row["failed"]]
        return sum(scores) / len(scores) if scores else float("nan")

    def _play(self, policy: Transformer, step: int, version: int, timeline: Timeline) -> list[Sample]:
        player = Player(policy, self.environment, timeline)
        player.version = version
        with timeline.span("evaluate", step=step):
            evaluation, most = self.config.evaluation, self.config.rollout.max_completion_tokens
            groups = [(f"{self.name}.{step}.{i}", task) for i, task in enumerate(self.tasks)]
            seed = 1_000_003 * (self.config.run.seed + 1) + step
            samples = player.play(Request(groups, evaluation.repeats, most, evaluation.temperature, seed, step))
            player.score(samples, step)
        return samples


def _row(sample: Sample) -> dict[str, Any]:
    result = sample.result
    scores = {} if result is None else {"reward": result.total_reward}
    if result is not None and "accuracy" in result.sample_metrics:
        scores["acc"] = result.sample_metrics["accuracy"]  # veRL's name of the core score
    return {
        "task": sample.task.key,
        "repeat": sample.repeat,
        "scores": scores,
        "answer": result.answer if result else None,
        "failed": result is None,
        "turns": sum(t.role == "assistant" for t in sample.state.turns),
        "tokens": sample.completion_tokens,
        "stop_reason": sample.stop_reason,
        "seconds": sample.generate_seconds,
        "sample": sample.id,
    }
