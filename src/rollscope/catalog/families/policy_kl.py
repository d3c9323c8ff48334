"""How far apart two policies are, on the tokens that were sampled.

Four pairs (p wrote the tokens, q is compared with it), three estimators each. With x = log q - log p: k1 = -x, k2 = x² / 2, k3 = e^x - 1 - x.
The estimator is in the name, since the three disagree on every finite batch and only k3 and k2 cannot be negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rollscope.catalog.compute.inputs import asking, derived_on
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, Name, metric


@derived_on("A", "M")
def ref_x(logp: Any, ref_logp: Any) -> Any:
    return ref_logp - logp


@derived_on("A", "M")
def update_x(logp: Any, old_logp: Any) -> Any:
    return logp - old_logp


@derived_on("A", "M")
def sampler_x(old_logp: Any, rollout_logp: Any) -> Any:
    return old_logp - rollout_logp


@derived_on("A", "M")
def behaviour_x(logp: Any, rollout_logp: Any) -> Any:
    return logp - rollout_logp


@derived_on("A", "M")
def ref_e(ref_x: Any) -> Any:
    return ops.expm1(ref_x)


@derived_on("A", "M")
def update_e(update_x: Any) -> Any:
    """Importance ratio less one: exact where the ratio itself would round to 1."""
    return ops.expm1(update_x)


@derived_on("A", "M")
def sampler_e(sampler_x: Any) -> Any:
    return ops.expm1(sampler_x)


@derived_on("A", "M")
def behaviour_e(behaviour_x: Any) -> Any:
    return ops.expm1(behaviour_x)


def k1(x: Any) -> Mean:
    return Mean(-ops.total(x), float(ops.size(x)))


def k2(x: Any) -> Mean:
    return Mean(ops.dot(x, x) / 2, float(ops.size(x)))


def k3(x: Any, e: Any) -> Mean:
    return Mean(ops.total(e) - ops.total(x), float(ops.size(x)))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two policies: what they are called, how their distance reads, and who else logs it."""

    word: str
    p: str
    q: str
    meaning: str
    read: str
    check: str
    good: Any = "context"
    k1_names: tuple[Name, ...] = ()
    k2_names: tuple[Name, ...] = ()
    k3_names: tuple[Name, ...] = ()
    k1_alarms: tuple[Alarm, ...] = ()
    k2_alarms: tuple[Alarm, ...] = ()
    k3_alarms: tuple[Alarm, ...] = field(default=())


_TRL_RLOO = "RLOO's kl compares the policy that sampled (old_logp) with the reference; ours compares the current one"
_OPENRLHF_KL = (
    "clamped to ±10 and, without use_kl_loss, a mean over samples of token means, of the estimator in kl_estimator"
)
_VERL_LOSS = "the estimator of kl_loss_type (k3 by default, clamped: see policy/kl_loss) under loss_agg_mode"
_VERL_OLD = "summed over mini-batches and epochs in the FSDP worker, and 0.0 where the KL loss is off"
_RLINF_ORDER = "FSDP passes (ref, current) and Megatron (current, ref) to the same penalty, so sign and value depend on the backend"

