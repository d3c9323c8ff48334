"""Off-policy and offline learners of RLinf (SAC, DAgger, IQL, NFT, RLT): their losses, values and schedules, kept as logged."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.reported import reported, rlinf
from rollscope.catalog.spec import Good

Row = tuple[
    str, str, Good, str, str, str, str, str, str
]  # name, unit, good, meaning, definition, read, check, example, key
AVERAGED = " Mean over micro-batches, then over ranks."

SAC: tuple[Row, ...] = (
    ("offpolicy/sac/critic_loss", "loss", "down", "Error of SAC's Q functions.", "mean squared difference between Q and its bootstrapped target.", "Falls, then follows the reward's scale. A blow-up is over-estimation.", "offpolicy/q_data; target update rate", "0.02", "train/sac/critic_loss"),
    ("offpolicy/sac/actor_loss", "loss", "context", "SAC's policy loss.", "mean of alpha * log pi - Q.", "Its level follows Q; read jumps, not trends.", "offpolicy/q_policy; offpolicy/sac/alpha", "-1.2", "train/sac/actor_loss"),
    ("offpolicy/sac/alpha_loss", "loss", "near zero", "Loss of SAC's temperature.", "mean of -alpha * (log pi + target entropy).", "Around 0 once entropy is at its target.", "target entropy", "0.0", "train/sac/alpha_loss"),
    ("offpolicy/sac/alpha", "weight", "context", "SAC's entropy temperature.", "the coefficient in use.", "Falls as entropy meets its target; stuck high means that the target is out of reach.", "target entropy; policy entropy", "0.2", "train/sac/alpha"),
    ("offpolicy/sac/alpha_grad_norm", "norm", "steady", "Gradient norm of SAC's temperature.", "norm before clipping.", "Small.", "offpolicy/sac/alpha_loss", "0.1", "train/alpha/grad_norm"),
    ("offpolicy/q_data", "reward", "context", "Q of actions from the buffer.", "mean of Q over the batch's own actions.", "Should stay within the returns that are possible. Far above is over-estimation.", "env/return; offpolicy/q_policy", "0.6", "train/critic/q_data"),
    ("offpolicy/q_policy", "reward", "up", "Q of the policy's own actions.", "mean of Q over actions the policy would take now.", "Above offpolicy/q_data as the policy improves. Far above: it exploits errors of Q.", "offpolicy/q_data; env/return", "0.8", "train/actor/q_pi"),
    ("offpolicy/q_policy/{i}", "reward", "context", "Q of the policy's actions, by one critic.", "mean of the i-th Q function.", "Critics that disagree are unsure.", "offpolicy/q_policy", "0.79", "train/actor/q_value_{i}"),
    ("offpolicy/dagger/loss", "loss", "down", "Imitation loss of DAgger.", "loss of the policy's actions against the expert's labels.", "Falls; it rises when new states come in, which is the point.", "replay/size; env/success_once", "0.05", "train/dagger/actor_loss"),
)  # fmt: skip
IQL: tuple[Row, ...] = (
    ("offpolicy/iql/critic_loss", "loss", "down", "Error of IQL's Q functions.", "mean squared Bellman error.", "Falls and settles.", "offpolicy/iql/q1", "0.03", "train/critic_loss"),
    ("offpolicy/iql/q1", "reward", "context", "First Q function of IQL.", "mean over the batch.", "Together with the second one.", "offpolicy/iql/q2", "0.5", "train/q1"),
    ("offpolicy/iql/q2", "reward", "context", "Second Q function of IQL.", "mean over the batch.", "Apart from the first one means that the critics are unsure.", "offpolicy/iql/q1", "0.5", "train/q2"),
    ("offpolicy/iql/value_loss", "loss", "down", "Expectile loss of IQL's value.", "mean asymmetric squared difference between Q and V.", "Falls and settles.", "expectile", "0.01", "train/value_loss"),
    ("offpolicy/iql/value", "reward", "context", "IQL's state value.", "mean of V over the batch.", "Below the largest return of the data.", "offpolicy/iql/q1", "0.45", "train/v"),
    ("offpolicy/iql/actor_loss", "loss", "down", "Advantage-weighted imitation loss of IQL.", "mean of -exp(beta * advantage) * log pi.", "Falls.", "offpolicy/iql/advantage_mean", "0.9", "train/actor_loss"),
    ("offpolicy/iql/advantage_mean", "reward", "near zero", "Mean advantage in IQL.", "mean of Q - V over the batch.", "Around 0, slightly below for expectiles above one half.", "expectile", "-0.01", "train/adv_mean"),
    ("offpolicy/iql/advantage_std", "reward", "context", "Spread of advantages in IQL.", "standard deviation of Q - V over the batch.", "0 leaves plain imitation.", "reward of the data set", "0.1", "train/adv_std"),
)  # fmt: skip
NFT: tuple[Row, ...] = (
    ("offpolicy/nft/loss", "loss", "down", "Loss of negative-aware fine-tuning.", "mean over positive and negative samples of the contrastive flow loss.", "Falls.", "offpolicy/nft/energy_gap", "0.4", "train/actor/nft_loss"),
    ("offpolicy/nft/tau", "weight", "context", "Interpolation weight of NFT.", "the coefficient in use.", "A setting or schedule.", "offpolicy/nft/loss", "0.5", "train/actor/nft_tau"),
    ("offpolicy/nft/velocity_change", "norm", "steady", "How far the flow moved from the old policy.", "mean norm of the difference of velocities.", "The distance of an update.", "learning rate; offpolicy/nft/clipped", "0.03", "train/actor/delta_v_norm"),
    ("offpolicy/nft/clipped", "share", "down", "Share of samples whose change was clipped.", "samples beyond the clip bound / samples.", "High: updates too large.", "offpolicy/nft/velocity_change", "0.1", "train/actor/clip_frac"),
    ("offpolicy/nft/loss_clipped", "share", "down", "Share of samples whose loss was clipped.", "samples with a clipped loss / samples.", "High: outliers carry the loss.", "offpolicy/nft/loss", "0.05", "train/actor/clip_loss_frac"),
    ("offpolicy/nft/energy_positive", "loss", "down", "Flow error on samples weighted as positive.", "mean over all samples of the positive branch.", "Below the negative one when training works.", "offpolicy/nft/energy_gap", "0.3", "train/actor/E_pos_mean"),
    ("offpolicy/nft/energy_negative", "loss", "context", "Flow error on samples weighted as negative.", "mean over all samples of the negative branch.", "Rises away from the positive one.", "offpolicy/nft/energy_gap", "0.5", "train/actor/E_neg_mean"),
    ("offpolicy/nft/energy_positive_only", "loss", "down", "Flow error of the positive branch on successes.", "mean over successful samples only.", "Falls.", "offpolicy/nft/energy_positive", "0.25", "train/actor/E_pos_mean_pos_only"),
    ("offpolicy/nft/energy_negative_only", "loss", "context", "Flow error of the negative branch on failures.", "mean over failed samples only.", "Rises.", "offpolicy/nft/energy_negative", "0.6", "train/actor/E_neg_mean_neg_only"),
    ("offpolicy/nft/energy_gap", "loss", "up", "Gap between negative and positive branch.", "mean of negative minus positive flow error.", "What NFT separates; it should grow.", "env/success_once", "0.2", "train/actor/delta_E_mean"),
)  # fmt: skip
RLT: tuple[Row, ...] = (
    ("offpolicy/rlt/imitation_loss", "loss", "down", "Imitation loss of the RLT actor.", "weighted loss of actions against reference and human actions.", "Falls while Q takes over.", "offpolicy/rlt/imitation_weight", "0.1", "train/actor/bc_loss"),
    ("offpolicy/rlt/imitation_loss_reference", "loss", "down", "Imitation loss against the reference policy.", "mean over steps the policy steered.", "How far the actor leaves its teacher.", "offpolicy/rlt/reference_distance", "0.1", "train/actor/bc_ref_loss"),
    ("offpolicy/rlt/imitation_loss_human", "loss", "down", "Imitation loss against a person's actions.", "mean over steps a person steered.", "Falls as help is learnt.", "env/intervened", "0.2", "train/actor/bc_human_loss"),
    ("offpolicy/rlt/human_share", "share", "context", "Share of steps a person steered.", "steps with human actions / steps of the batch.", "Falls over training.", "env/intervened", "0.1", "train/actor/human_mask_ratio"),
    ("offpolicy/rlt/policy_share", "share", "context", "Share of steps the policy steered.", "steps with policy actions / steps of the batch.", "One minus the human's share.", "offpolicy/rlt/human_share", "0.9", "train/actor/policy_mask_ratio"),
    ("offpolicy/rlt/imitation_weight", "weight", "context", "Weight of imitation in the actor's loss.", "the coefficient in use.", "A schedule from imitation to Q.", "offpolicy/rlt/q_weight", "0.5", "train/actor/bc_weight"),
    ("offpolicy/rlt/q_weight", "weight", "context", "Weight of Q in the actor's loss.", "the coefficient in use.", "A schedule.", "offpolicy/rlt/imitation_weight", "0.5", "train/actor/q_weight"),
    ("offpolicy/rlt/weighted_q", "loss", "context", "The Q part of the actor's loss.", "weight times mean Q of the policy's actions.", "Against the imitation part: who leads.", "offpolicy/rlt/weighted_imitation", "0.3", "train/actor/weighted_q"),
    ("offpolicy/rlt/weighted_imitation", "loss", "context", "The imitation part of the actor's loss.", "weight times imitation loss.", "Against the Q part.", "offpolicy/rlt/weighted_q", "0.05", "train/actor/weighted_bc"),
    ("offpolicy/rlt/actor_weight/{part}", "weight", "context", "Weights of the RLT actor's samples.", "the named statistic of the sample weights.", "Few samples with all the weight learn from few.", "batch composition", "mean 1.0", "train/actor/actor_weight_{part}"),
    ("offpolicy/rlt/reference_distance", "action", "context", "How far actions are from the reference.", "mean absolute difference between the actor's action and the reference's.", "0 is a copy of the teacher.", "offpolicy/rlt/imitation_loss_reference", "0.02", "train/actor/action_ref_abs_mean"),
    ("offpolicy/rlt/reference_dropout", "share", "context", "How often the reference action is hidden from the actor.", "the probability in use.", "A setting or schedule.", "offpolicy/rlt/reference_distance", "0.3", "train/actor/reference_dropout_prob"),
    ("offpolicy/rlt/schedule/{quantity}", "count", "context", "A counter of RLT's update schedule.", "the named quantity: updates wanted, scheduled, run and pending, transitions since the last training, replay sizes against their minimum, warm-up, and whether and why training was skipped (skip_reason is a code).", "Stuck counters say why nothing is learnt.", "replay/transitions; minimum replay size", "updates_to_run 20", "train/rlt/{quantity}"),
)  # fmt: skip
VALUE: tuple[Row, ...] = (
    ("value_model/predicted_mean", "return", "context", "Mean value a value model predicts.", "mean over the batch of the predicted value.", "Should follow the target's mean.", "value_model/target_mean", "0.5", "train/predicted_value_mean"),
    ("value_model/predicted_std", "return", "up", "Spread of predicted values.", "standard deviation over the batch.", "Near 0 it predicts a constant.", "value_model/target_std", "0.2", "train/predicted_value_std"),
    ("value_model/target_mean", "return", "context", "Mean value to predict.", "mean over the batch of the target.", "A property of the data.", "value_model/predicted_mean", "0.5", "train/target_value_mean"),
    ("value_model/target_std", "return", "context", "Spread of values to predict.", "standard deviation over the batch.", "A property of the data.", "value_model/predicted_std", "0.3", "train/target_value_std"),
    ("value_model/accuracy", "share", "up", "Values put into the right bin.", "share of samples whose most likely bin is the target's.", "Against the share of the largest bin.", "value_model/accuracy_neighbour", "0.4", "train/cat_acc_best"),
    ("value_model/accuracy_neighbour", "share", "up", "Values put into the right bin or the next one.", "share of samples whose most likely bin is within one of the target's.", "Kinder than accuracy and often closer to what is needed.", "value_model/error", "0.7", "train/cat_acc_neighbor"),
    ("value_model/error", "return", "down", "Absolute error of a value model.", "mean over the batch of |predicted - target|.", "In the unit of returns, easy to read.", "value_model/target_std", "0.1", "train/mae"),
    ("value_model/progress_accuracy", "share", "up", "Progress steps classified right (STEAM).", "share of samples in the right class.", "Against chance of the classes.", "value_model/progress_accuracy_neighbour", "0.6", "train/accuracy"),
    ("value_model/progress_accuracy_neighbour", "share", "up", "Progress steps classified right or next to it (STEAM).", "share of samples within one class.", "Kinder than accuracy.", "value_model/progress_accuracy", "0.8", "train/accuracy_neighbor"),
    ("value_model/signed_progress_mean", "progress", "context", "Mean progress predicted (STEAM).", "mean over the batch of the signed progress.", "Above 0 on demonstrations.", "data balance", "0.1", "train/signed_progress_mean"),
    ("value_model/signed_progress_std", "progress", "context", "Spread of predicted progress (STEAM).", "standard deviation over the batch.", "Near 0 it predicts a constant.", "value_model/signed_progress_mean", "0.3", "train/signed_progress_std"),
    ("value_model/progress", "progress", "up", "Accumulated progress predicted (STEAM).", "mean over the batch of the summed progress.", "Grows along an episode.", "env/success_once", "0.5", "train/progress_value_mean"),
    ("value_model/member/{i}/{quantity}", "value", "context", "A number of one member of an ensemble (STEAM).", "the named quantity of the i-th member.", "Members that disagree are unsure.", "value_model/progress_accuracy", "loss 0.4", "train/member{i}/{quantity}"),
    ("value_model/grad_norm_mean", "norm", "steady", "Gradient norm, mean over an ensemble (STEAM).", "mean over members of the norm before clipping.", "As any gradient norm.", "learning rate", "1.0", "train/grad_norm_mean"),
    ("value_model/eval/{set}/{quantity}", "value", "context", "A number of a value model on one evaluation set.", "the named training quantity computed on that set.", "Against training for overfitting.", "value_model/error", "mae 0.12", "eval/{set}/{quantity}"),
    ("value_model/eval_accuracy", "share", "up", "Accuracy of an SFT model on its evaluation set.", "share of evaluation samples answered right.", "The number to watch in SFT.", "eval/loss", "0.8", "eval/eval_accuracy"),
)  # fmt: skip
REPLAY: tuple[Row, ...] = (
    ("replay/trajectories", "count", "up", "Trajectories in the replay buffer.", "number stored when the step was logged.", "Grows, then stays at its limit.", "minimum size before learning", "200", "train/replay_buffer/num_trajectories"),
    ("replay/size", "count", "up", "Transitions in the replay buffer.", "number of samples stored.", "Learning starts at a minimum.", "replay/trajectories", "30000", "train/replay_buffer/total_samples"),
    ("replay/cached", "count", "context", "Trajectories of the buffer held in memory.", "size of the cache.", "Below the buffer's size it reads from disk.", "host/memory_used", "100", "train/replay_buffer/cache_size"),
    ("replay/demo/trajectories", "count", "context", "Demonstrations in their buffer.", "number stored.", "A constant, unless people add some.", "env/intervened", "20", "train/demo_buffer/num_trajectories"),
    ("replay/demo/size", "count", "context", "Transitions of demonstrations.", "number of samples stored.", "A constant, unless people add some.", "replay/demo/trajectories", "4000", "train/demo_buffer/total_samples"),
    ("replay/demo/cached", "count", "context", "Demonstrations held in memory.", "size of the cache.", "As replay/cached.", "replay/demo/trajectories", "20", "train/demo_buffer/cache_size"),
    ("replay/transitions", "count", "up", "Transitions seen so far.", "cumulative count of the RLT buffer.", "The pace of data.", "replay/size", "12000", "train/replay/transition_count"),
    ("replay/reward_mean", "reward", "up", "Mean reward in the buffer.", "mean over stored transitions.", "Rises with the policy, slowly: old data stays.", "env/return", "0.01", "train/replay/reward_mean"),
    ("replay/reward_positive", "share", "up", "Transitions with a positive reward.", "share of stored transitions.", "Sparse rewards: almost 0 is almost no signal.", "env/success_once", "0.005", "train/replay/reward_positive_rate"),
    ("replay/done", "share", "context", "Transitions that end an episode.", "share of stored transitions.", "One over the mean episode length.", "env/episode_len", "0.01", "train/replay/done_rate"),
    ("replay/recorded", "share", "context", "Steps that were stored.", "stored steps / steps taken, sum over sum.", "Below 1: rules that leave steps out.", "recording rule", "0.9", "train/replay/record_transition_rate"),
    ("replay/actor_switched", "share", "context", "Steps at which the learnt actor took over.", "hand-overs / steps, sum over sum.", "With env/actor_switch_step.", "env/actor_phase_entered", "0.01", "train/replay/actor_switch_rate"),
    ("replay/intervention_requested", "share", "down", "Steps at which help was asked for.", "requests / steps, sum over sum.", "Falls as the policy grows sure.", "replay/intervention", "0.05", "train/replay/intervention_requested_rate"),
    ("replay/intervention", "share", "down", "Steps a person steered.", "human steps / steps, sum over sum.", "Falls.", "env/intervened", "0.03", "train/replay/intervention_rate"),
    ("replay/dataset/{state}", "value", "context", "State of a LeRobot data set that is written while training.", "the named state: statistics, resume done, loading or failed.", "An error here means that episodes are not kept.", "disk; data set path", "resume_done 1", "train/lerobot_dataset/{state}"),
)  # fmt: skip


def _more(unit: str) -> dict[str, Any]:
    return (
        {"range": (0.0, 1.0)} if unit == "share" else {"kind": "last"} if unit in ("count", "weight", "value") else {}
    )


for _name, _unit, _good, _meaning, _definition, _read, _check, _example, _key in (
    *SAC,
    *IQL,
    *NFT,
    *RLT,
    *VALUE,
    *REPLAY,
):
    _many = "" if _name.startswith("replay") else AVERAGED
    reported(_name, _unit, _good, _meaning, _definition + _many, _read, _check, _example, rlinf(_key), **_more(_unit))
