"""Gymnasium vector environments as a source of episodes, and a small one of our own.

An episode is played to its end in every environment at once; what comes after an environment's end is masked. Success is what the
environment says in `info["success"]`, per step: once, and at the end, are told apart. `info["intervened"]` marks steps in which
something other than the policy acted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from rollscope.errors import BadInput

Array = np.ndarray[Any, Any]
MOVES = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], dtype=np.float32)


class Reach(gymnasium.Env[Array, np.int64]):
    """Move a point onto a goal and stay. 24 steps, never ended early, so one can be there once and be gone at the end.

    A supervisor holds the point back when it would leave the square: that step is an intervention.
    """

    letters = ".RLUD"

    def __init__(self, steps: int = 24, speed: float = 0.15, radius: float = 0.15) -> None:
        self.steps, self.speed, self.radius = steps, speed, radius
        self.observation_space = gymnasium.spaces.Box(-2.0, 2.0, (4,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self.point, self.goal, self.time = np.zeros(2, np.float32), np.zeros(2, np.float32), 0

    def _see(self) -> Array:
        return np.concatenate([self.point, self.goal - self.point]).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.point = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.goal = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.time = 0
        return self._see(), {"success": False, "intervened": False}

    def step(self, action: np.int64) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        wanted = self.point + self.speed * MOVES[int(action)]
        held = bool(np.any(np.abs(wanted) > 1.05))
        if not held:
            self.point = wanted
        self.time += 1
        distance = float(np.linalg.norm(self.goal - self.point))
        there = distance < self.radius
        reward = float(there) - 0.1 * distance
        return self._see(), reward, False, self.time >= self.steps, {"success": there, "intervened": held}


gymnasium.register(
    "rollscope/Reach-v0", entry_point="rollscope.trainer.gym:Reach", max_episode_steps=None, disable_env_checker=True
)


@dataclass(slots=True)
class Episodes:
    """One episode per environment, `[B, T]`; `mask` is 1 on the steps that belong to it."""

    observations: Array  # [B, T, O]
    actions: Array
    logp: Array
    values: Array
    rewards: Array
    mask: Array
    success: Array | None
    intervened: Array
    bootstrap: Array  # [B] value of the state an episode was cut off in, 0 where it came to its own end

    @property
    def length(self) -> Array:
        return np.asarray(self.mask.sum(-1))

    @property
    def returns(self) -> Array:
        return np.asarray((self.rewards * self.mask).sum(-1))

    def summary(self) -> dict[str, Array]:
        """The embodied keys of a batch. Without `info["success"]` there is no claim about success."""
        last = self.mask.sum(-1).astype(int) - 1
        out = {
            "episode_return": self.returns,
            "episode_len": self.length,
            "intervened": (self.intervened * self.mask).any(-1).astype(float),
        }
        if self.success is not None:
            out["success_once"] = (self.success * self.mask).any(-1).astype(float)
            out["success_at_end"] = self.success[np.arange(len(last)), last].astype(float)
        return out


Policy = Callable[[Array], tuple[Array, Array, Array]]  # observations -> actions, log-probabilities, values


class VectorPlayer:
    def __init__(self, id: str, count: int, options: dict[str, Any] | None = None) -> None:
        try:
            self.envs = gymnasium.make_vec(id, num_envs=count, vectorization_mode="sync", **(options or {}))
        except gymnasium.error.Error as error:
            raise BadInput(f"gymnasium cannot make {id!r}: {error}") from None
        space = self.envs.single_action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise BadInput(
                f"{id} has actions of kind {type(space).__name__}; this trainer's policy chooses among discrete ones"
            )
        self.id, self.count, self.actions = id, count, int(space.n)
        self.observations = int(np.prod(self.envs.single_observation_space.shape or (1,)))
        spec = self.envs.spec
        self.limit = (spec.max_episode_steps if spec and spec.max_episode_steps else None) or 10_000
        self.letters = Reach.letters if id == "rollscope/Reach-v0" else "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def play(self, policy: Policy, seed: int, during: Callable[[str], Any]) -> Episodes:
        """One episode in each environment. `during(name)` is a context manager around acting and around the world's answer."""
        seen, _ = self.envs.reset(seed=seed)
        rows: list[tuple[Array, ...]] = []
        alive, known, bootstrap = np.ones(self.count, bool), True, np.zeros(self.count)
        while alive.any() and len(rows) < self.limit:
            flat = np.asarray(seen, np.float32).reshape(self.count, -1)
            with during("generate"):
                actions, logp, values = policy(flat)
            with during("env_response"):
                seen, reward, terminated, truncated, info = self.envs.step(actions)
            known &= "success" in info
            success = np.asarray(info.get("success", np.zeros(self.count)), float)
            rows.append(
                (
                    flat,
                    actions,
                    logp,
                    values,
                    reward,
                    alive.copy(),
                    success,
                    np.asarray(info.get("intervened", np.zeros(self.count)), float),
                )
            )
            cut = alive & truncated & ~terminated
            if cut.any():
                bootstrap[cut] = policy(np.asarray(seen, np.float32).reshape(self.count, -1))[2][cut]
            alive &= ~(terminated | truncated)
        columns = [np.stack(column, 1) for column in zip(*rows, strict=True)]
        observations, acted, logp, values, reward, mask, success, intervened = columns
        return Episodes(
            observations,
            acted,
            logp,
            values,
            reward,
            mask.astype(np.float32),
            success if known else None,
            intervened,
            bootstrap,
        )

    def close(self) -> None:
        self.envs.close()
