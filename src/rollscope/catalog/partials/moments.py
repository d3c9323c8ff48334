"""Further readings of the state (count, mean, M2)."""

from __future__ import annotations

from dataclasses import dataclass

from .partial import NAN, Moments, kind


@kind("variance")
@dataclass(frozen=True, slots=True)
class Variance(Moments):
    """Variance of a sample, ddof = 1."""

    @property
    def value(self) -> float:
        return self.m2 / (self.count - 1) if self.count > 1 else NAN
