"""tinker-cookbook: what its RL loop writes into metrics.jsonl and W&B."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

tinker = partial(Name, "tinker")
_SAMPLER = "from the log-probabilities that the sampler reported"
_HALF = "groups whose equal rewards are {} 0.5"

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/lr": (tinker("optim/lr"),),
    "policy/entropy_sampled": (tinker("optim/entropy", note=_SAMPLER),),
    "policy/kl_behaviour_k1": (tinker("optim/kl_sample_train_v1"),),
    "policy/kl_behaviour_k2": (tinker("optim/kl_sample_train_v2"),),
    "policy/kl_update_k1": (
        tinker("kl_pre_post_v1", same=False, note=f"measured after the step with the sampler; old ones are {_SAMPLER}"),
    ),
    "policy/kl_update_k2": (
        tinker("kl_pre_post_v2", same=False, note=f"measured after the step with the sampler; old ones are {_SAMPLER}"),
    ),
    "policy/kl_ref_k1": (tinker("kl_policy_base", note=f"to the base model, {_SAMPLER}"),),
    "reward": (tinker("env/all/reward/total", stat="mean", scope="generated"),),
    "reward_env/{env}": (tinker("env/{env}/reward/total", stat="mean", scope="generated"),),
    "turns": (tinker("env/all/turns_per_episode", stat="mean", scope="generated"),),
    "turns/total": (tinker("env/all/total_turns"),),
    "stop/{reason}": (
        tinker("env/all/stop/{reason}", same=False, note="a mean over the turns that have the key, not over samples"),
    ),
    "samples/generated": (tinker("env/all/total_episodes"),),
    "group/mixed": (tinker("env/all/by_group/frac_mixed"),),
    "group/all_pass": (tinker("env/all/by_group/frac_all_good", note=_HALF.format("at least")),),
    "group/all_fail": (tinker("env/all/by_group/frac_all_bad", note=_HALF.format("below")),),
    "length/completion": (
        tinker("env/all/ac_tokens_per_turn", stat="mean", same=False, note="tokens of a turn, not of a sample"),
    ),
    "length/prompt": (tinker("env/all/ob_tokens_per_turn", stat="mean", same=False, note="everything read at a turn"),),
    "sampling/model_version": (tinker("sampling_client/step_{mean,max,min}"),),
    "training/step": (tinker("progress/batch"), tinker("training_client/step")),
    "sample_time/generate": (
        tinker("time/sampling_time_{mean,max,min}", same=False, note="seconds of a whole group, rewards included"),
    ),
    "time/step": (tinker("time/total"),),
    "time/generate": (tinker("time/sampling"),),
    "time/evaluate": (tinker("time/run_evals"),),
    "time/prepare_batch": (tinker("time/assemble_training_data"),),
}
