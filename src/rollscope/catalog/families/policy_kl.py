"""Distances between two policies, estimated on the tokens that were sampled.

There are four pairs (p wrote the tokens, q is compared with it) with three estimators each. With
x = log q - log p: k1 = -x, k2 = x² / 2, k3 = e^x - 1 - x. The estimator is in the name, because the
three differ on every finite batch and only k2 and k3 cannot be negative.
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

_FAR = (
    Alarm("above", 0.5, "watch", "rldoctor, detectors.md: 0.5 nats a token", says="far from the reference"),
    Alarm("above", 2.0, "bad", "rldoctor, detectors.md: 2 nats a token", says="nothing of the reference is left"),
)


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
    """Importance ratio minus one. Exact even if the ratio itself would round to 1."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two policies, the texts of their distance, and the frameworks that log it."""

    word: str  # in the name of the entry
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


_TRL_RLOO = "compares the policy that sampled (old_logp) with the reference; ours compares the current policy"
_OPENRLHF_KL = (
    "clamped to ±10; uses the estimator in kl_estimator; without use_kl_loss, a mean over samples of token means"
)
_VERL_LOSS = "uses the estimator in kl_loss_type (by default k3, clamped: see policy/kl_loss) and loss_agg_mode"
_VERL_OLD = "summed over mini-batches and epochs in the FSDP worker; 0.0 if the KL loss is off"
_RLINF_ORDER = (
    "FSDP passes (ref, current) to the penalty and Megatron passes (current, ref), so sign and value depend on "
    "the backend"
)

