"""Numbers that cannot be: outside the range that their definition allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.rule import rule
from rollscope.views.dictionary import Meaning

NAMED = 3
Hit = tuple[int, str, float | None, float | None, float, str]  # step, name, lowest, highest, value, note
FRAMEWORK = "the catalogue's note on this framework's number"


@rule("impossible-number", needs=(CaseOf(),))
def impossible_number(case: Case, *, tolerance: float = 1e-4) -> Iterator[Finding]:
    """A number is impossible: a share above 1, a k3 below 0, a lowest value above the highest.

    No policy can do that, so it is the pipeline: a sign, a mask that does not match its
    denominator, a padded batch, a reversed softmax. Every reading that rests on this number is
    worthless until it is fixed. Where a framework is known to log such numbers, the finding says
    so.
    """
    meanings = case.meanings().values()
    hits = [hit for m in meanings if (hit := _outside(case, m, tolerance) or _crossed(case, m, tolerance))]
    if not hits:
        return
    hits.sort()
    step, name, low, high, value, note = hits[0]
    others = ", ".join(hit[1] for hit in hits[1 : 1 + NAMED])
    yield Finding(
        step=step,
        claim="A logged number is impossible",
        evidence=f"{name} is {value:.4g} at step {step}; by its definition it lies {_between(low, high)}."
        + (f" Also {others}{' and others' if len(hits) > 1 + NAMED else ''}." if others else ""),
        severity="watch",
        metrics=tuple(hit[1] for hit in hits[:5]),
        check=("How the number is computed: sign, mask, denominator", f"rollscope explain {name}"),
        advice=((Advice(note, FRAMEWORK),) if note else ())
        + (Advice("Fix the pipeline before the policy", "slime's step-0 checks, skillsbench#775"),),
    )


def _crossed(case: Case, m: Meaning, tolerance: float) -> Hit | None:
    """The first step at which the lowest value of a metric lies above its highest."""
    if not m.name.endswith("/min") or not m.same:
        return None
    other = case.meanings().get(f"{m.name.removesuffix('/min')}/max")
    if other is None or not other.same:
        return None
    low, high = case.series((m.name,)), case.series((other.name,))
    if low is None or high is None:
        return None
    top = high.at(low.step)
    wrong = low.value > top + tolerance * np.maximum(1.0, np.abs(top))
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return int(low.step[at]), m.logged, None, float(top[at]), float(low.value[at]), ""


def _outside(case: Case, m: Meaning, tolerance: float) -> Hit | None:
    low, high = _bounds(m)
    if (low is None and high is None) or m.stat == "std" or not m.same:
        return None
    series = case.series((m.name,))
    if series is None:
        return None
    wrong = np.zeros(len(series), bool)
    if low is not None:
        wrong |= series.value < low - tolerance
    if high is not None:
        wrong |= series.value > high + tolerance * max(1.0, abs(high))
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    note = m.match.via.note if m.match and m.match.via and m.match.via.note else ""
    return int(series.step[at]), m.logged, low, high, float(series.value[at]), note


def _bounds(m: Meaning) -> tuple[float | None, float | None]:
    """The natural range of the entry; only of numbers that cannot be outside it by convention."""
    entry = m.entry
    if entry is None:
        return None, None
    if entry.name == "policy/logp":
        return None, 0.0
    if entry.unit == "share" or entry.name.endswith("_k3") or entry.name == "policy/entropy":
        return entry.range
    return None, None


def _between(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most at {high:g}"
    return f"at or above {low:g}" if high is None else f"between {low:g} and {high:g}"
