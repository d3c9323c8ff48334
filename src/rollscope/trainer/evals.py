"""Periodic evaluation: held-out tasks, answered several times, recorded as rows and samples.

A run has one set of tasks for each environment, or those of `[[evaluation.sets]]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rollscope.errors import BadInput, nearest
from rollscope.record.run import Run
from rollscope.trainer.environments.mix import Mix, labelled
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.rollouts.player import Player, Request, Sample

from . import environments, recording
from .config import Config, EvaluationSet
from .environment import Environment, Task
from .reward import numbers
from .timeline import Span, Timeline


@dataclass(slots=True)
class TaskSet:
    """Tasks that are evaluated together, under one name."""

    name: str
    environment: Environment
    tasks: list[Task]
    config: EvaluationSet

    def due(self, step: int) -> bool:
        return bool(self.config.every) and step % self.config.every == 0


class Evaluator:
    def __init__(self, config: Config, mix: Mix) -> None:
        self.config = config
        self.sets = [_load(config, one, mix) for one in _sets(config, mix)]
        names = [one.name for one in self.sets]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInput(f"two evaluation sets are called {twice!r}: give one of them another name")

    @property
    def wanted(self) -> bool:
        return any(one.config.every for one in self.sets)

    @property
    def tasks(self) -> list[Task]:
        return [task for one in self.sets for task in one.tasks]

    @property
    def environments(self) -> dict[str, Environment]:
        return {one.environment.name: one.environment for one in self.sets}

    def due(self, step: int) -> bool:
        """True at the start, every `every` steps of a set, and after the last step."""
        return self.wanted and (step == self.config.run.steps or any(one.due(step) for one in self.sets))

    def __call__(self, run: Run, policy: Transformer, step: int, version: int, last: bool = False) -> float:
        """Evaluate the sets whose turn it is, all of them at the last step.

        Returns the mean accuracy, or the mean reward of a set without one.
        """
        last = last or step == self.config.run.steps
        sets = [one for one in self.sets if one.due(step) or (last and one.config.every)]
        means = [self._evaluate(run, policy, step, version, one) for one in sets]
        return sum(means) / len(means) if means else float("nan")

    def _evaluate(self, run: Run, policy: Transformer, step: int, version: int, one: TaskSet) -> float:
        spans: list[Span] = []
        samples = self._play(policy, step, version, one, Timeline("eval/0", spans.append))
        recording.spans(run, spans)
        recording.generated(run, samples, split="eval", step=step)
        recording.scored(run, samples, step=step)
        results = [_row(sample, one.config.scores) for sample in samples]
        run.log_eval(one.name, step=step, results=results, prefix=one.config.prefix, detailed=one.config.detailed)
        scores = [_headline(sample) for sample in samples if sample.result is not None]
        return sum(scores) / len(scores) if scores else float("nan")

    def _play(self, policy: Transformer, step: int, version: int, one: TaskSet, timeline: Timeline) -> list[Sample]:
        player = Player(policy, {one.environment.name: one.environment}, timeline)
        player.version = version
        with timeline.span("evaluate", step=step):
            most = self.config.rollout.max_completion_tokens
            groups = [(f"{one.name}.{step}.{i}", task) for i, task in enumerate(one.tasks)]
            seed = 1_000_003 * (self.config.run.seed + 1) + step
            samples = player.play(Request(groups, one.config.repeats, most, one.config.temperature, seed, step))
            player.score(samples, step)
        return samples


def _sets(config: Config, mix: Mix) -> Iterator[EvaluationSet]:
    """The sets that a configuration asks for, each with the name of one environment."""
    for one in config.evaluation.sets or [config.evaluation]:
        if one.environment:
            yield one
            continue
        for env in mix.environments:
            name = f"{one.name}-{env}" if one.name and len(mix.environments) > 1 else one.name
            yield replace(one, environment=env, name=name)


def _load(config: Config, one: EvaluationSet, mix: Mix) -> TaskSet:
    trained = one.environment in mix.environments and not one.options
    environment = mix.environments[one.environment] if trained else _other(one, mix)
    if config.failure.faults.eval_on_train and trained:  # on demand: evaluate on training tasks
        tasks = mix.tasks[one.environment][: one.tasks]
    else:
        # Not the run's seed: replicas answer the same tasks, or they could not be compared.
        tasks = labelled(environment, environment.tasks("eval", one.tasks, seed=one.seed))
    return TaskSet(one.name or f"{environment.name}-eval", environment, tasks, one)


def _other(one: EvaluationSet, mix: Mix) -> Environment:
    """An environment that is evaluated and not trained on."""
    if one.environment not in environments.SHIPPED and ":" not in one.environment:
        known = [*mix.environments, *environments.SHIPPED]
        raise BadInput(
            f"no environment {one.environment!r} for an evaluation set.{nearest(one.environment, known)}"
            f" Known are {', '.join(dict.fromkeys(known))}; your own is 'module:Class' or 'file.py:Class'"
        )
    environment = environments.load(one.environment, one.options)
    environment.name = one.name or environment.name
    return environment


def _scores(sample: Sample, wanted: list[str]) -> Mapping[str, float]:
    """Reward, components and numeric metrics of a sample. Accuracy has veRL's name, `acc`."""
    if sample.result is None:
        return {}
    found = {"reward": sample.result.total_reward, **sample.result.rewards, **numbers(sample.result.sample_metrics)}
    kept = {name: value for name, value in found.items() if not wanted or name in wanted}
    first = sorted(kept, key=lambda name: name != "accuracy")  # the first score is the one that is shown
    return {"acc" if name == "accuracy" else name: kept[name] for name in first}


def _headline(sample: Sample) -> float:
    scores = _scores(sample, [])
    return scores.get("acc", scores["reward"])


def _row(sample: Sample, wanted: list[str]) -> dict[str, Any]:
    result = sample.result
    return {
        "task": sample.task.key,
        "repeat": sample.repeat,
        "scores": _scores(sample, wanted),
        "answer": result.answer if result else None,
        "failed": result is None,
        "turns": sum(t.role == "assistant" for t in sample.state.turns),
        "tokens": sample.completion_tokens,
        "stop_reason": sample.stop_reason,
        "seconds": sample.generate_seconds,
        "sample": sample.id,
    }
