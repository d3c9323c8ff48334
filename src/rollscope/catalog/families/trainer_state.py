"""The state of training: step, epoch, versions, schedules and counters of trainers."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.reported import openrlhf, reported, rlinf, telescope, trinity, trl, verl

CLOCKS = ("the run's clocks",)
SCHEDULER = ("the optimiser or its scheduler",)
LOG = ("the framework's own log",)
state = partial(reported, kind="last")

state(
    "training/step",
    meaning="Number of the optimiser update.",
    definition="the trainer's step counter at the time of logging; our `step` column is the same clock.",
    read="The x axis. Under this word, frameworks count mini-batches, rollouts or parameter versions.",
    check="which clock a chart uses",
    unit="count",
    good="context",
    example="42",
    producer="recorder",
    needs=CLOCKS,
    names=(
        verl("training/global_step"),
        openrlhf("global_step"),
        trl("global_step"),
        trl("train/global_step", same=False, note="written to W&B and Trackio in addition to the tool's own counter"),
    ),
)
state(
    "training/epoch",
    meaning="Passes over the training prompts so far.",
    definition="prompts consumed / prompts in the data set.",
    read="Beyond a few epochs on a small data set, watch the held-out scores.",
    check="eval/{set}/{score}/mean@{k}; size of the data",
    unit="epochs",
    good="context",
    example="0.4",
    producer="recorder",
    needs=CLOCKS,
    names=(
        verl("training/epoch", note="the number of the current epoch, a whole number"),
        trl("epoch"),
        openrlhf("epoch"),
    ),
)
state(
    "training/policy_version",
    meaning="Version of the weights that a component uses.",
    definition="number of weight updates received.",
    read="Engines that lag behind the trainer produce stale samples.",
    check="staleness/mean; time/sync_weights",
    unit="count",
    good="context",
    example="41",
    producer="recorder",
    needs=CLOCKS,
    names=(
        verl("fully_async/count/current_param_version"),
        trinity("rollout/model_version"),
        trinity("rollout/model_{i}/model_version", same=False, note="the version of one served model"),
        rlinf("train/actor/current_version"),
    ),
)
state(
    "training/learning_rate/{group}",
    meaning="Learning rate of one parameter group.",
    definition="the optimiser's rate for the group at this step.",
    read="Groups such as actor, value and critic have their own schedules.",
    check="optimiser/lr",
    unit="1/step",
    good="context",
    example="3e-4",
    producer="trainer",
    needs=SCHEDULER,
    names=(rlinf("train/lr_{group}"),),
)
state(
    "training/update_success",
    meaning="Share of optimiser steps that were taken.",
    definition="1 if the update was applied, 0 if it was skipped because a gradient was not finite.",
    read="Below 1, a step taught nothing.",
    check="optimiser/grad_norm; loss scale; precision",
    unit="share",
    good="up",
    example="1",
    producer="trainer",
    needs=SCHEDULER,
    names=(rlinf("train/update_success"),),
)
state(
    "training/tasks_finished",
    meaning="Rollout tasks of a step that came back.",
    definition="number of tasks with a status, failed ones included.",
    read="Must equal the batch size. Failed tasks also count as finished here.",
    check="discarded/share; failures by reason",
    unit="count",
    good="context",
    example="96",
    producer="framework",
    needs=LOG,
    names=(trinity("rollout/finished_task_count"),),
)
state(
    "training/samples_served",
    meaning="Samples that a serving proxy recorded.",
    definition="samples collected so far in Trinity's serve mode.",
    read="Grows with traffic.",
    check="training/samples_ready",
    unit="count",
    good="up",
    example="1200",
    producer="framework",
    needs=LOG,
    names=(trinity("rollout/total_experience_count"),),
)
state(
    "training/samples_ready",
    meaning="Served samples that are ready to be trained on.",
    definition="samples with a reward that no step has consumed yet.",
    read="If it keeps growing, the trainer is slower than the traffic.",
    check="training/samples_served; time/train_step",
    unit="count",
    good="context",
    example="64",
    producer="framework",
    needs=LOG,
    names=(trinity("rollout/ready_experience_count"),),
)
state(
    "training/requests_served/{i}",
    meaning="Requests answered by one served model.",
    definition="count since the proxy started.",
    read="Compare models: routing should be even.",
    check="engine/requests_running",
    unit="count",
    good="up",
    example="5400",
    producer="framework",
    needs=LOG,
    names=(trinity("rollout/model_{i}/total_request_count"),),
)
state(
    "training/agent/{metric}",
    meaning="A number that an RLinf agent workflow reports about itself.",
    definition=(
        "the named number of the workflow, reduced according to the prefix it was sent with: sum, "
        "max, min, or Σ numerator / Σ denominator for means."
    ),
    read="See the workflow's own documentation.",
    check="the other agent/* numbers",
    unit="value",
    good="context",
    example="turns 4.2",
    producer="framework",
    needs=LOG,
    names=(rlinf("wideseek_r1/{metric}"),),
)
state(
    "training/groups_done",
    meaning="Prompt groups that finished within a time window.",
    definition="groups whose last sample came back within 60 s, separately for kept, discarded and cancelled groups.",
    read="Groups per minute limit the speed of the trainer.",
    check="discarded/share; time/waiting_for_data",
    unit="count",
    good="up",
    example="14",
    producer="framework",
    needs=LOG,
    names=(
        telescope("rollouts_group_done"),
        telescope("rollouts_group_done_kept", same=False, note="those that went into training"),
        telescope("rollouts_group_done_discarded", same=False, note="those that were thrown away"),
        telescope("rollouts_group_done_canceled", same=False, note="always 0: the trainer never writes that event"),
        telescope("inference_calls", same=False, note="requests begun in the window"),
        telescope("requests_done", same=False, note="requests finished in the window"),
    ),
)
