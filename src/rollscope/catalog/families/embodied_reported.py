"""Embodied runs: numbers that single environments report and that RLinf's rollout workers log."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.reported import reported, rlinf

from .embodied import both

ENV = ("the environment's episode info",)


def per_episode(name: str, *, key: str, definition: str, **texts: Any) -> None:
    """Enter a number of an episode, which RLinf logs under `key` for training and evaluation."""
    reported(
        name,
        definition=f"{definition} All finished episodes of all ranks are pooled.",
        check="env/success_once; the environment's own definition",
        names=both(key),
        needs=ENV,
        **texts,
    )


per_episode(
    "env/subtasks_done",
    meaning="Number of subtasks completed in a row (CALVIN).",
    definition="mean over episodes of the number of subtasks finished before the first failure, at most 5.",
    read="This is the benchmark's own score: 4 of 5 is strong.",
    unit="count",
    good="up",
    example="3.2",
    key="avg_len",
)
per_episode(
    "env/progress",
    meaning="Progress along a task's rubric (Polaris).",
    definition="mean over episodes of the share of the rubric's criteria reached.",
    read="Rises before success does.",
    unit="share",
    good="up",
    example="0.5",
    key="progress",
)
per_episode(
    "env/criteria_reached",
    meaning="Criteria of the rubric reached at any time (Polaris).",
    definition="mean over episodes of the number of criteria ever reached.",
    read="Compare with env/criteria_total.",
    unit="count",
    good="up",
    example="3",
    key="criteria_ever_reached",
)
per_episode(
    "env/criteria_total",
    meaning="Criteria in the rubric (Polaris).",
    definition="mean over episodes of the number of criteria.",
    read="Depends only on the tasks that were drawn.",
    unit="count",
    good="context",
    example="6",
    key="criteria_total",
)
per_episode(
    "env/terminated_at_end",
    meaning="Share of episodes that ended by termination, not by the time limit (D4RL).",
    definition="mean over episodes of the termination flag at the last step.",
    read="The environment decides what termination means: a fall or a goal.",
    unit="share",
    good="context",
    example="0.7",
    key="terminated_at_end",
)
per_episode(
    "env/actor_phase_entered",
    meaning="Share of episodes handed over to the learned actor (ManiSkill RLT).",
    definition="mean over episodes of 1 where the actor phase began.",
    read="Below 1, the base policy did not get that far in some episodes.",
    unit="share",
    good="context",
    example="0.9",
    key="entered_actor_phase_once",
)
per_episode(
    "env/actor_switch_step",
    meaning="Step at which the learned actor takes over (ManiSkill RLT).",
    definition="mean over episodes of the step of the hand-over, 0 for episodes without one.",
    read="For a time, use env/actor_switch_step_nonzero, which leaves the zeros out.",
    unit="steps",
    good="context",
    example="42",
    key="actor_switch_step",
)
per_episode(
    "env/actor_switch_step_nonzero",
    meaning="Step of the hand-over in episodes that had one (ManiSkill RLT).",
    definition="mean over episodes with a hand-over of the step at which it happened.",
    read="Later means that the base policy does more of the work.",
    unit="steps",
    good="context",
    example="47",
    key="actor_switch_step_nonzero",
)
per_episode(
    "env/success_flag",
    meaning="Success as the Behavior environment logs it.",
    definition="mean over episodes of `success`. The environment does not say whether that means once or at the end.",
    read="Its name is ambiguous; prefer env/success_once.",
    unit="share",
    good="up",
    example="0.3",
    key="success",
)
per_episode(
    "env/reward_model_output",
    meaning="Output of a reward model during episodes.",
    definition="mean over all reward-model samples of the step.",
    read="Compare with env/success_once: if only this number rises, the policy is fooling the reward model.",
    unit="score",
    good="up",
    example="0.1",
    key="reward_model_output",
)
for _stat, _what in (("average", "mean"), ("median", "median"), ("max", "longest"), ("min", "shortest")):
    reported(
        f"env/delay/{_stat}",
        meaning=f"The {_what} delay inserted between observation and action.",
        definition=f"{_what} of the delays drawn by RLinf's InsertDelay wrapper in the step.",
        read="A setting: it shows the robustness test that the policy runs under.",
        check="the wrapper's settings",
        unit="s",
        good="down",
        example="0.375",
        needs=ENV,
        names=both(f"time/{_stat}_delay"),
    )
reported(
    "env/score/{score}",
    meaning="A score of a generation environment.",
    definition=(
        "mean over generated images or videos of one key of the reward backend, as RLinf's "
        "diffusion environment logs it."
    ),
    read="Each key has its own scale.",
    check="reward of the same samples; some of the outputs themselves",
    unit="score",
    good="up",
    example="0.27",
    needs=ENV,
    names=(rlinf("env/{score}"),),
)
reported(
    "env/loss_mask_share",
    meaning="Share of a rollout that counts in the loss.",
    definition="unmasked cells / all cells of the rollout buffer.",
    read="If most groups were dropped, the other numbers look clean because little data is left.",
    check="discarded/share; group/zero_spread",
    unit="share",
    good="context",
    example="0.8",
    producer="view over samples",
    needs=("the loss mask",),
    range=(0.0, 1.0),
    names=(rlinf("rollout/loss_mask_fraction", note="in versions after 0.4.0 (pull request 1535)"),),
)
