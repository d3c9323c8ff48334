"""Play episodes in Gymnasium vector environments.

One episode is played in every environment at once; the steps after an episode's end are masked.
`info["success"]` says at each step whether the goal is reached: once and at the end are separate
metrics. `info["intervened"]` marks steps in which something other than the policy acted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from rollscope.errors import BadInput
from rollscope.trainer import gym, interrupts

Array = np.ndarray[Any, Any]
Policy = Callable[[Array], tuple[Array, Array, Array]]  # observations -> actions, log-probabilities, values


@dataclass(slots=True)
class Episodes:
    """One episode per environment, `[B, T]`. `mask` is 1 on the steps that belong to it."""

    observations: Array  # [B, T, O]
    actions: Array
    logp: Array
    values: Array
    rewards: Array
    mask: Array
    success: Array | None
    intervened: Array
    bootstrap: Array  # [B] value of the state in which an episode was truncated, 0 if it terminated

    @property
    def length(self) -> Array:
        return np.asarray(self.mask.sum(-1))

    @property
    def returns(self) -> Array:
        return np.asarray((self.rewards * self.mask).sum(-1))

    def summary(self) -> dict[str, Array]:
        """The embodied keys of a batch. Without `info["success"]` there is no key for success."""
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


class VectorPlayer:
    def __init__(self, id: str, count: int, options: dict[str, Any] | None = None) -> None:
        try:
            self.envs = gymnasium.make_vec(id, num_envs=count, vectorization_mode="sync", **(options or {}))
        except gymnasium.error.Error as error:
            raise BadInput(f"gymnasium cannot make {id!r}: {error}") from None
        space = self.envs.single_action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise BadInput(
                f"{id} has actions of kind {type(space).__name__}; the policy of this trainer needs discrete actions"
            )
        self.id, self.count, self.actions = id, count, int(space.n)
        self.observations = int(np.prod(self.envs.single_observation_space.shape or (1,)))
        spec = self.envs.spec
        self.limit = (spec.max_episode_steps if spec and spec.max_episode_steps else None) or 10_000
        self.letters = gym.Reach.letters if id == gym.ID else "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def play(self, policy: Policy, seed: int, during: Callable[[str], Any]) -> Episodes:
        """Play one episode in each environment.

        `during(name)` returns a context manager; it encloses acting and the environments' response.
        """
        seen, _ = self.envs.reset(seed=seed)
        rows: list[tuple[Array, ...]] = []
        alive, has_success, bootstrap = np.ones(self.count, bool), True, np.zeros(self.count)
        while alive.any() and len(rows) < self.limit:
            interrupts.check()
            flat = self._flat(seen)
            with during("generate"):
                actions, logp, values = policy(flat)
            with during("env_response"):
                seen, reward, terminated, truncated, info = self.envs.step(actions)
            has_success &= "success" in info
            success, intervened = self._column(info, "success"), self._column(info, "intervened")
            rows.append((flat, actions, logp, values, reward, alive.copy(), success, intervened))
            cut = alive & truncated & ~terminated
            if cut.any():
                bootstrap[cut] = policy(self._flat(seen))[2][cut]
            alive &= ~(terminated | truncated)
        columns = [np.stack(column, 1) for column in zip(*rows, strict=True)]
        observations, acted, logp, values, rewards, mask, success, intervened = columns
        steps = (observations, acted, logp, values, rewards, mask.astype(np.float32))
        return Episodes(*steps, success if has_success else None, intervened, bootstrap)

    def _flat(self, observations: Any) -> Array:
        return np.asarray(observations, np.float32).reshape(self.count, -1)

    def _column(self, info: dict[str, Any], name: str) -> Array:
        return np.asarray(info.get(name, np.zeros(self.count)), float)

    def close(self) -> None:
        self.envs.close()
