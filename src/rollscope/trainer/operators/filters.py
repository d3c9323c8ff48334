"""Operators that drop samples: cancelled, failed, or without a gradient.

Each sets the discard reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollscope.trainer.rollouts.player import Sample

SPREAD = 1e-6  # a group whose rewards differ by less has no advantage


class Cancelled:
    """Drops every group of a cancelled request.

    The samples that had finished are the short ones, so keeping them would bias the group.
    """

    name = "drop_cancelled"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        out = []
        for group in groups:
            complete = all(s.stop_reason != "cancelled" for s in group)
            if remaining := keep(group, [complete] * len(group), "cancelled"):
                out.append(remaining)
        return out


class Errors:
    """Drops samples whose environment or reward raised, and one left alone in its group."""

    name = "drop_errors"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        out = []
        for group in groups:
            remaining = keep(group, [s.error is None for s in group], "error")
            if len(remaining) == 1 and len(group) > 1:
                remaining = keep(remaining, [False], "alone_in_group")
            if remaining:
                out.append(remaining)
        return out


class ZeroAdvantage:
    """Drops a group whose samples all have the same reward: it has no advantage and no gradient."""

    name = "drop_zero_advantage"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        out = []
        for group in groups:
            rewards = [s.reward for s in group]
            if remaining := keep(group, [max(rewards) - min(rewards) > SPREAD] * len(group), "zero_advantage"):
                out.append(remaining)
        return out


def keep(group: Sequence[Sample], wanted: Sequence[bool], reason: str) -> list[Sample]:
    """The wanted samples; the others get the discard reason."""
    for sample, wants in zip(group, wanted, strict=True):
        if not wants:
            sample.discard_reason = reason
    return [sample for sample, wants in zip(group, wanted, strict=True) if wants]
