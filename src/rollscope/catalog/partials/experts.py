"""How evenly a model uses its experts: counts per layer and expert, compared with equal shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rollscope.errors import BadBatch, BadInput

from .partial import NAN, Partial, State, kind


def count(routed: Any, mask: Any, experts: int) -> np.ndarray:
    """Count the assignments [layers, experts] of masked tokens in expert numbers [B, T, layers, k].

    The last token of each sequence does not count: it was sampled but never fed back, so no layer
    routed it.
    """
    routed, mask = _host(routed), _host(mask).astype(bool)
    if routed.ndim != 4 or mask.ndim != 2 or routed.shape[:2] != mask.shape:
        shapes = f"shape {list(routed.shape)} and its mask {list(mask.shape)}"
        raise BadBatch(f"batch['routed_experts'] has {shapes}; expected [B, T, layers, k] and [B, T].")
    last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
    mask = mask.copy()
    mask[np.arange(len(mask)), last] = False
    chosen = routed[mask].astype(np.int64)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= experts):
        number = chosen.max() if chosen.max() >= experts else chosen.min()
        raise BadBatch(f"batch['routed_experts'] holds the number {number}; experts are numbered 0 to {experts - 1}.")
    layers = [np.bincount(chosen[:, i].ravel(), minlength=experts) for i in range(routed.shape[2])]
    return np.array(layers, np.float64)


def _host(x: Any) -> Any:
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


@dataclass(frozen=True, slots=True)
class Expert(Partial):
    """Assignments per layer and expert. A subclass says in `per_layer` how uneven each layer is."""

    experts: float = 0.0
    counts: tuple[float, ...] = ()

    @classmethod
    def of(cls, counts: Any) -> Self:
        counts = np.atleast_2d(np.asarray(counts, np.float64))
        return cls(float(counts.shape[1]), tuple(counts.ravel().tolist())) if counts.size else cls()

    def __add__(self, other: Expert) -> Self:
        if not self.counts or not other.counts:
            full = self if self.counts else other
            return type(self)(full.experts, full.counts)
        if (self.experts, len(self.counts)) != (other.experts, len(other.counts)):
            shapes = f"{self.shape()} and {other.shape()}"
            raise BadInput(f"expert counts of {shapes} cannot be added: they are of different models.")
        return type(self)(self.experts, tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))

    def shape(self) -> str:
        return f"{len(self.counts) // int(self.experts or 1)} layers of {int(self.experts)} experts"

    @property
    def weight(self) -> float:
        return sum(self.counts)

    def state(self) -> State:
        return (self.experts, *self.counts)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        return cls(state[0], tuple(state[1:]))

    def deviations(self) -> Any:
        """share * experts - 1, shaped [layers, experts]. Zeros are perfect balance."""
        table = np.array(self.counts).reshape(-1, int(self.experts))
        return table / np.maximum(table.sum(axis=1, keepdims=True), 1.0) * self.experts - 1.0

    def per_layer(self) -> Any:
        raise NotImplementedError

    @property
    def value(self) -> float:
        return float(np.max(self.per_layer())) if self.weight else NAN


@kind("overload")
@dataclass(frozen=True, slots=True)
class Overload(Expert):
    """The busiest expert's load above its equal share, in the worst layer."""

    def per_layer(self) -> Any:
        return self.deviations().max(axis=1)


@kind("underload")
@dataclass(frozen=True, slots=True)
class Underload(Expert):
    """The idlest expert's load below its equal share, in the most balanced layer, as in veRL."""

    def per_layer(self) -> Any:
        return self.deviations().min(axis=1)


@kind("unevenness")
@dataclass(frozen=True, slots=True)
class Unevenness(Expert):
    """Mean absolute distance from equal shares, in the worst layer."""

    def per_layer(self) -> Any:
        return np.abs(self.deviations()).mean(axis=1)


@kind("overload_mean")
@dataclass(frozen=True, slots=True)
class OverloadMean(Overload):
    """Overload, as the mean over layers."""

    @property
    def value(self) -> float:
        return float(np.mean(self.per_layer())) if self.weight else NAN


@kind("underload_mean")
@dataclass(frozen=True, slots=True)
class UnderloadMean(Underload):
    """Underload, as the mean over layers."""

    @property
    def value(self) -> float:
        return float(np.mean(self.per_layer())) if self.weight else NAN


@kind("unevenness_mean")
@dataclass(frozen=True, slots=True)
class UnevennessMean(Unevenness):
    """Unevenness, as the mean over layers."""

    @property
    def value(self) -> float:
        return float(np.mean(self.per_layer())) if self.weight else NAN
