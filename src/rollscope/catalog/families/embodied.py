"""Embodied tasks: episodes in a simulator or on a robot.

One episode is one sample; all episodes of all ranks are pooled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean, Sum
from rollscope.catalog.reported import rlinf
from rollscope.catalog.spec import Name, metric

key("fail_at_end", "sample", "1 if the episode was in a state of failure at its last step")
key("intervened_steps", "sample", "steps of the episode that a person controlled")

SOURCES = (
    "In RLinf, each environment defines success in its own way: an info flag, the termination, or a positive reward."
)


def both(word: str, note: str = "", **more: Any) -> list[Name]:
    """A key's names in RLinf: for training (env/), and for evaluation (eval/, not the same)."""
    evaluation = {**more, "same": False, "note": f"the same quantity over evaluation episodes. {note}".strip()}
    return [rlinf(f"env/{word}", note=note, **more), rlinf(f"eval/{word}", **evaluation)]


def known(x_S: Any) -> Any:
    """The values of the episodes that have one; NaN marks an episode without a value."""
    x = np.asarray(x_S, np.float64)
    return x[~np.isnan(x)]


@metric(
    "env/success_once",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="episodes 1, 0, 1, 1 on one rank and 0 on another: 0.6",
    names=both("success_once", SOURCES),
)
def success_once(success_once_S: Any) -> Mean:
    """Share of episodes that reached success at any step: the first number to look at.

    Definition: Σ success_once / episodes, over all finished episodes of all ranks.

    Read: The best single measure of an embodied policy. It also counts episodes that succeeded and
    then lost the success; env/success_at_end does not.

    Check: env/success_at_end; env/episodes: are there enough?; whether the simulator ends an
    episode at success.
    """
    return Mean.of(known(success_once_S))


@metric(
    "env/success_at_end",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="0.55",
    names=both(
        "success_at_end",
        (
            "only with ignore_terminations; the IsaacLab and Polaris wrappers of 0.4 always log 0, "
            "because they clear the tensor in place"
        ),
    ),
)
def success_at_end(success_at_end_S: Any) -> Mean:
    """Share of episodes that are in a state of success at their last step.

    Definition: Σ success_at_end / episodes, over all finished episodes.

    Read: At most env/success_once. The gap shows a policy that reaches the goal and does not stay
    there.

    Check: whether episodes continue after success; env/success_once.
    """
    return Mean.of(known(success_at_end_S))


@metric("env/fail_once", unit="share", good="down", range=(0.0, 1.0), example="0.1", names=both("fail_once"))
def fail_once(fail_once_S: Any) -> Mean:
    """Share of episodes in which the environment reported a failure at any step.

    Definition: Σ fail_once / episodes; an episode may fail and later succeed.

    Read: Not the same as 1 - success: most episodes simply run out of time.

    Check: what the environment calls a failure; env/fail_at_end.
    """
    return Mean.of(known(fail_once_S))


@metric("env/fail_at_end", unit="share", good="down", range=(0.0, 1.0), example="0.05", names=both("fail_at_end"))
def fail_at_end(fail_at_end_S: Any) -> Mean:
    """Share of episodes that end in a failure.

    Definition: Σ fail_at_end / episodes.

    Read: Counts failures that were not repaired.

    Check: env/fail_once; safety limits of the environment.
    """
    return Mean.of(known(fail_at_end_S))


@metric(
    "env/return",
    unit="reward",
    good="up",
    example="0.6",
    names=both(
        "return",
        "ManiSkill counts rewards after success, LIBERO stops at the first success, D4RL logs a normalised score",
        stat="mean",
    ),
)
def episode_return(episode_return_S: Any) -> Distribution:
    """Summed reward of an episode.

    Definition: episode_return, one value per episode, over all finished episodes.

    Read: With sparse rewards it is near zero until the first successes and says no more than
    env/success_once. Environments differ in whether they keep counting after success.

    Check: env/success_once; shaping of the reward.
    """
    return Distribution(known(episode_return_S))


@metric(
    "env/episode_len",
    unit="steps",
    good="context",
    range=(0.0, None),
    example="30",
    names=both(
        "episode_len",
        (
            "without auto_reset every episode runs to the limit, so this is a constant; with it, lengths "
            "are rounded up to whole action chunks"
        ),
        stat="mean",
    )
    + both("episode_length", "the Behavior environment's second name", same=False),
)
def episode_len(episode_len_S: Any) -> Distribution:
    """Environment steps of an episode.

    Definition: episode_len, one value per episode.

    Read: Falls when success ends an episode and the policy gets faster. A constant equal to the
    limit is a setting, not a result.

    Check: auto-reset and termination settings; action chunk length.
    """
    return Distribution(known(episode_len_S))


