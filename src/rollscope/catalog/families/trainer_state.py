"""Where training stands: step, epoch, schedules and the small switches trainers write beside their metrics."""

from __future__ import annotations

from rollscope.catalog.reported import openrlhf, reported, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Good, Name

ROWS: tuple[tuple[str, str, Good, str, str, str, str, str, str, tuple[Name, ...]], ...] = (
    ("training/step", "count", "context", "Number of the optimiser update.", "the trainer's step counter at the time of logging; our `step` column is the same clock.", "The x axis. Frameworks count mini-batches, rollouts or parameter versions under the same word.", "which clock a chart uses", "42", "recorder", (verl("training/global_step"), openrlhf("global_step"), trl("global_step"), trl("train/global_step", same=False, note="written into W&B and Trackio beside the tool's own counter"))),
    ("training/epoch", "epochs", "context", "Passes over the training prompts so far.", "prompts consumed / prompts in the data set.", "Beyond a few epochs on a small set, watch held-out scores.", "eval/{set}/{score}/mean@{k}; size of the data", "0.4", "recorder", (verl("training/epoch", note="the number of the running epoch, a whole number"), trl("epoch"), openrlhf("epoch"))),
    ("training/policy_version", "count", "context", "Version of the weights a component works with.", "number of weight updates received.", "Engines that lag behind the trainer make stale samples.", "staleness/mean; time/sync_weights", "41", "recorder", (verl("fully_async/count/current_param_version"), trinity("rollout/model_version"), trinity("rollout/model_{i}/model_version", same=False, note="of one served model"), rlinf("train/actor/current_version"))),
    ("training/learning_rate/{group}", "1/step", "context", "Learning rate of one parameter group.", "the optimiser's rate for the group at this step.", "Groups with schedules of their own: actor, value, critic.", "optimiser/lr", "3e-4", "trainer", (rlinf("train/lr_{group}"),)),
    ("training/update_success", "share", "up", "Optimiser steps that were taken.", "1 where the update was applied, 0 where it was skipped for a gradient that was not finite.", "Below 1 the step taught nothing.", "optimiser/grad_norm; loss scale; precision", "1", "trainer", (rlinf("train/update_success"),)),
    ("training/tasks_finished", "count", "context", "Rollout tasks of a step that came back.", "number of tasks with a status, failed ones included.", "Must be the batch size. Failed tasks look finished here.", "discarded/share; failures by reason", "96", "framework", (trinity("rollout/finished_task_count"),)),
    ("training/samples_served", "count", "up", "Samples recorded by a serving proxy.", "samples collected so far in Trinity's serve mode.", "Grows with traffic.", "training/samples_ready", "1200", "framework", (trinity("rollout/total_experience_count"),)),
    ("training/samples_ready", "count", "context", "Served samples that are ready to be trained on.", "samples with a reward that no step has consumed yet.", "A growing pile: the trainer is slower than the traffic.", "training/samples_served; time/train_step", "64", "framework", (trinity("rollout/ready_experience_count"),)),
    ("training/requests_served/{i}", "count", "up", "Requests one served model has answered.", "count since the proxy started.", "Compare models: routing should be even.", "engine/requests_running", "5400", "framework", (trinity("rollout/model_{i}/total_request_count"),)),
    ("training/agent/{metric}", "value", "context", "A number an agent workflow of RLinf reports about itself.", "the named number of the workflow, reduced by the prefix it was sent with: sum, max, min, or Σ numerator / Σ denominator for means.", "Read with the workflow's own documentation.", "agent/* beside it", "turns 4.2", "framework", (rlinf("wideseek_r1/{metric}"),)),
    ("training/groups_done", "count", "up", "Prompt groups that finished in a window.", "groups whose last sample came back within 60 s, by their fate.", "Groups per minute are what bounds the trainer.", "discarded/share; time/waiting_for_data", "14", "framework", (telescope("rollouts_group_done"), telescope("rollouts_group_done_kept", same=False, note="those that went into training"), telescope("rollouts_group_done_discarded", same=False, note="those that were thrown away"), telescope("rollouts_group_done_canceled", same=False, note="always 0: the trainer never writes that event"), telescope("inference_calls", same=False, note="requests begun in the window"), telescope("requests_done", same=False, note="requests finished in the window"))),
)  # fmt: skip

for _name, _unit, _good, _meaning, _definition, _read, _check, _example, _producer, _names in ROWS:
    _needs = {
        "recorder": "the run's clocks",
        "trainer": "the optimiser or its scheduler",
        "framework": "the framework's own log",
    }[_producer]
    reported(
        _name,
        _unit,
        _good,
        _meaning,
        _definition,
        _read,
        _check,
        _example,
        *_names,
        kind="last",
        producer=_producer,  # type: ignore[arg-type]
        needs=(_needs,),
    )
