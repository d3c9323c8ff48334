"""Mixture of experts: how evenly each layer spreads its work over the experts.

Computed from the routed experts of a rollout, or from counts of assignments.
"""

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
key("routed_mask", "object", "[B, T], 1 for tokens whose experts count: those that the policy sampled")
key("num_experts", "step", "experts of a layer")
key("expert_counts", "object", "assignments [layers, experts], if they are already counted")


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

    Definition: max over experts of load share * experts - 1, in one layer. Counts the routed tokens
    that the policy sampled, without the last token of each sequence, which was never fed back.

    Read: 0 is perfect balance; 1 means twice the equal share. With expert parallelism, all experts
    wait for this one.

    Check: the router's auxiliary loss; drift from the base model; moe/violation_max, over all
    layers.
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
    """How far a layer's least used expert is below its equal share.

    Definition: min over experts of load share * experts - 1, in one layer.

    Read: -1 is an expert that receives nothing and learns nothing.

    Check: experts that are never used; the router's auxiliary loss.
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

    Read: Compare layers: early and late layers are often the most uneven.

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
    """How far the busiest expert of the worst layer is above its equal share.

    Definition: highest over layers of moe/violation_max/{layer}.

    Read: Routing collapse shows here first.

    Check: moe/violation_max/{layer}: which layer?
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
    """How far the busiest expert of an average layer is above its equal share.

    Definition: mean over layers of moe/violation_max/{layer}.

    Read: A rise means that the router as a whole drifts.

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
    """How far the least used expert of the best layer is below its equal share.

    Definition: highest over layers of moe/violation_min/{layer}: the layer closest to balance,
    as veRL reports it.

    Read: The mean over layers, moe/violation_min_mean, is more useful.

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
    """How far the least used expert of an average layer is below its equal share.

    Definition: mean over layers of moe/violation_min/{layer}.

    Read: A fall towards -1 means that experts are no longer used.

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
    """How uneven the worst layer's experts are on average.

    Definition: highest over layers of moe/violation_mean/{layer}.

    Read: Like moe/violation_max, but a single expert moves it less.

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
    """How uneven an average layer's experts are.

    Definition: mean over layers of moe/violation_mean/{layer}.

    Read: A single number for the balance of the router.

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
            note="accumulated since veRL last wrote it",
        )
    ],
)
def assignments(expert_loads: Any) -> Sum:
    """Number of expert assignments behind the balance numbers.

    Definition: Σ over tokens and layers of the number of chosen experts.

    Read: With few assignments, every violation looks large.

    Check: whether the engine returns its routing.
    """
    return Sum(float(expert_loads.sum()), float(expert_loads.size))


reported(
    "moe/routing_known",
    meaning="Whether the engine reported which experts it used.",
    definition="1 if the engine returned any routed expert since the last report.",
    read="0 means that the balance numbers are missing, not that they are fine.",
    check="the engine option that returns routed experts",
    unit="0 or 1",
    good="up",
    example="1",
    kind="last",
    range=(0.0, 1.0),
    names=(verl("rollout/moe/routed_experts_found", versions=">=0.9"),),
)
