"""Mixture of experts: is the work spread over the experts, layer by layer? From routed experts of the rollout, or from counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.experts import (
    Overload,
    OverloadMean,
    Underload,
    UnderloadMean,
    Unevenness,
    UnevennessMean,
    count,
)
from rollscope.catalog.partials.partial import Sum
from rollscope.catalog.reported import reported, verl
from rollscope.catalog.spec import derived, metric

key("routed_experts", "object", "expert numbers of each token after the prompt, [B, T, layers, k]")
key("routed_mask", "object", "[B, T], 1 where a token's experts count; the tokens the policy sampled")
key("num_experts", "step", "experts of a layer")
key("expert_counts", "object", "assignments [layers, experts], where they are already counted")


@derived
def expert_loads(
    expert_counts: Any = None, routed_experts: Any = None, routed_mask: Any = None, num_experts: Any = None
) -> Any:
    if expert_counts is not None:
        return np.asarray(expert_counts, np.float64)
    if routed_experts is None or routed_mask is None or not num_experts:
        return None
    return count(routed_experts, routed_mask, int(num_experts))


def _layers(partial: Any, counts: Any) -> dict[str, Any]:
    return {str(layer): partial.of(row) for layer, row in enumerate(counts)}


@metric(
    "moe/violation_max/{layer}",
    unit="share of equal load",
    good="down",
    range=(-1.0, None),
    example="an expert with 4/9 of the work among 3: 0.333",
    names=[verl("rollout/moe/max_vio/layer_{layer}", versions=">=0.9")],
)
def max_layer(expert_loads: Any) -> dict[str, Overload]:
    """How far a layer's busiest expert is above its equal share.

    Definition: max over experts of load share * experts - 1, in one layer. Counted are routed tokens the policy sampled, without each sequence's last, which was never fed back.

    Read: 0 is balance, 1 is twice the share. Experts in parallel wait for this one.

    Check: the router's auxiliary loss; drift against the base model; moe/violation_max over layers.
    """
    return _layers(Overload, expert_loads)


@metric(
    "moe/violation_min/{layer}",
    unit="share of equal load",
    good="up",
    range=(-1.0, 0.0),
    example="-0.222",
    names=[verl("rollout/moe/min_vio/layer_{layer}", versions=">=0.9")],
)
def min_layer(expert_loads: Any) -> dict[str, Underload]:
    """How far a layer's idlest expert is below its equal share.

    Definition: min over experts of load share * experts - 1, in one layer.

    Read: -1 is an expert that gets nothing and learns nothing.

    Check: dead experts; the router's auxiliary loss.
    """
    return _layers(Underload, expert_loads)


@metric(
    "moe/violation_mean/{layer}",
    unit="share of equal load",
    good="down",
    range=(0.0, None),
    example="0.111",
    names=[verl("rollout/moe/avg_vio/layer_{layer}", versions=">=0.9")],
)
def mean_layer(expert_loads: Any) -> dict[str, Unevenness]:
    """How uneven a layer's experts are on average.

    Definition: mean over experts of |load share * experts - 1|, in one layer.

    Read: Compare layers; early and late layers are often the uneven ones.

    Check: moe/violation_max of the same layer.
    """
    return _layers(Unevenness, expert_loads)


@metric(
    "moe/violation_max",
    unit="share of equal load",
    good="down",
    range=(-1.0, None),
    example="0.333",
    names=[verl("rollout/moe/max_vio/max", versions=">=0.9")],
)
def max_max(expert_loads: Any) -> Overload:
    """The busiest expert of the worst layer.

    Definition: highest over layers of the layer's max violation.

    Read: Routing collapse shows here first.

    Check: which layer, by moe/violation_max/{layer}.
    """
    return Overload.of(expert_loads)


@metric(
    "moe/violation_max_mean",
    unit="share of equal load",
    good="down",
    range=(-1.0, None),
    example="0.278",
    names=[verl("rollout/moe/max_vio/avg", versions=">=0.9")],
)
def max_mean(expert_loads: Any) -> OverloadMean:
    """The busiest expert of an average layer.

    Definition: mean over layers of the layer's max violation.

    Read: Rising on average is drift of the router as a whole.

    Check: moe/violation_max.
    """
    return OverloadMean.of(expert_loads)


@metric(
    "moe/violation_min",
    unit="share of equal load",
    good="up",
    range=(-1.0, 0.0),
    example="-0.222",
    names=[verl("rollout/moe/min_vio/max", versions=">=0.9")],
)
def min_max(expert_loads: Any) -> Underload:
    """The idlest expert of the best layer.

    Definition: highest over layers of the layer's min violation, which is how veRL reports it: the layer nearest to balance.

    Read: The mean over layers says more.

    Check: moe/violation_min_mean; moe/violation_min/{layer}.
    """
    return Underload.of(expert_loads)


@metric(
    "moe/violation_min_mean",
    unit="share of equal load",
    good="up",
    range=(-1.0, 0.0),
    example="-0.259",
    names=[verl("rollout/moe/min_vio/avg", versions=">=0.9")],
)
def min_mean(expert_loads: Any) -> UnderloadMean:
    """The idlest expert of an average layer.

    Definition: mean over layers of the layer's min violation.

    Read: Towards -1 experts die.

    Check: moe/violation_min/{layer}.
    """
    return UnderloadMean.of(expert_loads)


@metric(
    "moe/violation_mean",
    unit="share of equal load",
    good="down",
    range=(0.0, None),
    example="0.139",
    names=[verl("rollout/moe/avg_vio/max", versions=">=0.9")],
)
def mean_max(expert_loads: Any) -> Unevenness:
    """Unevenness of the worst layer.

    Definition: highest over layers of the layer's mean violation.

    Read: Like moe/violation_max, less moved by a single expert.

    Check: moe/violation_mean/{layer}.
    """
    return Unevenness.of(expert_loads)


@metric(
    "moe/violation_mean_mean",
    unit="share of equal load",
    good="down",
    range=(0.0, None),
    example="0.125",
    names=[verl("rollout/moe/avg_vio/avg", versions=">=0.9")],
)
def mean_mean(expert_loads: Any) -> UnevennessMean:
    """Unevenness of an average layer.

    Definition: mean over layers of the layer's mean violation.

    Read: One number for the router's balance.

    Check: moe/violation_max.
    """
    return UnevennessMean.of(expert_loads)


@metric(
    "moe/assignments",
    unit="count",
    good="context",
    range=(0.0, None),
    example="432",
    names=[
        verl(
            "rollout/moe/routed_expert_assignments",
            versions=">=0.9",
            note="accumulated since the last time it was written",
        )
    ],
)
def assignments(expert_loads: Any) -> Sum:
    """Expert assignments the balance numbers stand on.

    Definition: Σ over tokens and layers of experts chosen.

    Read: Few assignments make every violation look large.

    Check: whether the engine returns its routing.
    """
    return Sum(float(expert_loads.sum()), float(expert_loads.size))


reported(
    "moe/routing_known",
    "0 or 1",
    "up",
    "Whether the engine told which experts it used.",
    "1 when any routed expert was found since the last report.",
    "0 means that the balance numbers are missing, not that they are fine.",
    "engine option that returns routed experts",
    "1",
    verl("rollout/moe/routed_experts_found", versions=">=0.9"),
    kind="last",
    range=(0.0, 1.0),
)
