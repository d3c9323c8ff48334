"""Losses that replace PPO's clip, selected by the batch's `loss_mode`: value and clip fraction.

The formulas are those of veRL 0.9, and the entries are written under its keys. clip_cov and kl_cov
are left out: they pick tokens at random or by rank over the whole batch, so their value cannot be
summed over parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import reported, trinity, trl, verl
from rollscope.catalog.spec import derived, metric

from .aggregation import aggregate


@dataclass(frozen=True, slots=True)
class Update:
    """Inputs of a loss: log-probabilities, log-ratio x, advantage a, their rows, and bounds."""

    logp: Any
    x: Any
    a: Any
    rows: Any
    low: float
    high: float
    c: float

    @property
    def ratio(self) -> Any:
        return ops.exp(ops.clip(self.x, -20.0, 20.0))


def _gpg(u: Update) -> Any:
    return -u.a * u.logp


def _sapo(u: Update) -> Any:
    slope = ops.where(u.a > 0, u.a * 0 + 1.0, u.a * 0 + 1.05)  # the defaults of tau_pos and tau_neg
    return -u.a * (4 / slope) / (1 + ops.exp(-slope * (u.ratio - 1)))


def _cispo(u: Update) -> Any:
    return -u.a * ops.clip(u.ratio, 1 - u.low, 1 + u.high) * u.logp


def _gspo(u: Update) -> Any:
    ratio = ops.spread(ops.exp(ops.minimum(ops.row_mean(u.x, u.rows), 10.0)), u.rows)
    return ops.maximum(-u.a * ratio, -u.a * ops.clip(ratio, 1 - u.low, 1 + u.high))


def _dppo_tv(u: Update) -> Any:
    return -u.a * ops.minimum(u.ratio, u.c) * u.logp * trusted_tv(u)


def _dppo_kl(u: Update) -> Any:
    return -u.a * ops.minimum(u.ratio, u.c) * u.logp * trusted_kl(u)


def trusted_tv(u: Update) -> Any:
    gap = ops.exp(u.logp) - ops.exp(u.logp - u.x)
    return ops.where(u.a > 0, gap <= u.high, gap >= -u.low)


def trusted_kl(u: Update) -> Any:
    p, old = ops.exp(u.logp), ops.exp(u.logp - u.x)
    kl = -old * u.x + (1 - old) * ops.log((1 - old) / (1 - p))
    return ops.where(u.a > 0, (kl <= u.high) | (p <= old), (kl <= u.low) | (p >= old))


LOSSES: dict[str, Callable[[Update], Any]] = {
    "gpg": _gpg,
    "sapo": _sapo,
    "cispo": _cispo,
    "gspo": _gspo,
    "dppo_tv": _dppo_tv,
    "dppo_kl": _dppo_kl,
}


@derived
def variant_rows_S(
    logp_M: Any,
    update_x_M: Any,
    advantages_M: Any,
    rows_M: Any,
    loss_mode: str,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    clip_c: float = 3.0,
) -> Any:
    """Sum over each sample of a loss that replaces PPO's; None for an unknown loss."""
    u = Update(logp_M, update_x_M, advantages_M, rows_M, clip_low, clip_high, clip_c)
    if loss_mode == "geo_mean":
        clipped_x = ops.sign(u.a) * ops.minimum(ops.sign(u.a) * u.x, ops.sign(u.a) * ops.clip(u.x, -u.low, u.high))
        return -ops.row_mean(u.a, u.rows) * ops.exp(ops.row_mean(clipped_x, u.rows)) * u.rows.counts
    return ops.row_sum(LOSSES[loss_mode](u), rows_M) if loss_mode in LOSSES else None


