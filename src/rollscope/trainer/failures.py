"""Named, seeded ways to make a run fail, so that diagnosis can be tested.

Off unless `[failure] name` is set. A failure changes the configuration, or sets a fault: a value
that one place in the trainer reads. Faults begin at `failure.start`, so that the run has healthy
steps to compare with. `FAILURES` lists every failure and what to expect from it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from rollscope.errors import BadInput, nearest

from .environment import Turn
from .reward import RewardResult

if TYPE_CHECKING:
    from .config import Config


LATE_SHARE = 0.02  # of samples, with `tail_delay`


class Generation(Protocol):
    """What a delay changes of a generated row."""

    end_ns: int


@dataclass(slots=True)
class Faults:
    """Faults inside the loop. By default there is none."""

    start: int = 0
    seed: int = 0
    reward_per_token: float = 0.0  # the reward pays for length
    reward_constant: bool = False  # every sample gets the same reward
    reward_raises: bool = False  # the reward function raises
    reward_noise: float = 0.0  # standard deviation of noise on the reward
    tools_fail: bool = False  # every tool call returns an error
    sampler_noise: float = 0.0  # relative noise on the sampler's weights
    worker_delay: float = 0.0  # seconds that worker 0 sleeps before each request
    generate_delay: float = 0.0  # seconds that every generation sleeps
    tail_delay: float = 0.0  # seconds that one sample in fifty takes longer
    reward_delay: float = 0.0  # seconds that scoring a request sleeps
    sync_delay: float = 0.0  # seconds that a worker sleeps while it loads weights
    worker_dies: bool = False  # worker 0 exits
    sync_every: int = 1  # steps between two weight updates of the workers
    eval_on_train: bool = False  # the evaluation set consists of training tasks
    loss_is_nan: bool = False  # the loss of step `start` is NaN

    def active(self, step: int) -> bool:
        return step >= self.start

    def change_reward(self, result: RewardResult, tokens: int, step: int) -> RewardResult:
        if not self.active(step):
            return result
        if self.reward_raises:
            raise RuntimeError("the reward function lost its judge (failure on demand)")
        total = 1.0 if self.reward_constant else result.total_reward
        total += self.reward_per_token * tokens
        if self.reward_noise:
            total += random.Random(f"{self.seed} {step} {tokens} {total}").gauss(0, self.reward_noise)
        return replace(result, total_reward=total)

    def delay(self, step: int, ids: Sequence[str], generations: Sequence[Generation]) -> None:
        """Sleep as long as the generation of these samples is to take longer."""
        if not self.active(step):
            return
        late = [row for id, row in zip(ids, generations, strict=True) if self.tail_delay and self._is_late(id)]
        time.sleep(self.generate_delay)
        if self.generate_delay:
            for row in generations:
                row.end_ns += round(1e9 * self.generate_delay)
        if late:
            time.sleep(self.tail_delay)
            for row in late:
                row.end_ns = time.time_ns()

    def _is_late(self, id: str) -> bool:
        return random.Random(f"{self.seed} {id}").random() < LATE_SHARE

    def delay_reward(self, step: int) -> None:
        if self.reward_delay and self.active(step):
            time.sleep(self.reward_delay)

    def delay_sync(self, step: int) -> None:
        if self.sync_delay and self.active(step):
            time.sleep(self.sync_delay)

    def change_turns(self, turns: Sequence[Turn], step: int) -> Sequence[Turn]:
        if self.tools_fail and self.active(step):
            for turn in turns:
                if turn.tool:
                    turn.content, turn.ok = "{error: down}", False
        return turns


@dataclass(frozen=True, slots=True)
class Failure:
    expect: str  # what the run should show
    change: Callable[[Config], None]


def _lr(config: Config) -> None:
    config.optimiser.lr *= 30 * config.failure.strength
    config.optimiser.max_grad_norm = 0.0


def _entropy(config: Config) -> None:
    config.algorithm.entropy_coef = -0.1 * config.failure.strength


def _stale(config: Config) -> None:
    config.failure.faults.sync_every = max(2, round(8 * config.failure.strength))
    config.rollout.max_off_policy_steps = 10**6


def _truncation(config: Config) -> None:
    config.rollout.max_completion_tokens = max(
        2, round(config.rollout.max_completion_tokens / (6 * config.failure.strength))
    )


def _kl(config: Config) -> None:
    config.algorithm.kl_coef = 0.0
    config.algorithm.clip_low = config.algorithm.clip_high = 1e3
    config.optimiser.lr *= 8 * config.failure.strength
    config.algorithm.epochs = 4


def _constant(config: Config) -> None:
    config.failure.faults.reward_constant = True
    config.rollout.discard_group_zero_advantage = False  # otherwise no group would reach the trainer


def _critic(config: Config) -> None:
    config.optimiser.critic_lr = 0.0


def _tools(config: Config) -> None:
    config.environments = []
    config.environment.name = "calculator"
    config.failure.faults.tools_fail = True


def _fault(**values: float | bool) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        for key, value in values.items():
            scaled = value if isinstance(value, bool) else value * config.failure.strength
            setattr(config.failure.faults, key, scaled)

    return change


FAILURES: dict[str, Failure] = {
    "learning_rate_too_high": Failure(
        "gradient norm, KL and clip fraction jump, then reward falls and does not come back", _lr
    ),
    "entropy_collapse": Failure(
        "entropy falls to zero within the first steps, groups lose their spread, reward stops rising", _entropy
    ),
    "length_hack": Failure(
        "reward and completion length rise together while accuracy stays or falls", _fault(reward_per_token=0.25)
    ),
    "constant_reward": Failure(
        "every group has zero spread from `start` on, advantages and policy loss are zero, nothing is learned",
        _constant,
    ),
    "noisy_reward": Failure(
        "reward spreads without accuracy following it; advantages are noise", _fault(reward_noise=2.0)
    ),
    "dead_reward": Failure(
        "every sample ends in an error without a reward; none counts as a reward of 0",
        _fault(reward_raises=True),
    ),
    "stale_rollouts": Failure(
        "staleness rises to 8 and falls back, again and again; KL to the sampler follows it", _stale
    ),
    "truncation": Failure("almost every sample stops at the length limit; reward is low for that reason", _truncation),
    "sampler_mismatch": Failure(
        "KL between sampler and trainer is far from zero although staleness is 0", _fault(sampler_noise=0.2)
    ),
    "exploding_kl": Failure("KL to the reference grows without bound; ratios leave the trust region", _kl),
    "slow_worker": Failure(
        "worker 0's lane is mostly idle, the trainer waits for data, its groups arrive stale", _fault(worker_delay=0.5)
    ),
    "slow_grader": Failure(
        "scoring takes half a second a request; the trainer waits for the grader", _fault(reward_delay=0.5)
    ),
    "slow_sync": Failure(
        "workers load weights for half a second; generation and then the trainer wait for them",
        _fault(sync_delay=0.5),
    ),
    "long_tail": Failure(
        "one sample in fifty takes a second longer than its batch; the step waits for it", _fault(tail_delay=1.0)
    ),
    "worker_crash": Failure(
        "worker 0 exits at `start`; the run is marked as crashed, with the reason", _fault(worker_dies=True)
    ),
    "tool_failure_loop": Failure("every tool call fails, turns rise to the limit, reward falls to zero", _tools),
    "eval_leak": Failure(
        "the evaluation set is the training set: evaluation follows training reward without a gap",
        _fault(eval_on_train=True),
    ),
    "dead_critic": Failure("explained variance stays at zero and the value loss does not fall (PPO)", _critic),
    "nan_loss": Failure(
        "one step has a NaN loss and gradient norm; the update is skipped and counted", _fault(loss_is_nan=True)
    ),
}


def apply(config: Config) -> None:
    """Apply the failure that `failure.name` names, if there is one."""
    name = config.failure.name
    if not name:
        return
    if name not in FAILURES:
        raise BadInput(f"no failure {name!r}.{nearest(name, FAILURES)} There are: {', '.join(FAILURES)}")
    config.failure.faults.start = config.failure.start
    config.failure.faults.seed = config.run.seed
    FAILURES[name].change(config)
