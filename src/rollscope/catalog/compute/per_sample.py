"""The half of compute that reads one value per sample: run once, on the whole batch, always on the host.

A scoped entry is computed for all samples whose fate is settled, for those trained on and for those discarded, when the batch says which are
which; without that, once, under its plain name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rollscope.catalog.spec import DERIVED, Metric

from .batch import Problems
from .inputs import parameters, parse
from .outcome import call, given, spelled


class Samples:
    """Values by parameter name, derived ones on demand; `subset` is the same for some of the samples."""

    def __init__(self, raw: Mapping[str, Any], steps: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
        self.raw, self.steps, self.rows = raw, steps, rows
        self.made: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        stem, axis = parse(name)
        if name in self.rows or stem in (self.raw if axis == "S" else self.steps):
            return self.rows.get(name, 0) is not None
        return (
            axis in ("S", "")
            and name in DERIVED
            and all(optional or p in self for p, optional in parameters(DERIVED[name]))
        )

    def __getitem__(self, name: str) -> Any:
        stem, axis = parse(name)
        if axis == "S" and stem in self.raw:
            return self.raw[stem]
        if not axis and stem in self.steps:
            return self.steps[stem]
        if name in self.rows:
            return self.rows[name]
        if name not in self.made:
            arguments = self.arguments(DERIVED[name])
            self.made[name] = None if arguments is None else DERIVED[name](**arguments)
        return self.made[name]

    def arguments(self, function: Any) -> dict[str, Any] | None:
        """What to call a function with; None where something it must have is not to be had after all."""
        found = {p: self[p] for p, optional in parameters(function) if not optional or p in self}
        return given(function, found)

    def subset(self, index: np.ndarray[Any, Any]) -> Samples:
        return Samples(
            {k: _taken(v, index) for k, v in self.raw.items()},
            self.steps,
            {k: None if v is None else _taken(v, index) for k, v in self.rows.items()},
        )


def _taken(x: Any, index: np.ndarray[Any, Any]) -> Any:
    return {name: _taken(column, index) for name, column in x.items()} if isinstance(x, dict) else x[index]


def fates(samples: Samples) -> dict[str, np.ndarray[Any, Any]] | None:
    """Positions of settled, trained and discarded samples; None when the batch does not say."""
    trained, reason = samples.raw.get("trained"), samples.raw.get("discard_reason")
    if trained is None and reason is None:
        return None
    thrown: Any = False if reason is None else np.array([r not in (None, "") and r == r for r in reason], bool)
    kept: Any = ~thrown if trained is None else trained == 1
    if trained is not None:
        thrown = (trained == 0) | (thrown & ~kept)
    return {
        "generated": np.flatnonzero(kept | thrown),
        "trained": np.flatnonzero(kept),
        "discarded": np.flatnonzero(thrown),
    }


def sample_metrics(metrics: Sequence[Metric], samples: Samples, problems: Problems) -> dict[str, Any]:
    """Results of all entries that need no token array any more."""
    results: dict[str, Any] = {}
    fate = fates(samples)
    subsets = {} if fate is None else {scope: samples.subset(index) for scope, index in fate.items()}
    for entry in metrics:
        if not (entry.scoped and subsets):
            results |= _outcome(entry, samples, problems)
            continue
        for scope, some in subsets.items():
            results |= _outcome(entry, some, problems, scope)
    return results


def _outcome(entry: Metric, samples: Samples, problems: Problems, scope: str = "") -> dict[str, Any]:
    assert entry.define is not None
    arguments = call(samples.arguments, {"function": entry.define}, entry.name, problems)
    return {} if arguments is None else spelled(entry, call(entry.define, arguments, entry.name, problems), scope)