@metric(
    "env/reward",
    unit="reward/step",
    good="up",
    example="return 1 in 2 steps and 0 in 4: 0.25",
    names=both("reward", "LIBERO divides by the steps until the first success; some environments divide by zero steps"),
)
def reward(episode_return_S: Any, episode_len_S: Any) -> Mean:
    """Average reward per step of an episode.

    Definition: mean over episodes of episode_return / episode_len; episodes without steps are not
    counted.

    Read: Hard to read as performance, because quick success and frequent reward look the same. Use
    env/success_once.

    Check: env/success_once; env/episode_len.
    """
    returns, lengths = np.asarray(episode_return_S, np.float64), np.asarray(episode_len_S, np.float64)
    return Mean.of(known(returns[lengths > 0] / lengths[lengths > 0]))


@metric(
    "env/intervened",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="1 of 8: 0.125",
    names=both("intervened_once"),
)
def intervened(intervened_S: Any) -> Mean:
    """Share of episodes in which a person took over.

    Definition: Σ intervened / episodes.

    Read: Should fall as the policy needs less help. A success with help is not the policy's own.

    Check: env/success_unaided; the operator's instructions.
    """
    return Mean.of(known(intervened_S) > 0)


@metric(
    "env/intervened_steps",
    unit="steps",
    good="down",
    range=(0.0, None),
    example="mean 12",
    names=both("intervened_steps", stat="mean"),
)
def intervened_steps(intervened_steps_S: Any) -> Distribution:
    """Steps of an episode that a person steered.

    Definition: intervened_steps, one value per episode, 0 where nobody intervened.

    Read: Read together with env/intervened: interventions should become fewer and shorter.

    Check: env/intervened; env/episode_len.
    """
    return Distribution(known(intervened_steps_S))


@metric(
    "env/success_unaided", unit="share", good="up", range=(0.0, 1.0), example="0.4", names=both("success_no_intervened")
)
def success_unaided(success_once_S: Any, intervened_S: Any) -> Mean:
    """Share of episodes that succeeded without a person's help.

    Definition: mean over episodes of 1 where success_once is set and intervened is not; the
    denominator is all episodes.

    Read: The honest success rate of a human-in-the-loop run.

    Check: env/intervened; env/success_once.
    """
    once, helped = np.asarray(success_once_S, np.float64), np.asarray(intervened_S, np.float64)
    both_known = ~(np.isnan(once) | np.isnan(helped))
    return Mean.of((once[both_known] > 0) & (helped[both_known] == 0))


@metric(
    "env/episodes",
    unit="count",
    good="context",
    range=(0.0, None),
    example="5",
    names=both(
        "num_trajectories",
        "the length of the first key on a rank, so reward-model samples may be counted as episodes",
    ),
)
def episodes(success_once_S: Any) -> Sum:
    """Finished episodes behind the numbers of a step.

    Definition: episodes with a known success_once, over all ranks.

    Read: With ten episodes, a success rate of one half has 15 points of noise.

    Check: episodes that did not finish in time, which are not counted; number of environments.
    """
    x = known(success_once_S)
    return Sum(float(x.size), float(x.size))


@metric(
    "env/step_reward",
    unit="reward/step",
    good="up",
    example="1 + 0 + 1 + 4 over 4 steps: 1.5",
    names=[
        rlinf(
            "rollout/rewards",
            note=(
                "with auto_reset the bootstrap value is added at truncations, and reward-model outputs "
                "are included; RLinf's documentation calls it the reward of a chunk, but its code "
                "averages over sub-steps"
            ),
        )
    ],
)
def step_reward(token_rewards_M: Any) -> Mean:
    """Mean reward of an environment step in the rollout buffer.

    Definition: Σ token_rewards / steps over the steps in the loss mask (one position is one
    environment sub-step); the sum over all ranks divided by the steps of all ranks.

    Read: This is not the reward of a chunk. Sparse rewards make it tiny; env/success_once matters
    more.

    Check: env/success_once; steps that the loss mask leaves out; bootstrap values inside rewards.
    """
    return ops.mean(token_rewards_M)
