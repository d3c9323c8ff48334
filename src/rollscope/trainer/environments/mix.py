"""The environments that a run trains on, mixed by weight, and the order of their tasks."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rollscope.errors import BadInput
from rollscope.trainer.config import EnvironmentConfig
from rollscope.trainer.environment import Environment, Task

from . import load


def load_all(configs: Sequence[EnvironmentConfig]) -> dict[str, Environment]:
    """The environments by the name that they have in the run."""
    loaded: dict[str, Environment] = {}
    for config in configs:
        environment = load(config.name, config.options)
        environment.name = config.label or environment.name
        if environment.name in loaded:
            raise BadInput(f"two environments are called {environment.name!r}: give one of them another label")
        loaded[environment.name] = environment
    return loaded


def labelled(environment: Environment, tasks: Sequence[Task]) -> list[Task]:
    """The tasks, each with the name of its environment."""
    return [replace(task, env=environment.name) for task in tasks]


class Mix:
    """Environments by name, each with its weight and its training tasks."""

    def __init__(self, configs: Sequence[EnvironmentConfig], seed: int) -> None:
        self.environments = load_all(configs)
        self.weights = {name: config.weight for name, config in zip(self.environments, configs, strict=True)}
        self.tasks = {
            name: labelled(environment, environment.tasks("train", config.train_tasks, seed=seed))
            for (name, environment), config in zip(self.environments.items(), configs, strict=True)
        }

    @property
    def size(self) -> int:
        """The number of training tasks."""
        return sum(map(len, self.tasks.values()))

    def any_task(self, rng: random.Random) -> Task:
        """A random task; its environment is chosen by weight."""
        names = list(self.tasks)
        name = names[0] if len(names) == 1 else rng.choices(names, list(self.weights.values()))[0]
        return rng.choice(self.tasks[name])


class TaskOrder:
    """Which task comes next: of each environment as many as its weight says, in shuffled passes.

    The order depends on the seed alone, so a resumed run skips what it has had.
    """

    def __init__(self, tasks: Mapping[str, Sequence[Task]], weights: Mapping[str, float], seed: int) -> None:
        self.tasks, self.weights, self.seed = tasks, weights, seed
        self._drawn = dict.fromkeys(tasks, 0)
        self._left: dict[str, list[int]] = {name: [] for name in tasks}

    def next(self) -> Task:
        """The next task, of the environment that is furthest behind its share."""
        name = min(self._drawn, key=lambda name: (self._drawn[name] + 0.5) / self.weights[name])
        if not self._left[name]:
            self._left[name] = list(range(len(self.tasks[name])))
            passes = self._drawn[name] // len(self.tasks[name])
            random.Random(f"{self.seed} {passes}").shuffle(self._left[name])
        self._drawn[name] += 1
        return self.tasks[name][self._left[name].pop()]

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.next()
