"""The policy loss: PPO's clipped surrogate in each aggregation, and the total loss."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, rlinf, trinity, trl, verl
from rollscope.catalog.spec import derived, metric

from .aggregation import aggregate, is_ppo


@derived
def surrogate_M(ratio_M: Any, advantages_M: Any, clip_low: float, clip_high: float, clip_c: float | None = None) -> Any:
    """Minus the loss of each token: min(A r, A clip(r)), and at least -|A| clip_c.

    The second bound only takes effect for negative A.
    """
    gain = ops.minimum(advantages_M * ratio_M, advantages_M * ops.clip(ratio_M, 1.0 - clip_low, 1.0 + clip_high))
    if clip_c is None or not ops.beyond(ratio_M, clip_c):
        return gain
    return ops.maximum(gain, ops.absolute(advantages_M) * -clip_c)


@derived
def surrogate_rows_S(surrogate_M: Any, rows_M: Any) -> Any:
    """PPO's clipped loss, summed over each sample's tokens."""
    return -ops.row_sum(surrogate_M, rows_M)


_READ = (
    "Noisy around zero, because advantages are normalised. Neither its level nor its trend shows whether "
    "the policy improves. Look for jumps and NaN."
)
_CHECK = "reward/mean; policy/clip/region; advantage/max."
_FORMULA = (
    "max(-A r, -A clamp(r, 1 - clip_low, 1 + clip_high)), with clip_c also at most -A clip_c where A < 0 (dual clip)"
)


def _enter(word: str, meaning: str, how: str, names: Any = (), *, scaled: bool = False) -> None:
    def plain(
        surrogate_rows_S: Any, tokens_M_S: Any, ratio_level: str = "token", loss_mode: str = "vanilla"
    ) -> Mean | None:
        return aggregate(surrogate_rows_S, tokens_M_S, word) if is_ppo(ratio_level, loss_mode) else None

    def by_constant(
        surrogate_rows_S: Any,
        tokens_M_S: Any,
        loss_scale: float,
        ratio_level: str = "token",
        loss_mode: str = "vanilla",
    ) -> Mean | None:
        return aggregate(surrogate_rows_S, tokens_M_S, word, loss_scale) if is_ppo(ratio_level, loss_mode) else None

    loss = by_constant if scaled else plain
    loss.__annotations__["return"] = "Mean"
    loss.__doc__ = f"""{meaning}

    Definition: over tokens in the loss (mask), {_FORMULA}; {how}. Does not contain coefficients, KL
    and entropy terms. Not written when ratio_level or loss_mode selects another loss.

    Read: {_READ}

    Check: {_CHECK}
    """
    metric(f"policy/loss/{word}", unit="loss", good="context", example="0.013", names=names)(loss)


_VERL8 = (
    "in 0.8 it is summed over mini-batches and epochs (FSDP) or multiplied by dp_size (engine); "
    "seq-mean-token-sum-norm does not divide by the number of sequences"
)
_ACCUMULATION = "multiplied by 1/gradient accumulation"

_enter(
    "token_mean",
    "PPO's clipped loss, every token counting once.",
    "summed over tokens, divided by tokens",
    (
        verl(
            "actor/pg_loss",
            versions=">=0.9",
            note=(
                "depends on loss_agg_mode and loss_mode; equal under the defaults, otherwise see policy/loss/configured"
            ),
        ),
        verl("actor/pg_loss", versions="<0.9", same=False, note=_VERL8),
        openrlhf("policy_loss"),
        trl(
            "policy_loss",
            trainer="grpo",
            same=False,
            note="only with an entropy bonus; uses the configured loss_type; a mean of the ranks' means",
        ),
        trl(
            "loss/policy_avg",
            trainer="ppo",
            same=False,
            note="divided by num_mini_batches, because TRL averages over slots that it never fills",
        ),
        rlinf(
            "train/actor/policy_loss",
            note="a masked mean without a loss mask; with one, divided by each episode's share of valid steps",
        ),
        rlinf("actor/training/actor/policy_loss"),
        trinity("actor/pg_loss", same=False, note=_ACCUMULATION),
    ),
)
_enter(
    "seq_mean_token_mean",
    "PPO's clipped loss, every sequence counting once.",
    "averaged over each sequence's tokens, then over sequences with at least one token (GRPO)",
)
_enter(
    "seq_mean_token_sum",
    "PPO's clipped loss summed over a sequence, averaged over sequences.",
    "summed over each sequence's tokens, then averaged over sequences with at least one token",
)
_enter(
    "seq_mean_token_sum_norm",
    "PPO's clipped loss summed over a sequence and divided by a constant.",
    (
        "summed over each sequence's tokens, divided by loss_scale, averaged over sequences with at least "
        "one token (Dr. GRPO)"
    ),
    scaled=True,
)


@derived
def surrogate_size_rows_S(surrogate_M: Any, rows_M: Any) -> Any:
    return ops.row_sum(ops.absolute(surrogate_M), rows_M)


@metric(
    "policy/loss_abs",
    unit="loss",
    good="context",
    range=(0.0, None),
    example="0.95",
    names=(rlinf("train/actor/policy_loss_abs"), rlinf("actor/training/actor/policy_loss_abs")),
)
def loss_abs(surrogate_size_rows_S: Any, tokens_M_S: Any) -> Mean:
    """Mean absolute size of a token's loss.

    Definition: mean over tokens in the loss (mask) of the absolute value of PPO's clipped loss.

    Read: Shows how much signal there is. It is near 0 when advantages vanish.

    Check: advantage/std; group/zero_spread.
    """
    return Mean(float(surrogate_size_rows_S.sum()), float(tokens_M_S.sum()))


@metric(
    "policy/loss_total",
    unit="loss",
    good="context",
    example="0.02",
    names=(
        verl("actor/loss", note="engine workers only"),
        trl("loss", trainer="grpo,rloo,async_grpo,gmpo", note="averaged over the steps since the last log"),
        trl("loss/total", same=False, note="the published glossary's name; TRL's trainers log loss"),
        rlinf("train/actor/total_loss", same=False, note="after division by gradient accumulation"),
        rlinf(
            "train/loss",
            same=False,
            note="the guide's name for train/actor/total_loss, after division by gradient accumulation",
        ),
        rlinf("actor/training/actor/final_loss"),
        rlinf("train/actor/final_loss", note="agent runners; before the division by gradient accumulation"),
        trinity("actor/final_loss", same=False, note=_ACCUMULATION),
    ),
)
def loss_total(loss: float) -> Mean:
    """The number that the optimiser minimised: the policy loss with all regularisers.

    Definition: the trainer's own value, averaged over the parts of the step.

    Read: A policy-gradient loss does not need to fall while the policy improves. Look for a jump or
    NaN.

    Check: optimiser/grad_norm; policy/kl_update_k3; optimiser/lr, if all of them rise together.
    """
    return Mean(loss, 1.0)
