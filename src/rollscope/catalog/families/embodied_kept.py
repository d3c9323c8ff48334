"""Embodied runs: what single environments report and what RLinf's rollout side logs, kept as logged."""

from __future__ import annotations

from rollscope.catalog.reported import reported, rlinf

from .embodied import both

ENV = ("the environment's episode info",)

for _name, _unit, _good, _meaning, _definition, _read, _key, _example in (
    ("env/subtasks_done", "count", "up", "Subtasks completed in a row (CALVIN).", "mean over episodes of the number of subtasks finished before the first failure, at most 5.", "The benchmark's own score: 4 of 5 is strong.", "avg_len", "3.2"),
    ("env/progress", "share", "up", "Progress along a task's rubric (Polaris).", "mean over episodes of the share of the rubric's criteria reached.", "Moves before success does.", "progress", "0.5"),
    ("env/criteria_reached", "count", "up", "Criteria of the rubric reached at any time (Polaris).", "mean over episodes of the number of criteria ever reached.", "Against env/criteria_total.", "criteria_ever_reached", "3"),
    ("env/criteria_total", "count", "context", "Criteria in the rubric (Polaris).", "mean over episodes of the number of criteria.", "A constant of the tasks drawn.", "criteria_total", "6"),
    ("env/terminated_at_end", "share", "context", "Episodes that ended by termination, not by time (D4RL).", "mean over episodes of the termination flag at the last step.", "What it means is the environment's: a fall or a goal.", "terminated_at_end", "0.7"),
    ("env/actor_phase_entered", "share", "context", "Episodes handed over to the learnt actor (ManiSkill RLT).", "mean over episodes of 1 where the actor phase began.", "Below 1 the base policy never got that far.", "entered_actor_phase_once", "0.9"),
    ("env/actor_switch_step", "steps", "context", "Step at which the learnt actor takes over (ManiSkill RLT).", "mean over episodes of the step of the hand-over, 0 where it did not happen.", "Use the variant without zeros for a time.", "actor_switch_step", "42"),
    ("env/actor_switch_step_nonzero", "steps", "context", "Step of the hand-over, among episodes that had one (ManiSkill RLT).", "mean over episodes with a hand-over of its step.", "Later means that the base policy does more of the work.", "actor_switch_step_nonzero", "47"),
    ("env/success_flag", "share", "up", "Success as the Behavior environment logs it.", "mean over episodes of `success`, without saying whether once or at the end.", "Ambiguous by name; prefer env/success_once.", "success", "0.3"),
    ("env/reward_model_output", "score", "up", "Output of a reward model during episodes.", "mean over all reward-model samples of the step.", "Against success_once: a judge that rises alone is being fooled.", "reward_model_output", "0.1"),
):  # fmt: skip
    reported(
        _name,
        _unit,
        _good,  # type: ignore[arg-type]
        _meaning,
        _definition + " All finished episodes of all ranks are pooled.",
        _read,
        "env/success_once; the environment's own definition",
        _example,
        *both(_key),
        needs=ENV,
    )
for _stat, _what in (("average", "mean"), ("median", "median"), ("max", "longest"), ("min", "shortest")):
    reported(
        f"env/delay/{_stat}",
        "s",
        "down",
        f"The {_what} delay put between observation and action.",
        f"{_what} of the delays drawn by RLinf's InsertDelay wrapper in the step.",
        "A setting made visible: the robustness test the policy runs under.",
        "the wrapper's settings",
        "0.375",
        *both(f"time/{_stat}_delay"),
        needs=ENV,
    )
reported(
    "env/score/{score}",
    "score",
    "up",
    "A score of a generation environment.",
    "mean over generated images or videos of one key of the reward backend, as RLinf's diffusion environment logs it.",
    "Each key has its own scale.",
    "reward of the same samples; a sample of the outputs",
    "0.27",
    rlinf("env/{score}"),
    needs=ENV,
)
reported(
    "env/loss_mask_share",
    "share",
    "context",
    "Share of a rollout that counts in the loss.",
    "unmasked cells / all cells of the rollout buffer.",
    "When most groups were dropped the other numbers look clean because little survived.",
    "discarded/share; group/zero_spread",
    "0.8",
    rlinf("rollout/loss_mask_fraction", note="in versions after 0.4.0 (pull request 1535)"),
    producer="view over samples",
    needs=("the loss mask",),
    range=(0.0, 1.0),
)