@metric(
    "policy/loss/configured",
    unit="loss",
    good="context",
    example="0.013",
    names=(verl("actor/pg_loss", versions=">=0.9", override=True),),
)
def loss_configured(
    tokens_M_S: Any,
    surrogate_rows_S: Any = None,
    variant_rows_S: Any = None,
    loss_mode: str = "vanilla",
    loss_agg: str = "token-mean",
    loss_scale: float | None = None,
    ratio_level: str = "token",
) -> Mean | None:
    """The policy loss as the trainer is configured: loss_mode gives the formula, loss_agg the
    aggregation.

    Definition: over tokens in the loss (mask). loss_mode vanilla (the default): PPO's clipped
    surrogate with dual clip; gspo: the same with the sequence's ratio; cispo: -A clamp(r) logp;
    gpg: -A logp; sapo: -A times a sigmoid gate of r; dppo_tv and dppo_kl: -A min(r, clip_c) logp
    inside their trust region; geo_mean: -A times the geometric mean of the clipped ratios, per
    sequence, with 0 for a sequence without tokens. loss_agg: token-mean (the default),
    seq-mean-token-mean, seq-mean-token-sum, or seq-mean-token-sum-norm with loss_scale; sapo and
    geo_mean always average over sequences. Other modes are not written: clip_cov and kl_cov choose
    tokens at random or by rank.

    Read: Noisy around zero. Look for jumps and NaN.

    Check: policy/loss/token_mean; reward/mean.
    """
    if loss_mode == "geo_mean" and variant_rows_S is not None:
        some = tokens_M_S > 0
        return Mean(float((variant_rows_S[some] / tokens_M_S[some]).sum()), float(len(tokens_M_S)))
    sums = variant_rows_S if loss_mode != "vanilla" else surrogate_rows_S if ratio_level == "token" else None
    if sums is None:
        return None
    return aggregate(sums, tokens_M_S, "seq-mean-token-mean" if loss_mode == "sapo" else loss_agg, loss_scale)


@derived
def variant_clipped_rows_S(
    logp_M: Any,
    update_x_M: Any,
    advantages_M: Any,
    rows_M: Any,
    loss_mode: str,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    clip_c: float = 3.0,
) -> Any:
    """Two columns of token counts: what the loss calls clipped, and clipped from below."""
    u = Update(logp_M, update_x_M, advantages_M, rows_M, clip_low, clip_high, clip_c)
    columns = _clipped(u, loss_mode)
    return None if columns is None else ops.stack([ops.row_sum(column, rows_M) for column in columns])


def _clipped(u: Update, mode: str) -> tuple[Any, Any] | None:
    none = u.x != u.x
    if mode == "cispo":
        return ops.clip(u.ratio, 1 - u.low, 1 + u.high) != u.ratio, none
    if mode == "gspo":
        ratio = ops.spread(ops.exp(ops.row_mean(u.x, u.rows)), u.rows)
        return ((ratio < 1 - u.low) & (u.a < 0)) | ((ratio > 1 + u.high) & (u.a > 0)), none
    if mode == "geo_mean":
        moved = ops.clip(u.x, -u.low, u.high) != u.x
        return moved & (u.a > 0), moved & (u.a < 0)
    if mode in ("dppo_tv", "dppo_kl"):
        trusted = trusted_tv(u) if mode == "dppo_tv" else trusted_kl(u)
        return ~trusted, (u.ratio > u.c) & trusted
    return (none, none) if mode == "sapo" else None


@metric(
    "policy/clip/configured",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.11",
    names=(verl("actor/pg_clipfrac", override=True),),
)
def clip_configured(variant_clipped_rows_S: Any, tokens_M_S: Any) -> Mean:
    """Clip fraction of a loss other than PPO's, as that loss counts it.

    Definition: depends on loss_mode: gspo counts tokens whose sequence is held back; cispo counts
    tokens outside the range, whatever their advantage; geo_mean counts tokens with a positive
    advantage whose log-ratio is clipped; dppo counts tokens outside the trust region; sapo counts
    none. Divided by tokens in the loss (mask).

    Read: Comparable only within one loss. For the share that PPO would hold back, see
    policy/ratio/outside.

    Check: policy/ratio/outside; policy/seq_clip/region.
    """
    return Mean(float(variant_clipped_rows_S[:, 0].sum()), float(tokens_M_S.sum()))