PAIRS = (
    Pair(
        word="ref",
        p="the current policy",
        q="the reference model",
        meaning="Distance of the current policy from the reference model",
        read=(
            "Grows as training moves away from its starting point. With rising reward, that is the price paid. "
            "Without rising reward, the run has reached its end. With falling reward, stop the run"
        ),
        check=(
            "reward/mean; policy/kl_coef; optimiser/lr; the value at step 0, which must be 0, or the reference is "
            "not the model that training began with"
        ),
        k1_names=(
            openrlhf("logprobs_diff"),
            openrlhf("kl", same=False, note=_OPENRLHF_KL),
            trl("kl", trainer="rloo", same=False, note=_TRL_RLOO),
            rlinf("train/actor/kl_loss", same=False, note=_RLINF_ORDER),
            rlinf("actor/training/actor/kl_loss", same=False, note=_RLINF_ORDER),
            trinity("critic/kl", same=False, note="the KL in the reward, a mean over sequences of token means"),
            trinity(
                "actor/kl_loss",
                same=False,
                note="divided by gradient accumulation; the configuration's kl_fn selects the estimator",
            ),
        ),
        k2_names=(
            telescope(
                "kl_penalty",
                same=False,
                note=(
                    "depends on kl_penalty_type: x² without the half, or k3 with the log-ratio clamped to "
                    "±20 and the result to 10"
                ),
            ),
        ),
        k3_names=(
            trl(
                "kl",
                trainer="grpo",
                note=(
                    "with use_bias_correction_kl, the default from 1.16 on, each token is multiplied by "
                    "its ratio: policy/kl_ref_k3_weighted"
                ),
            ),
            trl("kl", trainer="gmpo"),
            verl("actor/kl_loss", versions=">=0.9", note=_VERL_LOSS),
            verl("actor/kl_loss", versions="<0.9", same=False, note=_VERL_OLD),
        ),
        k1_alarms=_FAR,
        k3_alarms=_FAR,
    ),
    Pair(
        word="update",
        p="the policy before the update",
        q="the current policy",
        meaning="How far this step's update moved the policy",
        read=(
            "Should be small and steady. Exactly 0 on the first optimiser step on fresh samples. A jump means that "
            "the step is too large"
        ),
        check=(
            "policy/clip/region and policy/ratio/max; optimiser/grad_norm; optimiser/lr; how many "
            "updates reuse one batch"
        ),
        good="near zero",
        k1_names=(
            openrlhf("ppo_kl"),
            rlinf(
                "train/actor/approx_kl",
                note=(
                    "with a loss mask and token-level log-probabilities, the divisor is too small, so the "
                    "value is up to 35 times too large"
                ),
            ),
            rlinf("actor/training/actor/approx_kl"),
            rlinf("train/actor/proximal_approx_kl"),
            verl(
                "actor/ppo_kl",
                note=(
                    "most losses clamp the log-ratio to ±20 (policy/kl_update_configured); gspo, geo_mean "
                    "and clip_cov do not; kl_cov logs the mean absolute value"
                ),
            ),
            trinity("actor/ppo_kl", note="the log-ratio is clamped to ±20"),
            verl(
                "actor/approx_kl",
                same=False,
                note="veRL has no such key; glossaries mean actor/ppo_kl, a k1 estimate that may be negative",
            ),
            trinity(
                "actor/approx_kl",
                trainer="importance_sampling",
                same=False,
                note="the version we read does not state the estimator",
            ),
        ),
        k2_names=(
            trl(
                "policy/approx_kl",
                same=False,
                note="the published glossary's name for policy/approxkl_avg, which it describes as an entropy",
            ),
            trl(
                "policy/approxkl_avg",
                trainer="ppo",
                same=False,
                note=(
                    "k2 over all positions, with padding counted as 0, and divided by num_mini_batches, "
                    "because TRL averages over slots that it never fills"
                ),
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
        word="sampler",
        p="the engine that sampled",
        q="the trainer's policy before the update",
        meaning="Mismatch between the inference engine and the trainer on the same weights",
        read=(
            "Should be rounding noise, near 1e-3 in k3 for bf16. Growth over steps means a precision problem, a "
            "broken weight sync, or different sampling settings"
        ),
        check=(
            "temperature, top-p and top-k on both sides; weight synchronisation; precision of the engine; "
            "mismatch/probs_diff/mean"
        ),
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
        word="behaviour",
        p="the engine that sampled",
        q="the current policy",
        meaning="How off-policy training is: engine mismatch, staleness and this update together",
        read="To first order, kl_sampler plus kl_update. Grows with staleness and with reuse of a batch",
        check="staleness/mean; policy/kl_sampler_k3, to tell mismatch from staleness; mismatch/weight_effective",
        good="near zero",
        k3_names=(
            telescope(
                "kl_divergence_inference",
                note="one data-parallel rank only; 0 if the engine returned no log-probabilities",
            ),
            trl(
                "kl",
                trainer="async_grpo",
                same=False,
                note=(
                    "k3 between the current and the sampling policy, under the key that GRPO uses for the "
                    "reference; its direction is not stated"
                ),
            ),
        ),
    ),
)

_FORMULA = {
    "k1": ("-x", "May be negative on a finite batch; the mean of many batches is the KL", (None, None)),
    "k2": ("x² / 2", "Never negative; close to the KL while the two policies are close", (0.0, None)),
    "k3": (
        "e^x - 1 - x",
        "Never negative and low in variance while the two policies are close; one token with a large x can dominate it",
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
    """Enter one estimate of one pair's distance."""
    formula, habit, span = _FORMULA[estimator]
    reduce: Callable[..., Mean] = {"k1": k1, "k2": k2, "k3": k3}[estimator]  # type: ignore[assignment]
    parameters = [f"{pair.word}_x_A", f"{pair.word}_e_A"][: 2 if estimator == "k3" else 1]
    entry = asking(reduce, *parameters)
    entry.__doc__ = f"""{pair.meaning}, {estimator} estimate.

    Definition: mean over the tokens the policy sampled (action_mask) of {formula} with
    x = {_SOURCE[pair.word]}: KL({pair.p} || {pair.q}) on tokens drawn from {pair.p}. Natural
    logarithm, not clamped. {habit}.

    Read: {pair.read}.

    Check: {pair.check}.
    """
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
