"""Off-policy and offline learners of RLinf: SAC, DAgger, IQL, NFT and RLT."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.reported import reported, rlinf

AVERAGED = "Mean over micro-batches, then over ranks."


def buffer(name: str, *, key: str, **texts: Any) -> None:
    """Enter a number that RLinf logs under `key`."""
    reported(name, names=(rlinf(key),), **texts)


def learner(name: str, *, key: str, definition: str, **texts: Any) -> None:
    """Enter a number of an update, which RLinf averages over micro-batches and ranks."""
    buffer(name, key=key, definition=f"{definition} {AVERAGED}", **texts)


# SAC and DAgger.
learner(
    "offpolicy/sac/critic_loss",
    meaning="Error of SAC's Q functions.",
    definition="mean squared difference between Q and its bootstrapped target.",
    read="Falls, then follows the scale of the reward. A blow-up means over-estimation.",
    check="offpolicy/q_data; target update rate",
    unit="loss",
    good="down",
    example="0.02",
    key="train/sac/critic_loss",
)
learner(
    "offpolicy/sac/actor_loss",
    meaning="SAC's policy loss.",
    definition="mean of alpha * log pi - Q.",
    read="Its level follows Q. Look for jumps, not for trends.",
    check="offpolicy/q_policy; offpolicy/sac/alpha",
    unit="loss",
    good="context",
    example="-1.2",
    key="train/sac/actor_loss",
)
learner(
    "offpolicy/sac/alpha_loss",
    meaning="Loss of SAC's temperature.",
    definition="mean of -alpha * (log pi + target entropy).",
    read="Around 0 once the entropy reaches its target.",
    check="target entropy",
    unit="loss",
    good="near zero",
    example="0.0",
    key="train/sac/alpha_loss",
)
learner(
    "offpolicy/sac/alpha",
    meaning="SAC's entropy temperature.",
    definition="the coefficient in use.",
    read="Falls as the entropy reaches its target. If it stays high, the target is out of reach.",
    check="target entropy; policy entropy",
    unit="weight",
    good="context",
    example="0.2",
    key="train/sac/alpha",
    kind="last",
)
learner(
    "offpolicy/sac/alpha_grad_norm",
    meaning="Gradient norm of SAC's temperature.",
    definition="norm before clipping.",
    read="Should be small.",
    check="offpolicy/sac/alpha_loss",
    unit="norm",
    good="steady",
    example="0.1",
    key="train/alpha/grad_norm",
)
learner(
    "offpolicy/q_data",
    meaning="Q value of the actions in the buffer.",
    definition="mean of Q over the batch's own actions.",
    read="Should stay within the possible returns. Far above them is over-estimation.",
    check="env/return; offpolicy/q_policy",
    unit="reward",
    good="context",
    example="0.6",
    key="train/critic/q_data",
)
learner(
    "offpolicy/q_policy",
    meaning="Q value of the policy's own actions.",
    definition="mean of Q over actions the policy would take now.",
    read="Rises above offpolicy/q_data as the policy improves. Far above it, the policy exploits errors of Q.",
    check="offpolicy/q_data; env/return",
    unit="reward",
    good="up",
    example="0.8",
    key="train/actor/q_pi",
)
learner(
    "offpolicy/q_policy/{i}",
    meaning="Q value of the policy's actions according to one critic.",
    definition="mean of the i-th Q function.",
    read="Critics that disagree are uncertain.",
    check="offpolicy/q_policy",
    unit="reward",
    good="context",
    example="0.79",
    key="train/actor/q_value_{i}",
)
learner(
    "offpolicy/dagger/loss",
    meaning="Imitation loss of DAgger.",
    definition="loss of the policy's actions against the expert's labels.",
    read="Falls. It rises when new states are added, which is the purpose of DAgger.",
    check="replay/size; env/success_once",
    unit="loss",
    good="down",
    example="0.05",
    key="train/dagger/actor_loss",
)

# IQL.
learner(
    "offpolicy/iql/critic_loss",
    meaning="Error of IQL's Q functions.",
    definition="mean squared Bellman error.",
    read="Falls and settles.",
    check="offpolicy/iql/q1",
    unit="loss",
    good="down",
    example="0.03",
    key="train/critic_loss",
)
learner(
    "offpolicy/iql/q1",
    meaning="Mean value of IQL's first Q function.",
    definition="mean over the batch.",
    read="Should stay close to offpolicy/iql/q2.",
    check="offpolicy/iql/q2",
    unit="reward",
    good="context",
    example="0.5",
    key="train/q1",
)
learner(
    "offpolicy/iql/q2",
    meaning="Mean value of IQL's second Q function.",
    definition="mean over the batch.",
    read="If it differs from offpolicy/iql/q1, the critics are uncertain.",
    check="offpolicy/iql/q1",
    unit="reward",
    good="context",
    example="0.5",
    key="train/q2",
)
learner(
    "offpolicy/iql/value_loss",
    meaning="Expectile loss of IQL's value.",
    definition="mean asymmetric squared difference between Q and V.",
    read="Falls and settles.",
    check="expectile",
    unit="loss",
    good="down",
    example="0.01",
    key="train/value_loss",
)
learner(
    "offpolicy/iql/value",
    meaning="IQL's state value.",
    definition="mean of V over the batch.",
    read="Stays below the largest return in the data.",
    check="offpolicy/iql/q1",
    unit="reward",
    good="context",
    example="0.45",
    key="train/v",
)
learner(
    "offpolicy/iql/actor_loss",
    meaning="Advantage-weighted imitation loss of IQL.",
    definition="mean of -exp(beta * advantage) * log pi.",
    read="Should fall.",
    check="offpolicy/iql/advantage_mean",
    unit="loss",
    good="down",
    example="0.9",
    key="train/actor_loss",
)
learner(
    "offpolicy/iql/advantage_mean",
    meaning="Mean advantage in IQL.",
    definition="mean of Q - V over the batch.",
    read="Around 0; slightly below it for expectiles above one half.",
    check="expectile",
    unit="reward",
    good="near zero",
    example="-0.01",
    key="train/adv_mean",
)
learner(
    "offpolicy/iql/advantage_std",
    meaning="Spread of advantages in IQL.",
    definition="standard deviation of Q - V over the batch.",
    read="At 0, only plain imitation is left.",
    check="reward of the data set",
    unit="reward",
    good="context",
    example="0.1",
    key="train/adv_std",
)

# NFT.
learner(
    "offpolicy/nft/loss",
    meaning="Loss of negative-aware fine-tuning.",
    definition="mean over positive and negative samples of the contrastive flow loss.",
    read="Should fall.",
    check="offpolicy/nft/energy_gap",
    unit="loss",
    good="down",
    example="0.4",
    key="train/actor/nft_loss",
)
learner(
    "offpolicy/nft/tau",
    meaning="Interpolation weight of NFT.",
    definition="the coefficient in use.",
    read="A setting or a schedule.",
    check="offpolicy/nft/loss",
    unit="weight",
    good="context",
    example="0.5",
    key="train/actor/nft_tau",
    kind="last",
)
learner(
    "offpolicy/nft/velocity_change",
    meaning="How far the flow moved from the old policy.",
    definition="mean norm of the difference of velocities.",
    read="The size of an update.",
    check="learning rate; offpolicy/nft/clipped",
    unit="norm",
    good="steady",
    example="0.03",
    key="train/actor/delta_v_norm",
)
learner(
    "offpolicy/nft/clipped",
    meaning="Share of samples whose change was clipped.",
    definition="samples beyond the clip bound / samples.",
    read="High: the updates are too large.",
    check="offpolicy/nft/velocity_change",
    unit="share",
    good="down",
    example="0.1",
    key="train/actor/clip_frac",
    range=(0.0, 1.0),
)
learner(
    "offpolicy/nft/loss_clipped",
    meaning="Share of samples whose loss was clipped.",
    definition="samples with a clipped loss / samples.",
    read="High: outliers dominate the loss.",
    check="offpolicy/nft/loss",
    unit="share",
    good="down",
    example="0.05",
    key="train/actor/clip_loss_frac",
    range=(0.0, 1.0),
)
learner(
    "offpolicy/nft/energy_positive",
    meaning="Flow error on samples weighted as positive.",
    definition="mean over all samples of the positive branch.",
    read="Stays below offpolicy/nft/energy_negative when training works.",
    check="offpolicy/nft/energy_gap",
    unit="loss",
    good="down",
    example="0.3",
    key="train/actor/E_pos_mean",
)
learner(
    "offpolicy/nft/energy_negative",
    meaning="Flow error on samples weighted as negative.",
    definition="mean over all samples of the negative branch.",
    read="Rises away from offpolicy/nft/energy_positive.",
    check="offpolicy/nft/energy_gap",
    unit="loss",
    good="context",
    example="0.5",
    key="train/actor/E_neg_mean",
)
learner(
    "offpolicy/nft/energy_positive_only",
    meaning="Flow error of the positive branch on successes.",
    definition="mean over successful samples only.",
    read="Should fall.",
    check="offpolicy/nft/energy_positive",
    unit="loss",
    good="down",
    example="0.25",
    key="train/actor/E_pos_mean_pos_only",
)
learner(
    "offpolicy/nft/energy_negative_only",
    meaning="Flow error of the negative branch on failures.",
    definition="mean over failed samples only.",
    read="Should rise.",
    check="offpolicy/nft/energy_negative",
    unit="loss",
    good="context",
    example="0.6",
    key="train/actor/E_neg_mean_neg_only",
)
learner(
    "offpolicy/nft/energy_gap",
    meaning="Difference between the negative and the positive branch.",
    definition="mean of negative minus positive flow error.",
    read="NFT separates the two branches, so it should grow.",
    check="env/success_once",
    unit="loss",
    good="up",
    example="0.2",
    key="train/actor/delta_E_mean",
)

# RLT.
learner(
    "offpolicy/rlt/imitation_loss",
    meaning="Imitation loss of the RLT actor.",
    definition="weighted loss of actions against reference and human actions.",
    read="Falls while Q takes over.",
    check="offpolicy/rlt/imitation_weight",
    unit="loss",
    good="down",
    example="0.1",
    key="train/actor/bc_loss",
)
learner(
    "offpolicy/rlt/imitation_loss_reference",
    meaning="Imitation loss against the reference policy.",
    definition="mean over the steps that the policy controlled.",
    read="Shows how far the actor moves away from its teacher.",
    check="offpolicy/rlt/reference_distance",
    unit="loss",
    good="down",
    example="0.1",
    key="train/actor/bc_ref_loss",
)
learner(
    "offpolicy/rlt/imitation_loss_human",
    meaning="Imitation loss against a person's actions.",
    definition="mean over the steps that a person controlled.",
    read="Falls as the actor learns from the interventions.",
    check="env/intervened",
    unit="loss",
    good="down",
    example="0.2",
    key="train/actor/bc_human_loss",
)
learner(
    "offpolicy/rlt/human_share",
    meaning="Share of the batch's steps that a person controlled.",
    definition="steps with human actions / steps of the batch.",
    read="Falls over training.",
    check="env/intervened",
    unit="share",
    good="context",
    example="0.1",
    key="train/actor/human_mask_ratio",
    range=(0.0, 1.0),
)
learner(
    "offpolicy/rlt/policy_share",
    meaning="Share of the batch's steps that the policy controlled.",
    definition="steps with policy actions / steps of the batch.",
    read="One minus offpolicy/rlt/human_share.",
    check="offpolicy/rlt/human_share",
    unit="share",
    good="context",
    example="0.9",
    key="train/actor/policy_mask_ratio",
    range=(0.0, 1.0),
)
learner(
    "offpolicy/rlt/imitation_weight",
    meaning="Weight of imitation in the actor's loss.",
    definition="the coefficient in use.",
    read="A schedule from imitation to Q.",
    check="offpolicy/rlt/q_weight",
    unit="weight",
    good="context",
    example="0.5",
    key="train/actor/bc_weight",
    kind="last",
)
learner(
    "offpolicy/rlt/q_weight",
    meaning="Weight of Q in the actor's loss.",
    definition="the coefficient in use.",
    read="A schedule.",
    check="offpolicy/rlt/imitation_weight",
    unit="weight",
    good="context",
    example="0.5",
    key="train/actor/q_weight",
    kind="last",
)
learner(
    "offpolicy/rlt/weighted_q",
    meaning="The Q part of the actor's loss.",
    definition="weight times mean Q of the policy's actions.",
    read="Compare with offpolicy/rlt/weighted_imitation to see which part leads.",
    check="offpolicy/rlt/weighted_imitation",
    unit="loss",
    good="context",
    example="0.3",
    key="train/actor/weighted_q",
)
learner(
    "offpolicy/rlt/weighted_imitation",
    meaning="The imitation part of the actor's loss.",
    definition="weight times imitation loss.",
    read="Compare with offpolicy/rlt/weighted_q.",
    check="offpolicy/rlt/weighted_q",
    unit="loss",
    good="context",
    example="0.05",
    key="train/actor/weighted_bc",
)
learner(
    "offpolicy/rlt/actor_weight/{part}",
    meaning="Weights of the RLT actor's samples.",
    definition="the named statistic of the sample weights.",
    read="If a few samples have all the weight, the actor learns from few samples.",
    check="batch composition",
    unit="weight",
    good="context",
    example="mean 1.0",
    key="train/actor/actor_weight_{part}",
    kind="last",
)
learner(
    "offpolicy/rlt/reference_distance",
    meaning="How far actions are from the reference's actions.",
    definition="mean absolute difference between the actor's action and the reference's.",
    read="0 is a copy of the teacher.",
    check="offpolicy/rlt/imitation_loss_reference",
    unit="action",
    good="context",
    example="0.02",
    key="train/actor/action_ref_abs_mean",
)
learner(
    "offpolicy/rlt/reference_dropout",
    meaning="Probability that the reference action is hidden from the actor.",
    definition="the probability in use.",
    read="A setting or a schedule.",
    check="offpolicy/rlt/reference_distance",
    unit="share",
    good="context",
    example="0.3",
    key="train/actor/reference_dropout_prob",
    range=(0.0, 1.0),
)
learner(
    "offpolicy/rlt/schedule/{quantity}",
    meaning="A counter of RLT's update schedule.",
    definition=(
        "the named quantity: updates wanted, scheduled, run and pending, transitions since the "
        "last training, replay sizes against their minimum, warm-up, and whether and why training "
        "was skipped (skip_reason is a code)."
    ),
    read="Counters that do not move explain why nothing is learned.",
    check="replay/transitions; minimum replay size",
    unit="count",
    good="context",
    example="updates_to_run 20",
    key="train/rlt/{quantity}",
    kind="last",
)

# Value models.
learner(
    "value_model/predicted_mean",
    meaning="Mean value a value model predicts.",
    definition="mean over the batch of the predicted value.",
    read="Should follow value_model/target_mean.",
    check="value_model/target_mean",
    unit="return",
    good="context",
    example="0.5",
    key="train/predicted_value_mean",
)
learner(
    "value_model/predicted_std",
    meaning="Spread of predicted values.",
    definition="standard deviation over the batch.",
    read="Near 0, the model predicts a constant.",
    check="value_model/target_std",
    unit="return",
    good="up",
    example="0.2",
    key="train/predicted_value_std",
)
learner(
    "value_model/target_mean",
    meaning="Mean of the values to predict.",
    definition="mean over the batch of the target.",
    read="A property of the data.",
    check="value_model/predicted_mean",
    unit="return",
    good="context",
    example="0.5",
    key="train/target_value_mean",
)
learner(
    "value_model/target_std",
    meaning="Spread of the values to predict.",
    definition="standard deviation over the batch.",
    read="A property of the data.",
    check="value_model/predicted_std",
    unit="return",
    good="context",
    example="0.3",
    key="train/target_value_std",
)
learner(
    "value_model/accuracy",
    meaning="Share of values put into the right bin.",
    definition="share of samples whose most likely bin is the target's.",
    read="Compare with the share of the largest bin.",
    check="value_model/accuracy_neighbour",
    unit="share",
    good="up",
    example="0.4",
    key="train/cat_acc_best",
    range=(0.0, 1.0),
)
learner(
    "value_model/accuracy_neighbour",
    meaning="Share of values put into the right bin or the one next to it.",
    definition="share of samples whose most likely bin is within one of the target's.",
    read="More tolerant than value_model/accuracy, and often closer to what is needed.",
    check="value_model/error",
    unit="share",
    good="up",
    example="0.7",
    key="train/cat_acc_neighbor",
    range=(0.0, 1.0),
)
learner(
    "value_model/error",
    meaning="Absolute error of a value model.",
    definition="mean over the batch of |predicted - target|.",
    read="It has the unit of returns, so it is easy to read.",
    check="value_model/target_std",
    unit="return",
    good="down",
    example="0.1",
    key="train/mae",
)
learner(
    "value_model/progress_accuracy",
    meaning="Share of progress steps classified correctly (STEAM).",
    definition="share of samples in the right class.",
    read="Compare with what guessing would reach on these classes.",
    check="value_model/progress_accuracy_neighbour",
    unit="share",
    good="up",
    example="0.6",
    key="train/accuracy",
    range=(0.0, 1.0),
)
learner(
    "value_model/progress_accuracy_neighbour",
    meaning="Share of progress steps classified correctly or one class off (STEAM).",
    definition="share of samples within one class.",
    read="More tolerant than value_model/progress_accuracy.",
    check="value_model/progress_accuracy",
    unit="share",
    good="up",
    example="0.8",
    key="train/accuracy_neighbor",
    range=(0.0, 1.0),
)
learner(
    "value_model/signed_progress_mean",
    meaning="Mean predicted progress (STEAM).",
    definition="mean over the batch of the signed progress.",
    read="Above 0 on demonstrations.",
    check="data balance",
    unit="progress",
    good="context",
    example="0.1",
    key="train/signed_progress_mean",
)
learner(
    "value_model/signed_progress_std",
    meaning="Spread of predicted progress (STEAM).",
    definition="standard deviation over the batch.",
    read="Near 0, the model predicts a constant.",
    check="value_model/signed_progress_mean",
    unit="progress",
    good="context",
    example="0.3",
    key="train/signed_progress_std",
)
learner(
    "value_model/progress",
    meaning="Accumulated predicted progress (STEAM).",
    definition="mean over the batch of the summed progress.",
    read="Grows along an episode.",
    check="env/success_once",
    unit="progress",
    good="up",
    example="0.5",
    key="train/progress_value_mean",
)
learner(
    "value_model/member/{i}/{quantity}",
    meaning="A quantity of one member of an ensemble (STEAM).",
    definition="the named quantity of the i-th member.",
    read="Members that disagree are uncertain.",
    check="value_model/progress_accuracy",
    unit="value",
    good="context",
    example="loss 0.4",
    key="train/member{i}/{quantity}",
    kind="last",
)
learner(
    "value_model/grad_norm_mean",
    meaning="Gradient norm, mean over an ensemble (STEAM).",
    definition="mean over members of the norm before clipping.",
    read="Read it like any gradient norm.",
    check="learning rate",
    unit="norm",
    good="steady",
    example="1.0",
    key="train/grad_norm_mean",
)
learner(
    "value_model/eval/{set}/{quantity}",
    meaning="A quantity of a value model on one evaluation set.",
    definition="the named training quantity computed on that set.",
    read="Compare with the training value to detect overfitting.",
    check="value_model/error",
    unit="value",
    good="context",
    example="mae 0.12",
    key="eval/{set}/{quantity}",
    kind="last",
)
learner(
    "value_model/eval_accuracy",
    meaning="Accuracy of an SFT model on its evaluation set.",
    definition="share of evaluation samples answered correctly.",
    read="The number to watch in SFT.",
    check="eval/loss",
    unit="share",
    good="up",
    example="0.8",
    key="eval/eval_accuracy",
    range=(0.0, 1.0),
)

# Replay buffers.
buffer(
    "replay/trajectories",
    meaning="Trajectories in the replay buffer.",
    definition="number stored when the step was logged.",
    read="Grows, then stays at its limit.",
    check="minimum size before learning",
    unit="count",
    good="up",
    example="200",
    key="train/replay_buffer/num_trajectories",
    kind="last",
)
buffer(
    "replay/size",
    meaning="Transitions in the replay buffer.",
    definition="number of samples stored.",
    read="Learning starts once the buffer has its minimum size.",
    check="replay/trajectories",
    unit="count",
    good="up",
    example="30000",
    key="train/replay_buffer/total_samples",
    kind="last",
)
buffer(
    "replay/cached",
    meaning="Trajectories of the replay buffer held in memory.",
    definition="size of the cache.",
    read="If it is below replay/trajectories, the buffer also reads from disk.",
    check="host/memory_used",
    unit="count",
    good="context",
    example="100",
    key="train/replay_buffer/cache_size",
    kind="last",
)
buffer(
    "replay/demo/trajectories",
    meaning="Demonstrations in the demonstration buffer.",
    definition="number stored.",
    read="A constant, unless people add demonstrations.",
    check="env/intervened",
    unit="count",
    good="context",
    example="20",
    key="train/demo_buffer/num_trajectories",
    kind="last",
)
buffer(
    "replay/demo/size",
    meaning="Transitions in the demonstration buffer.",
    definition="number of samples stored.",
    read="A constant, unless people add demonstrations.",
    check="replay/demo/trajectories",
    unit="count",
    good="context",
    example="4000",
    key="train/demo_buffer/total_samples",
    kind="last",
)
buffer(
    "replay/demo/cached",
    meaning="Demonstrations held in memory.",
    definition="size of the cache.",
    read="Read it like replay/cached.",
    check="replay/demo/trajectories",
    unit="count",
    good="context",
    example="20",
    key="train/demo_buffer/cache_size",
    kind="last",
)
buffer(
    "replay/transitions",
    meaning="Transitions seen so far.",
    definition="cumulative count of the RLT buffer.",
    read="Shows how fast data arrives.",
    check="replay/size",
    unit="count",
    good="up",
    example="12000",
    key="train/replay/transition_count",
    kind="last",
)
buffer(
    "replay/reward_mean",
    meaning="Mean reward in the buffer.",
    definition="mean over stored transitions.",
    read="Rises with the policy, but slowly, because old data stays.",
    check="env/return",
    unit="reward",
    good="up",
    example="0.01",
    key="train/replay/reward_mean",
)
buffer(
    "replay/reward_positive",
    meaning="Share of stored transitions with a positive reward.",
    definition="share of stored transitions.",
    read="With sparse rewards, a share near 0 leaves almost no signal.",
    check="env/success_once",
    unit="share",
    good="up",
    example="0.005",
    key="train/replay/reward_positive_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/done",
    meaning="Share of stored transitions that end an episode.",
    definition="share of stored transitions.",
    read="One divided by the mean episode length.",
    check="env/episode_len",
    unit="share",
    good="context",
    example="0.01",
    key="train/replay/done_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/recorded",
    meaning="Share of steps that were stored.",
    definition="stored steps / steps taken, sum over sum.",
    read="Below 1, some rule leaves steps out.",
    check="recording rule",
    unit="share",
    good="context",
    example="0.9",
    key="train/replay/record_transition_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/actor_switched",
    meaning="Share of steps at which the learned actor took over.",
    definition="hand-overs / steps, sum over sum.",
    read="Read it together with env/actor_switch_step.",
    check="env/actor_phase_entered",
    unit="share",
    good="context",
    example="0.01",
    key="train/replay/actor_switch_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/intervention_requested",
    meaning="Share of steps at which the policy asked for help.",
    definition="requests / steps, sum over sum.",
    read="Falls as the policy becomes more certain.",
    check="replay/intervention",
    unit="share",
    good="down",
    example="0.05",
    key="train/replay/intervention_requested_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/intervention",
    meaning="Share of all steps taken that a person controlled.",
    definition="human steps / steps, sum over sum.",
    read="Should fall.",
    check="env/intervened",
    unit="share",
    good="down",
    example="0.03",
    key="train/replay/intervention_rate",
    range=(0.0, 1.0),
)
buffer(
    "replay/dataset/{state}",
    meaning="State of a LeRobot data set that is written during training.",
    definition="the named state: statistics, resume done, loading or failed.",
    read="An error here means that episodes are not saved.",
    check="disk; data set path",
    unit="value",
    good="context",
    example="resume_done 1",
    key="train/lerobot_dataset/{state}",
    kind="last",
)