@metric(
    "policy/clip/configured_lower",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.03",
    names=(verl("actor/pg_clipfrac_lower", override=True),),
)
def clip_configured_lower(variant_clipped_rows_S: Any, tokens_M_S: Any) -> Mean:
    """Lower clip fraction of a loss other than PPO's, as that loss counts it.

    Definition: depends on loss_mode: geo_mean counts tokens in the loss (mask) with a negative
    advantage whose log-ratio is clipped; dppo counts tokens whose ratio exceeds clip_c inside the
    trust region; gspo, cispo and sapo log 0. Divided by tokens in the loss.

    Read: Comparable only within one loss. For PPO's dual clip, see policy/clip/dual.

    Check: policy/clip/dual.
    """
    return Mean(float(variant_clipped_rows_S[:, 1].sum()), float(tokens_M_S.sum()))


_ACCUMULATION = "multiplied by 1/gradient accumulation before it is logged"

for _name, _key, _what in (
    ("cispo", "actor/cispo_loss", "CISPO: the clipped ratio, without gradient, times advantage times log-probability"),
    ("sapo", "actor/sapo_loss", "SAPO: advantage times a soft gate of the ratio"),
    ("topr", "actor/topr_loss", "TOPR: negative samples weighted by a truncated ratio"),
    ("opmd", "actor/opmd_loss", "OPMD: online policy mirror descent"),
):
    reported(
        f"policy/loss_{_name}",
        meaning=f"Loss of {_name.upper()} in Trinity-RFT.",
        definition=f"{_what}, over tokens in the loss as the trainer aggregates them, {_ACCUMULATION}.",
        read="Noisy around zero. Look for jumps and NaN.",
        check="reward/mean; policy/kl_update_k1",
        unit="loss",
        good="context",
        example="0.01",
        names=(trinity(_key),),
    )


def trinity_loss(name: str, *, trainer: str, key: str, meaning: str, **texts: Any) -> None:
    """Enter a number that one of Trinity-RFT's losses reports about its tokens."""
    what = meaning[0].lower() + meaning[1:].rstrip(".")
    reported(
        name,
        meaning=meaning,
        definition=(
            f"{what} over tokens in the loss, as Trinity-RFT's {trainer} loss reports it, averaged over micro-batches."
        ),
        check="policy/ratio/mean; staleness/mean",
        example="0.5",
        names=(trinity(key, trainer=trainer),),
        **texts,
    )


trinity_loss(
    "policy/unclipped_share",
    meaning="Share of tokens whose weight CISPO does not change.",
    read="1 minus the share that it cuts.",
    unit="share",
    good="up",
    trainer="cispo",
    key="actor/unmasked_frac",
)
trinity_loss(
    "policy/soft_gate",
    meaning="Mean of SAPO's gate.",
    read="1 on the first step, smaller where ratios drift.",
    unit="1",
    good="context",
    trainer="sapo",
    key="actor/avg_soft_gate",
)
trinity_loss(
    "policy/positive_advantage_share",
    meaning="Share of tokens with a positive advantage.",
    read="Near one half when advantages are normalised.",
    unit="share",
    good="context",
    trainer="sapo",
    key="actor/pos_adv_frac",
)
trinity_loss(
    "policy/topr_alpha",
    meaning="Mean truncated weight of TOPR.",
    read="1 for positive samples. It falls as negative samples drift.",
    unit="1",
    good="context",
    trainer="topr",
    key="actor/avg_alpha",
)
trinity_loss(
    "policy/seq_mask_tokens",
    meaning="Tokens dropped because their whole sequence drifted.",
    read="0 while samples are fresh.",
    unit="1",
    good="down",
    trainer="ppo",
    key="actor/seq_mask/masked_tokens",
)
trinity_loss(
    "policy/seq_mask_kl",
    meaning="Mean divergence of the sequences that the mask examines.",
    read="Grows with staleness.",
    unit="1",
    good="near zero",
    trainer="ppo",
    key="actor/seq_mask/mean_sequence_kl",
)
reported(
    "policy/vespo_phi",
    meaning="Mean sequence weight of VESPO.",
    definition=(
        "mean over sequences of the weight phi that VESPO gives to each sequence, as TRL's GRPO "
        "trainer reports it for loss_type vespo."
    ),
    read="1 on the first step. It falls as the policy moves away from the policy that sampled.",
    check="policy/seq_ratio/mean; staleness/mean",
    unit="1",
    good="context",
    example="0.98",
    names=(trl("vespo/phi_seq_mean", trainer="grpo"),),
)
