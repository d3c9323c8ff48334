"""The metrics that read one value per sample: computed once over the batch, always on the host.

If the batch says which samples were trained on and which discarded, a scoped entry is computed for
these two and for both together. Otherwise it is computed once, under its plain name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rollscope.catalog.spec import DERIVED, Metric

from .batch import Problems
from .inputs import parameters, parse
from .outcome import call, define, given, spelled


class Samples:
    """Values by parameter name; derived ones are computed on first use."""

    def __init__(self, raw: Mapping[str, Any], steps: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
        self.raw, self.steps, self.rows = raw, steps, rows
        self.derived: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        stem, axis = parse(name)
        if name in self.rows or stem in (self.raw if axis == "S" else self.steps):
            return self.rows.get(name, 0) is not None
        if axis not in ("S", "") or name not in DERIVED:
            return False
        return all(optional or p in self for p, optional in parameters(DERIVED[name]))

    def __getitem__(self, name: str) -> Any:
        stem, axis = parse(name)
        if axis == "S" and stem in self.raw:
            return self.raw[stem]
        if not axis and stem in self.steps:
            return self.steps[stem]
        if name in self.rows:
            return self.rows[name]
        if name not in self.derived:
            arguments = self.arguments(DERIVED[name])
            self.derived[name] = None if arguments is None else DERIVED[name](**arguments)
        return self.derived[name]

    def arguments(self, function: Any) -> dict[str, Any] | None:
        """The arguments of a function; None if a required one turns out to be missing."""
        arguments = {p: self[p] for p, optional in parameters(function) if not optional or p in self}
        return given(function, arguments)

    def subset(self, index: np.ndarray[Any, Any]) -> Samples:
        """The same values for some of the samples."""
        return Samples(
            {k: _taken(v, index) for k, v in self.raw.items()},
            self.steps,
            {k: None if v is None else _taken(v, index) for k, v in self.rows.items()},
        )


def _taken(x: Any, index: np.ndarray[Any, Any]) -> Any:
    return {name: _taken(column, index) for name, column in x.items()} if isinstance(x, dict) else x[index]


def fates(samples: Samples) -> dict[str, np.ndarray[Any, Any]] | None:
    """The positions of settled, trained and discarded samples; None if the batch does not say.

    A settled sample is one of the two others.
    """
    trained, reason = samples.raw.get("trained"), samples.raw.get("discard_reason")
    if trained is None and reason is None:
        return None
    discarded: Any = False if reason is None else np.array([r not in (None, "") and r == r for r in reason], bool)
    used: Any = ~discarded if trained is None else trained == 1
    if trained is not None:
        discarded = (trained == 0) | (discarded & ~used)
    return {
        "generated": np.flatnonzero(used | discarded),
        "trained": np.flatnonzero(used),
        "discarded": np.flatnonzero(discarded),
    }


def sample_metrics(metrics: Sequence[Metric], samples: Samples, problems: Problems) -> dict[str, Any]:
    """The results of all entries that need no token array."""
    results: dict[str, Any] = {}
    subsets = {scope: samples.subset(index) for scope, index in (fates(samples) or {}).items()}
    for entry in metrics:
        if not (entry.scoped and subsets):
            results |= _outcome(entry, samples, problems)
            continue
        for scope, subset in subsets.items():
            results |= _outcome(entry, subset, problems, scope)
    return results


def _outcome(entry: Metric, samples: Samples, problems: Problems, scope: str = "") -> dict[str, Any]:
    assert entry.define is not None
    arguments = call(samples.arguments, {"function": entry.define}, entry.name, problems)
    if arguments is None:
        return {}
    return spelled(entry, call(define, {"entry": entry, "arguments": arguments}, entry.name, problems), scope)
