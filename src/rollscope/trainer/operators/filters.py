"""Operators that drop: what was cancelled, what ended in an error, what has nothing to teach. Each writes the reason on the sample."""

from __future__ import annotations

from collections.abc import Sequence

from rollscope.trainer.rollouts.player import Sample

SPREAD = 1e-6  # a group whose rewards differ by less has no advantage


class Cancelled:
    """A request that took too long was stopped. Its groups go whole: those that had finished are the short ones, not a fair draw."""

    name = "drop_cancelled"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        whole = [all(s.stop_reason != "cancelled" for s in group) for group in groups]
        return [
            kept
            for group, wanted in zip(groups, whole, strict=True)
            if (kept := keep(group, [wanted] * len(group), "cancelled"))
        ]


class Errors:
    """A sample whose environment or reward raised has no reward: it is left out, and so is a group of which one is left."""

    name = "drop_errors"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        out = []
        for group in groups:
            kept = keep(group, [s.error is None for s in group], "error")
            if len(kept) == 1 and len(group) > 1:
                kept = keep(kept, [False], "alone_in_group")
            if kept:
                out.append(kept)
        return out


class ZeroAdvantage:
    """A group in which all samples got the same reward has no advantage and no gradient."""

    name = "drop_zero_advantage"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        out = []
        for group in groups:
            rewards = [s.reward for s in group]
            if kept := keep(group, [max(rewards) - min(rewards) > SPREAD] * len(group), "zero_advantage"):
                out.append(kept)
        return out


def keep(group: Sequence[Sample], wanted: Sequence[bool], reason: str) -> list[Sample]:
    for sample, wants in zip(group, wanted, strict=True):
        if not wants:
            sample.discard_reason = reason
    return [sample for sample, wants in zip(group, wanted, strict=True) if wants]