PAIRS = (
    Pair(
        "ref",
        "the current policy",
        "the reference model",
        "Distance of the current policy from the reference model",
        "grows as training moves away from where it began. Growth with rising reward is the price paid; growth without reward means the run has had its course, "
        "and growth with falling reward that it should stop",
        "reward/mean beside it; policy/kl_coef; optimiser/lr; at step 0 it must be 0, or the reference is not the model training began with",
        k1_names=(
            openrlhf("logprobs_diff"),
            openrlhf("kl", same=False, note=_OPENRLHF_KL),
            trl("kl", trainer="rloo", same=False, note=_TRL_RLOO),
            rlinf("train/actor/kl_loss", same=False, note=_RLINF_ORDER),
            rlinf("actor/training/actor/kl_loss", same=False, note=_RLINF_ORDER),
            trinity(
                "critic/kl", same=False, note="the KL that entered the reward, a mean over sequences of token means"
            ),
            trinity(
                "actor/kl_loss",
                same=False,
                note="divided by gradient accumulation; the estimator is kl_fn of the configuration",
            ),
        ),
        k2_names=(
            telescope(
                "kl_penalty",
                same=False,
                note="x² without the half, or k3 with the log-ratio clamped to ±20 and the result to 10, by kl_penalty_type",
            ),
        ),
        k3_names=(
            trl(
                "kl",
                trainer="grpo",
                note="with use_bias_correction_kl, the default from 1.16, each token is multiplied by its ratio: policy/kl_ref_k3_weighted",
            ),
            trl("kl", trainer="gmpo"),
            verl("actor/kl_loss", versions=">=0.9", note=_VERL_LOSS),
            verl("actor/kl_loss", versions="<0.9", same=False, note=_VERL_OLD),
        ),
        k3_alarms=(
            Alarm(
                "above times opening",
                50.0,
                "watch",
                "TRL PR 6550: log-ratios near 20 overflow k3",
                says="far from the reference",
            ),
        ),
    ),
    Pair(
        "update",
        "the policy before the update",
        "the current policy",
        "How far this step's update moved the policy",
        "small and steady. Exactly 0 on the first optimiser step on fresh samples. A jump means too large a step",
        "policy/clip/region and policy/ratio/max; optimiser/grad_norm; optimiser/lr; how many updates reuse one batch",
        good="near zero",
        k1_names=(
            openrlhf("ppo_kl"),
            rlinf(
                "train/actor/approx_kl",
                note="with a loss mask and token-level log-probabilities the sum is divided by too small a count, up to 35 times too large",
            ),
            rlinf("actor/training/actor/approx_kl"),
            rlinf("train/actor/proximal_approx_kl"),
            verl(
                "actor/ppo_kl",
                note="most losses clamp the log-ratio to ±20 (policy/kl_update_configured); gspo, geo_mean and clip_cov do not; kl_cov logs the mean absolute value",
            ),
            trinity("actor/ppo_kl", note="the log-ratio is clamped to ±20"),
            verl(
                "actor/approx_kl",
                same=False,
                note="no such key in veRL; glossaries mean actor/ppo_kl, a k1 estimate that may be negative",
            ),
            trinity(
                "actor/approx_kl",
                trainer="importance_sampling",
                same=False,
                note="the estimator is not stated in the version read",
            ),
        ),
        k2_names=(
            trl(
                "policy/approx_kl",
                same=False,
                note="the published glossary's word for policy/approxkl_avg, which it takes for an entropy",
            ),
            trl(
                "policy/approxkl_avg",
                trainer="ppo",
                same=False,
                note="k2 over all positions, padding counted as 0, and divided by num_mini_batches through slots never written",
            ),
        ),
        k1_alarms=(
            Alarm(
                "above",
                0.015,
                "watch",
                "Spinning Up ppo.py: stop an epoch above 1.5 x target_kl 0.01; Stable-Baselines3 uses the same factor",
                says="the step is too large",
            ),
        ),
        k3_alarms=(
            Alarm(
                "above",
                0.1,
                "bad",
                "ten times the target of Spinning Up's early stop",
                says="the policy moves too fast",
            ),
        ),
    ),
    Pair(
        "sampler",
        "the engine that sampled",
        "the trainer's policy before the update",
        "Mismatch between the inference engine and the trainer on the same weights",
        "should be rounding noise, near 1e-3 in k3 for bf16. Growth over steps means precision, a weight sync that is off, or sampling settings that differ",
        "temperature, top-p and top-k on both sides; weight synchronisation; precision of the engine; mismatch/probs_diff/mean",
        good="near zero",
        k1_names=(
            verl("rollout_corr/kl"),
            openrlhf("vllm_kl"),
            rlinf("train/actor/behav_approx_kl"),
            trinity("rollout_corr/kl"),
        ),
        k3_names=(verl("rollout_corr/k3_kl"), trinity("rollout_corr/k3_kl")),
        k1_alarms=(
            Alarm(
                "outside",
                (-0.1, 0.1),
                "bad",
                "veRL docs/algo/rollout_corr.md: |kl| > 0.1",
                says="engine and trainer disagree",
            ),
            Alarm(
                "outside",
                (-0.01, 0.01),
                "watch",
                "Tinker ops.md: below 0.01 is healthy",
                says="engine and trainer drift apart",
            ),
        ),
        k3_alarms=(
            Alarm(
                "above",
                1e-3,
                "watch",
                "NeMo-RL docs/guides/grpo.md: below 1e-3 is acceptable",
                says="engine and trainer drift apart",
            ),
        ),
    ),
    Pair(
        "behaviour",
        "the engine that sampled",
        "the current policy",
        "How off-policy training is: engine mismatch, staleness and this update together",
        "kl_sampler plus kl_update in the first order. Grows with staleness and with reuse of a batch",
        "staleness/mean; policy/kl_sampler_k3 to tell mismatch from staleness; mismatch/weight_effective",
        good="near zero",
        k3_names=(
            telescope(
                "kl_divergence_inference",
                note="one data-parallel rank only, and 0 when the engine gave no log-probabilities",
            ),
            trl(
                "kl",
                trainer="async_grpo",
                same=False,
                note="k3 between the current and the sampling policy under the key GRPO uses for the reference; its direction is not stated",
            ),
        ),
    ),
)

_FORMULA = {
    "k1": ("-x", "may be negative on a finite batch; the mean of many batches is the KL", (None, None)),
    "k2": ("x² / 2", "never negative; close to the KL while the two are close", (0.0, None)),
    "k3": (
        "e^x - 1 - x",
        "never negative and low in variance while the two are close; one token of large x can dominate it",
        (0.0, None),
    ),
}
_SOURCE = {
    "ref": "ref_logp - logp",
    "update": "logp - old_logp",
    "sampler": "old_logp - rollout_logp",
    "behaviour": "logp - rollout_logp",
}


def _enter(pair: Pair, estimator: str) -> None:
    formula, habit, span = _FORMULA[estimator]
    reduce: Callable[..., Mean] = {"k1": k1, "k2": k2, "k3": k3}[estimator]  # type: ignore[assignment]
    parameters = [f"{pair.word}_x_A", f"{pair.word}_e_A"][: 2 if estimator == "k3" else 1]
    entry = asking(reduce, *parameters)
    entry.__doc__ = (
        f"{pair.meaning}, {estimator} estimate.\n\n"
        f"Definition: mean over the tokens the policy sampled (action_mask) of {formula} with x = {_SOURCE[pair.word]}: KL({pair.p} || {pair.q}) "
        f"on tokens drawn from {pair.p}. Natural logarithm, nothing clamped; {habit}.\n\nRead: {pair.read}.\n\nCheck: {pair.check}."
    )
    metric(
        f"policy/kl_{pair.word}_{estimator}",
        unit="nats/token",
        good=pair.good,
        range=span,
        example={
            "k1": "x = -0.02 on every token: 0.02",
            "k2": "x = -0.02 on every token: 0.0002",
            "k3": "x = -0.02 on every token: 0.000199",
        }[estimator],
        names=getattr(pair, f"{estimator}_names"),
        alarms=getattr(pair, f"{estimator}_alarms"),
    )(entry)


for _pair in PAIRS:
    for _estimator in _FORMULA:
        _enter(_pair, _estimator)
