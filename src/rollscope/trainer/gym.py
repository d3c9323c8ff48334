"""`Reach`, a small Gymnasium environment: move a point onto a goal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

Array = np.ndarray[Any, Any]
ID = "rollscope/Reach-v0"
MOVES = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], dtype=np.float32)


class Reach(gymnasium.Env[Array, np.int64]):
    """Move a point onto a goal and stay there.

    An episode has 24 steps and never ends early, so the point can reach the goal and leave it
    again. A supervisor keeps the point in the square: a step in which it acts is an intervention.
    """

    letters = ".RLUD"  # the actions, for a reader

    def __init__(self, steps: int = 24, speed: float = 0.15, radius: float = 0.15) -> None:
        self.steps, self.speed, self.radius = steps, speed, radius
        self.observation_space = gymnasium.spaces.Box(-2.0, 2.0, (4,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self.point, self.goal, self.time = np.zeros(2, np.float32), np.zeros(2, np.float32), 0

    def _observation(self) -> Array:
        return np.concatenate([self.point, self.goal - self.point]).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.point = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.goal = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.time = 0
        return self._observation(), {"success": False, "intervened": False}

    def step(self, action: np.int64) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        target = self.point + self.speed * MOVES[int(action)]
        intervened = bool(np.any(np.abs(target) > 1.05))
        if not intervened:
            self.point = target
        self.time += 1
        distance = float(np.linalg.norm(self.goal - self.point))
        success = distance < self.radius
        reward = float(success) - 0.1 * distance
        info = {"success": success, "intervened": intervened}
        return self._observation(), reward, False, self.time >= self.steps, info


gymnasium.register(ID, entry_point="rollscope.trainer.gym:Reach", max_episode_steps=None, disable_env_checker=True)
