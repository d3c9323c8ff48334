"""Keys about policy, critic and mismatch that `rename` does not write.

Each has the reason, which is also in the note or the definition of its entry.
"""

from __future__ import annotations

VERL = {
    "training/rollout_probs_diff_valid": "1 whenever any other number of its section "
    "exists; no data is NaN here, not a flag",
}
VERL_CLIP_COV = {
    "actor/pg_loss": "tokens are chosen at random over the whole batch",
    "actor/pg_clipfrac": "tokens are chosen at random over the whole batch",
}
VERL_KL_COV = {
    "actor/pg_loss": "tokens are chosen by rank over the whole batch, which no sum over parts gives",
}
RLINF = {
    "train/critic/value_clip_ratio": "compares a clipped difference with its own bound: rounding noise",
    "train/critic/value_loss": "a Huber loss",
    "train/actor/rollout_train_kl": "a mean absolute gap, of the last micro-batch only",
    "train/actor/total_loss": "after division by gradient accumulation",
    "train/actor/kl_loss": "its sign depends on the backend",
    "train/actor/proximal_ratio": "over steps whose behaviour weight is kept",
    "train/actor/behav_clip_fraction": "one minus the share of steps kept by a cap the batch does not carry",
}
TRL_PPO = {
    "policy/approxkl_avg": "padding counts, and slots never written dilute it",
    "policy/clipfrac_avg": "slots never written dilute it",
    "policy/entropy_avg": "padding counts, and slots never written dilute it",
    "loss/policy_avg": "slots never written dilute it",
    "loss/value_avg": "slots never written dilute it",
    "val/clipfrac_avg": "slots never written dilute it",
    "val/ratio": "padding counts as 1, and slots never written dilute it",
    "val/ratio_var": "a variance of micro-batch means",
}
TRINITY = {
    "actor/pg_loss": "multiplied by 1/gradient accumulation",
    "actor/kl_loss": "multiplied by 1/gradient accumulation",
    "actor/final_loss": "multiplied by 1/gradient accumulation",
    "critic/advantages/mean": "over the attention mask",
    "critic/returns/mean": "over the attention mask",
}
OPENRLHF = {
    "kl": "clamped, and a mean over samples or tokens by option",
    "critic_loss": "an unweighted mean over micro-batches",
    "values": "an unweighted mean over micro-batches",
}
TELESCOPE = {
    "kl_penalty": "k2 without the half, or a clamped k3, by option",
}
