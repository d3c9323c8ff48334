"""The policy: how sure it is of what it writes."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..partial import Mean
from ..spec import metric


@metric("policy/entropy_sampled", unit="nats/token", good="steady", range=(0.0, None))
def entropy_sampled(logp_A: Any) -> Mean:
    """Mean negative log-probability of the tokens the policy wrote.

    Definition: -Σ logp / n over the tokens the policy sampled (action_mask). Estimates the entropy from the sampled token alone.

    Read: falls as the policy becomes sure.

    Check: policy/entropy; the temperature.
    """
    return ops.mean(-logp_A)
