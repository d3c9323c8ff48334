"""Keys about evaluation, time, machine and other trainers that `rename` does not write.

Each has the reason, which is also in the note of its entry.
"""

from __future__ import annotations

VERL = {
    "val-core/x/acc/mean@2": "0.9 counts sessions it expected and did not get as acc = 0: that is mean_strict@2 "
    "here; written when nothing is missing, and then the same",
    "timing_s/param_sync": "the same stage as update_weights; one of the two words is written",
    "distillation/loss": "as the loss function returns it; the trainer logs it with actor/ before",
}
OPENRLHF = {
    "eval_gsm8k_pass4": "about one score, the reward; eval/{set}/reward/best@n is the number",
    "eval_gsm8k_pass1": "about one score, the reward; eval/{set}/reward/mean@n is the number",
    "eval_response_length_mean": "over all sets together",
}
OPENRLHF_DPO = {
    "loss": "includes the NLL term and other losses by option",
    "acc_mean": "a running mean of one rank",
}
OPENRLHF_RM = {
    "loss": "logexp by option, auxiliary loss added",
    "acc_mean": "a running mean of one rank",
}
TRL_DPO = {
    "loss": "any loss_type, a mean since the last log",
    "entropy": "of given text at temperature 1; policy/entropy is of sampled text",
}
TRL_KTO = {
    "rewards/margins": "a difference of two batch means of answers that are no pairs",
    "kl": "of mismatched answers, clamped at 0",
}
TRL_CPO = {
    "rewards/chosen": "without a reference: preference/free/chosen_reward; "
    "with simpo divided by length, with AlphaPO reshaped",
    "logits/chosen": "over prompt and padding, too",
}
TRL_REWARD = {
    "loss": "with a centring term by option, a mean since the last log",
}
TRL_NASH_MD = {
    "rewards/margins": "log-probabilities, not rewards",
    "rewards/accuracies": "no pair is compared",
}
TRL_ASYNC_GRPO = {
    "batch/row_imbalance": "of packed rows, not of ranks",
    "perf/forwarded_tok_s_wall_clock": "of the trainer's GPUs together; perf/tokens_per_second/forwarded_wall_clock "
    "keeps it",
}
RLINF = {
    "eval/success_once": "the same quantity of evaluation episodes; never written for a training step",
    "rollout/rollout_tflops": "of the batch, not per second or GPU",
}
TRINITY = {
    "eval/x/accuracy/mean@2": "failed runs vanish there, and a task that lost one goes "
    "under another key; the same when nothing failed",
    "actor/mu": "a weight inside a mixed loss",
}
TELESCOPE = {
    "timing_step_active": "first start to last end: idle gaps count as active",
    "timing_weight_sync_trainer_total": "a sum of spans, not first start to last end",
    "preemptions_total": "a counter since the server started; ours is per second",
    "ttft": "a mean since the server started; ours is of the last window, with percentiles",
    "pass@4/correct": "from the first k completions only",
    "pass^4/correct": "from the first k completions only",
}
