"""The part of a finding that a status and the verdict read."""

from __future__ import annotations

from typing import Protocol


class Claim(Protocol):
    """One problem that was found. Those with a common cause come with the cause first."""

    @property
    def claim(self) -> str: ...
    @property
    def evidence(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def until(self) -> int | None: ...
    @property
    def metrics(self) -> tuple[str, ...]: ...


def when(claim: Claim) -> str:
    """Since when a claim holds, in words."""
    if claim.until is None:
        return f"since step {claim.step:,}"
    if claim.until == claim.step:
        return f"at step {claim.step:,}"
    return f"from step {claim.step:,} to {claim.until:,}"
