"""AReaL: what its statistics tracker exports, for PPO and its kin, SFT and reward models."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

areal = partial(Name, "areal")
_FLIPPED = "the new log-probability minus the proximal one, so the sign is the other way round"

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (areal("ppo_actor/update/grad_norm"),),
    "optimiser/lr": (areal("ppo_actor/update/lr"),),
    "optimiser/update_success": (areal("ppo_actor/update/update_successful"),),
    "policy/loss/token_mean": (areal("ppo_actor/update/actor_loss/avg"),),
    "policy/entropy": (areal("ppo_actor/update/entropy/avg"),),
    "policy/logp": (areal("ppo_actor/update/new_logp/avg", stat="mean"),),
    "policy/kl_update_k1": (areal("ppo_actor/update/approx_kl/avg", scale=-1.0, note=_FLIPPED),),
    "policy/ratio": (areal("ppo_actor/update/importance_weight/{avg=mean,max,min}"),),
    "policy/clip/region": (areal("ppo_actor/update/clip_ratio/avg"),),
    "policy/clip/dual": (areal("ppo_actor/update/dual_clip_ratio/avg"),),
    "policy/soft_gate": (areal("ppo_actor/update/sapo_soft_gate/avg"),),
    "policy/kl_sampler_k1": (
        areal(
            "ppo_actor/update/behave_approx_kl/avg",
            scale=-1.0,
            same=False,
            note="the other sign, and only over the tokens that rejection keeps",
        ),
    ),
    "mismatch/weight": (
        areal(
            "ppo_actor/update/behave_imp_weight/{avg=mean,max,min}",
            same=False,
            note="after truncation or rejection, over the tokens that are kept",
        ),
    ),
    "mismatch/rejected_tokens": (areal("ppo_actor/update/rs_filtered_fraction"),),
    "distillation/loss": (areal("ppo_actor/update/rkl_loss/avg", stat="mean"),),
    "critic/loss": (areal("ppo_critic/critic_loss/avg"),),
    "critic/predictions": (areal("ppo_critic/new_value/{avg=mean,max,min}"),),
    "critic/values": (areal("ppo_critic/old_value/{avg=mean,max,min}"),),
    "critic/returns": (areal("ppo_critic/target_value/{avg=mean,max,min}"),),
    "critic/clip": (areal("ppo_critic/clip_ratio/avg"),),
    "critic/grad_norm": (areal("ppo_critic/grad_norm"),),
    "critic/lr": (areal("ppo_critic/lr"),),
    "reward": (
        areal("ppo_actor/task_reward/{avg=mean,max,min}"),
        areal("ppo_actor/final_reward/{avg=mean,max,min}", same=False, note="a reward per token, KL included"),
        areal("rollout/reward", stat="mean", scope="generated"),
    ),
    "advantage": (areal("ppo_actor/advantages/{avg=mean,max,min}"),),
    "reward/kl_penalty": (areal("ppo_actor/kl_rewards/avg", same=False, note="per token, not per sequence"),),
    "length/total": (areal("ppo_actor/seq_len/{avg=mean,max,min}"),),
    "length/prompt": (
        areal("ppo_actor/prompt_len/{avg=mean,max,min}", same=False, note="every token outside the loss counts"),
    ),
    "length/total_at_limit": (
        areal("ppo_actor/no_eos_ratios/avg", same=False, note="samples as long as the padded batch, not as the limit"),
    ),
    "samples/trained": (areal("ppo_actor/n_seqs"),),
    "batch/trained_tokens": (areal("ppo_actor/n_valid_tokens"),),
    "perf/tokens": (areal("ppo_actor/n_tokens"),),
    "sft/loss": (areal("sft/loss/avg"),),
    "time/rollout": (areal("timeperf/rollout", note="waiting for samples, when generation is asynchronous"),),
    "time/update_policy": (areal("timeperf/train_step"),),
    "time/update_critic": (areal("timeperf/critic_train_step"),),
    "time/values": (areal("timeperf/critic_values"),),
    "time/ref_logp": (areal("timeperf/ref_logp"),),
    "time/recompute_logp": (areal("timeperf/recompute_logp"),),
    "time/advantage": (areal("timeperf/compute_advantage"),),
    "time/sync_weights": (areal("timeperf/update_weights"),),
    "time/save_checkpoint": (areal("timeperf/save"),),
    "time/evaluate": (areal("timeperf/eval"),),
    "time/{operation}": (areal("timeperf/{operation}"),),
}
