"""rLLM: what it logs beside veRL's names, which its veRL backend shares."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

rllm = partial(Name, "rllm")

NAMES: dict[str, tuple[Name, ...]] = {
    "group/all_fail": (rllm("batch/solve_none", note="tasks of which no try was correct"),),
    "group/all_pass": (rllm("batch/solve_all", note="tasks of which every try was correct"),),
    "group/mixed": (rllm("batch/solve_partial"),),
    "reward/passed": (rllm("episode/correct", scope="generated", note="the episode says so, not the reward"),),
    "turns": (rllm("episode/num_turns", stat="mean", scope="generated"),),
    "length/prompt": (
        rllm("episode/prompt_tokens", stat="mean", scope="generated", same=False, note="summed over all turns"),
    ),
    "length/completion": (rllm("episode/response_tokens", stat="mean", scope="generated"),),
    "stop/{reason}": (
        rllm("batch/termination_reason/{reason}"),
        rllm("episode/termination_reason/{reason}", scope="generated"),
    ),
    "discarded/groups/filtered": (rllm("groups/dropped_zero_adv"),),
    "discarded/groups/failed": (rllm("groups/dropped_min_trajs", same=False, note="groups with too few trajectories"),),
    "group/count": (rllm("groups/num_groups"),),
    "samples/generated": (rllm("groups/num_trajs_before_filter"),),
    "samples/trained": (rllm("groups/num_trajs_after_filter"),),
    "async/queue": (rllm("async/buffer_qsize", same=False, note="groups of one prompt, not samples"),),
    "policy/entropy_sampled": (rllm("train/entropy", note="from the log-probabilities of the engine"),),
    "policy/kl_sampler_k1": (rllm("offpolicy/kl"),),
    "policy/kl_sampler_k3": (rllm("offpolicy/k3_kl"),),
    "mismatch/logp_gap": (rllm("offpolicy/logprob_abs_diff/{mean,min,max}"),),
    "mismatch/probs_diff": (rllm("offpolicy/prob_abs_diff/{mean,min,max}"),),
    "mismatch/probs_pearson": (rllm("offpolicy/prob_pearson_corr"),),
    "mismatch/weight": (rllm("offpolicy/ratio/{mean,min,max}"),),
    "mismatch/ppl_trainer": (rllm("offpolicy/training_ppl"),),
    "mismatch/ppl_engine": (rllm("offpolicy/rollout_ppl"),),
    "mismatch/log_ppl_trainer": (rllm("offpolicy/training_log_ppl"),),
    "mismatch/log_ppl_engine": (rllm("offpolicy/rollout_log_ppl"),),
    "mismatch/log_ppl_diff_abs": (rllm("offpolicy/log_ppl_abs_diff"),),
    "mismatch/ppl_ratio": (rllm("offpolicy/ppl_ratio"),),
    "mismatch/chi2_token": (rllm("offpolicy/chi2_token"),),
    "mismatch/chi2_seq": (rllm("offpolicy/chi2_seq"),),
}
