"""Try a rule on tables: what it must stay quiet on, and what it must speak of.

A row is what the rule is given, in the order of its needs: arrays become series, None is what a run
does not have. Every false alarm becomes a quiet row with a sentence for a name, so quiet rows must
be more than firing ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rollscope.diagnose.curves.series import Series

from .finding import Finding
from .rule import Rule

Row = Sequence[Any]


def said(rule: Rule, *given: Any, **thresholds: float) -> list[Finding]:
    """What a rule says of these inputs; inputs that are left out are None."""
    values = [Series.of(one, f"series{i}") if isinstance(one, np.ndarray) else one for i, one in enumerate(given)]
    values += [None] * (len(rule.needs) + len(rule.optional) - len(values))
    return list(rule.look(*values, **thresholds))


def check(rule: Rule, quiet: Mapping[str, Row], firing: Mapping[str, Row]) -> None:
    """Raise AssertionError with the name of the first row on which the rule is wrong."""
    assert len(quiet) > len(firing), f"{rule.name}: {len(quiet)} quiet rows, {len(firing)} firing; more are needed"
    for name, row in quiet.items():
        spoken = said(rule, *row)
        assert not spoken, f"{rule.name} must be quiet: {name}. It said: {spoken[0].claim}. {spoken[0].evidence}"
    for name, row in firing.items():
        assert said(rule, *row), f"{rule.name} must speak: {name}"
