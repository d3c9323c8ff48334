"""Vital signs: for each series to look at first, its value, its status and one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope import strict_json
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.strict_json import Number
from rollscope.views.dictionary import Meaning
from rollscope.views.metric_info import healthy_range, range_of, title
from rollscope.views.sentence import Concern, Floats, evaluation, reading, say, status

RECENT = 10  # points whose mean is compared between generated and trained
SAME = 0.02  # share of the generated mean below which the two are the same
SCORES = ("score", "reward", "acc", "accuracy")  # not worth a word in an evaluation's title


class VitalSign(TypedDict):
    title: str
    metrics: list[str]
    labels: list[str]
    unit: str
    status: str
    value: Number
    extra: str
    reading: str
    range: list[float | None]
    healthy: list[float | None]
    entry: str
    points: bool


def vital_sign(run: Run, series: Sequence[Meaning], concerns: Sequence[Concern]) -> VitalSign:
    """The vital sign of a series, or of two side by side. `concerns` are the findings about it."""
    first = series[0]
    entry, stat = first.entry, first.stat
    unit = entry.unit if entry else ""
    values = _values(run, first)
    shown, _ = range_of(first.logged, first, run.declared)
    return {
        "title": _title(first),
        "metrics": [m.logged for m in series],
        "labels": ["generated", "trained"] if len(series) == 2 else [],
        "unit": unit,
        "status": "watch" if _declines(first, values) else status(values, entry, stat, concerns),
        "value": strict_json.number(values[-1]) if len(values) else None,
        "extra": _extra(run, first, shown),
        "reading": _sentence(run, series, unit),
        "range": shown,
        "healthy": healthy_range(first),
        "entry": entry.name if entry else "",
        "points": _is_evaluation(first),
    }


def is_about(metric: str, series: Sequence[Meaning]) -> bool:
    """Does this vital sign show a finding's first metric? Cut answers count as length."""
    if metric in {m.logged for m in series}:
        return True
    return metric.startswith("length/") and series[0].name.startswith("length/")


def read(run: Run, name: str) -> Columns:
    """A series, read once until the run grows: every look at the page reads the same few."""
    return run.remember(f"series {name}", lambda: run.series(name))


def _values(run: Run, m: Meaning) -> Floats:
    return np.asarray(read(run, m.logged)["value"], np.float64)


def _is_evaluation(m: Meaning) -> bool:
    return m.name.startswith("eval/")


def _declines(m: Meaning, values: Floats) -> bool:
    """Is it an evaluation whose last two values are both below its best?"""
    known = values[np.isfinite(values)]
    return _is_evaluation(m) and len(known) > 2 and int(np.argmax(known)) < len(known) - 2


def _title(m: Meaning) -> str:
    parts = m.name.split("/")
    if parts[0] == "eval" and len(parts) >= 3:
        score = "" if parts[2] in SCORES else f" {parts[2]}"
        return f"Eval, {parts[1]}{score} {parts[-1]}".replace("_", " ")
    return title(m) or " ".join(part.replace("_", " ") for part in parts).capitalize()


def _sentence(run: Run, series: Sequence[Meaning], unit: str) -> str:
    first = series[0]
    gap = _gap(run, series, unit) if len(series) == 2 else ""
    if gap:
        return gap
    if _is_evaluation(first):
        return evaluation(read(run, first.logged))
    return reading(_values(run, first), first.entry, unit, first.stat)


def _gap(run: Run, series: Sequence[Meaning], unit: str) -> str:
    """By how much the trained samples differ from the generated ones; empty if they do not."""
    generated, trained = (_values(run, m)[-RECENT:] for m in series)
    if not np.isfinite(trained).any() or not np.isfinite(generated).any():
        return ""
    mean = float(np.nanmean(generated))
    gap = float(np.nanmean(trained) - mean)
    if abs(gap) < SAME * max(abs(mean), 1e-9):
        return ""
    word = "higher" if gap > 0 else "lower"
    return f"Trained samples are {say(abs(gap), unit)} {word} than generated ones: some samples were dropped."


def _extra(run: Run, m: Meaning, shown: list[float | None]) -> str:
    """Text after the value: the confidence interval of an evaluation, or the range of a reward."""
    interval = [f"{m.logged}/{word}" for word in ("ci_low", "ci_high")]
    if all(map(run.is_stored, interval)):
        low, high = (float(read(run, name)["value"][-1]) for name in interval)
        return f"± {say((high - low) / 2)}" if np.isfinite(high - low) else ""
    if m.name.startswith(("reward", "score")) and None not in shown:
        return f"of {say(float(shown[0] or 0))} to {say(float(shown[1] or 0))}"
    return ""
