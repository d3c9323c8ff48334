"""Vital signs: for each series to look at first, its value, its status and one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope import strict_json
from rollscope.store.run import Run
from rollscope.strict_json import Number
from rollscope.views.dictionary import Meaning, stored_meanings
from rollscope.views.metric_info import declared_of, healthy_range, range_of, title

from .claim import Claim
from .evaluation import judged, scores_of
from .reference import Judgement, Reference, worst
from .sentence import say
from .status import Range, Series, status
from .trend import Points, points_of

RECENT = 10  # points whose mean is compared between generated and trained
SAME = 0.02  # share of the generated mean below which the two are the same
SCORES = ("score", "reward", "acc", "accuracy")  # not worth a word in an evaluation's title


class VitalSign(TypedDict):
    title: str
    metrics: list[str]
    labels: list[str]
    unit: str
    status: str
    reference: Reference
    value: Number
    step: int | None
    extra: str
    reading: str
    range: list[float | None]
    healthy: list[float | None]
    entry: str
    points: bool


def vital_sign(run: Run, series: Sequence[Meaning], concerns: Sequence[Claim], env: str = "") -> VitalSign:
    """The vital sign of a series, or of two side by side. `concerns` are the findings about it.

    With `env`, it reads the values and the declared range of an environment, where there are some.
    """
    first = series[0]
    points = points_of(run, first.logged, env=env)
    shown, _ = range_of(first.logged, first, declared_of(run.declared, env))
    found = _judged(run, series, concerns, env)
    return {
        "title": sign_title(first),
        "metrics": [m.logged for m in series],
        "labels": ["generated", "trained"] if len(series) == 2 else [],
        "unit": _unit(first),
        "status": found["status"],
        "reference": found["reference"],
        "value": strict_json.number(points.value[-1]) if len(points.value) else None,
        "step": int(points.step[-1]) if len(points.step) else None,
        "extra": _extra(run, first, shown),
        "reading": found["reading"],
        "range": shown,
        "healthy": healthy_range(first),
        "entry": first.entry.name if first.entry else "",
        "points": is_evaluation(first),
    }


def is_about(metric: str, series: Sequence[Meaning]) -> bool:
    """Does this vital sign show a finding's first metric? Cut answers count as length."""
    if metric in {m.logged for m in series}:
        return True
    return metric.startswith("length/") and series[0].name.startswith("length/")


def is_evaluation(m: Meaning) -> bool:
    return m.name.startswith(("eval/", "bench/", "val-core/", "val-aux/"))


def _judged(run: Run, series: Sequence[Meaning], concerns: Sequence[Claim], env: str) -> Judgement:
    """The judgement of the first series, with the gap to the second one as its sentence."""
    first = series[0]
    points = points_of(run, first.logged, first.scale, env)
    found = worst([status(_to_judge(run, first, points, env), concerns), *_ringing(run, first, env)])
    if is_evaluation(first) and found["reference"]["kind"] not in ("finding", "record"):
        found = judged(scores_of(run, first.logged))
    gap = _gap(points, points_of(run, series[1].logged, env=env), _unit(first)) if len(series) == 2 else ""
    calm = found["status"] in ("good", "none") and len(points.finite) > RECENT
    return {**found, "reading": gap} if gap and calm else found


def _ringing(run: Run, m: Meaning, env: str) -> Iterator[Judgement]:
    """Alarms of the entry that ring for another statistic of the same samples."""
    stats = {alarm.stat for alarm in m.entry.alarms} - {"", m.stat} if m.entry else set()
    ours = run.remember("meanings", lambda: stored_meanings(run)) if stats else {}
    for stat in sorted(stats):
        if other := ours.get(f"{m.name.rpartition('/')[0]}/{stat}"):
            found = status(_to_judge(run, other, points_of(run, other.logged, other.scale, env), env))
            if found["reference"]["kind"] == "alarm" and found["status"] in ("bad", "watch"):
                yield {**found, "reading": f"{found['reading'].split('. ')[0].rstrip('.')}."}


def _to_judge(run: Run, m: Meaning, points: Points, env: str) -> Series:
    limits, source = range_of(m.logged, m, declared_of(run.declared, env))
    declared: Range = (limits[0], limits[1]) if source == "declared" else (None, None)
    low, high = healthy_range(m)
    return Series(points, m.entry, m.stat, _unit(m), declared, (low, high))


def _unit(m: Meaning) -> str:
    return m.entry.unit if m.entry and m.stat != "gini" else ""


def sign_title(m: Meaning) -> str:
    """What a person calls a series: the catalogue's title, or its path in words."""
    parts = m.name.split("/")
    if parts[0] == "eval" and len(parts) >= 3:
        score = "" if parts[2] in SCORES else f" {parts[2]}"
        return f"Eval, {parts[1]}{score} {parts[-1]}".replace("_", " ")
    return title(m) or " ".join(part.replace("_", " ") for part in parts).capitalize()


def _gap(generated: Points, trained: Points, unit: str) -> str:
    """By how much the trained samples differ from the generated ones; empty if they do not."""
    if trained.stopped and not generated.stopped:
        return f"Nothing trained since step {int(trained.step[-1]):,}."
    here, there = generated.finite[-RECENT:], trained.finite[-RECENT:]
    if not len(here) or not len(there):
        return ""
    mean = float(np.mean(here))
    gap = float(np.mean(there) - mean)
    if abs(gap) < SAME * max(abs(mean), 1e-9):
        return ""
    word = "higher" if gap > 0 else "lower"
    return f"Trained samples are {say(abs(gap), unit)} {word} than generated ones: some samples were dropped."


def _extra(run: Run, m: Meaning, shown: list[float | None]) -> str:
    """Text after the value: the confidence interval of an evaluation, or the range of a reward."""
    if is_evaluation(m):
        half = scores_of(run, m.logged).half
        return f"± {say(float(half[-1]))}" if len(half) and np.isfinite(half[-1]) else ""
    if m.name.startswith(("reward", "score")) and None not in shown:
        return f"of {say(float(shown[0] or 0))} to {say(float(shown[1] or 0))}"
    return ""
