"""Is this run healthy? The verdict, at most three findings, six vital signs, where the time goes, three samples, the facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request

from rollscope.diagnose.verdict import verdict
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.diagnose.finding import FindingShape
from rollscope.server.shapes import OverviewShape, PickedSample, Vital
from rollscope.store.run import Columns, Run
from rollscope.strict_json import number as wire
from rollscope.views import metric_info as naming
from rollscope.views.dictionary import Meaning, by_our_names
from rollscope.views.sentence import Trend, evaluation, reading, say, status
from rollscope.views.vitals import vital_series

from .facts import facts, time_parts
from .runs import findings_of
from .samples import ROW, rows, scored_step, settled_step

router = APIRouter(tags=["overview"])
Read = Callable[[str], Columns]
WAIT = 0.4  # seconds a page waits for the first diagnosis; then it is told when there is one
READING = ("Reading the run", "The rules are looking at it; what they find appears here in a moment.")


@router.get("/runs/{run}/overview")
@as_json
def overview(
    request: Request, library: Lib, run: RunId, step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None
) -> OverviewShape:
    """The run in one page; `step` says whose samples and time are shown."""
    with library.reading(run) as found:
        looked = findings_of(request, run, found, WAIT)
        shapes = looked or []
        hidden = {s["rule"] for s in shapes if s["hidden"]}
        open_ = [f for f in request.app.state.doctor.known(run) or [] if f.rule not in hidden]
        ours = by_our_names(found.stored_names(), found.facts.get("framework"))
        steps = int(found.record().get("step") or 0) + 1

        def read(
            name: str,
        ) -> Columns:  # the same few series at every look, and a run that has not grown has not changed
            return library.keep(found, run, f"series {name}", lambda: found.series(name))

        title, context = verdict(open_, steps, _improving(read, ours)) if looked is not None else READING
        at, picked = _samples(found, step)
        time_step, parts = time_parts(found, step)
        return {
            "diagnosed": looked is not None,
            "verdict": title,
            "context": context,
            "status": "none"
            if looked is None
            else next(
                (s for s in ("bad", "watch") if any(f.severity == s for f in open_)), "good" if steps >= 20 else "none"
            ),
            "findings": [s for s in shapes if not s["hidden"]],
            "vitals": vitals(found, read, ours, [s for s in shapes if not s["hidden"]]),
            "time": parts,
            "time_step": time_step,
            "samples": picked,
            "samples_step": at,
            "reward_range": _reward_range(found, ours),
            "facts": facts(found),
        }


def _improving(read: Read, ours: Mapping[str, Meaning]) -> bool | None:
    name = next((ours[n].logged for n in naming.HEADLINES[:8] if n in ours), None)
    trend = Trend.of(np.asarray(read(name)["value"], np.float64)) if name else None
    return None if trend is None else trend.moved and trend.now > trend.opening


def _reward_range(run: Run, ours: Mapping[str, Meaning]) -> list[float | None]:
    for name in ("reward/generated/mean", "reward/mean", "score/mean"):
        if name in ours:
            return naming.range_of(ours[name].logged, ours[name], run.declared)[0]
    widest = naming.declared_reward_range(run.declared)
    return list(widest) if widest else [None, None]


def vitals(run: Run, read: Read, ours: Mapping[str, Meaning], found: Sequence[FindingShape]) -> list[Vital]:
    return [_vital(run, read, series, found) for series in vital_series(run, ours)]


def _vital(run: Run, read: Read, series: list[Meaning], found: Sequence[FindingShape]) -> Vital:
    first = series[0]
    value = np.asarray(read(first.logged)["value"], np.float64)
    entry = first.found.entry if first.found else None
    unit, stat = (entry.unit if entry else ""), (first.found.stat if first.found else "")
    mine = [f for f in found if f["metrics"][:1] and _about(f["metrics"][0], series)]
    shown, _ = naming.range_of(first.logged, first, run.declared)
    said = _beside(read, series, unit) or (
        evaluation(read(first.logged)) if first.name.startswith("eval/") else reading(value, entry, unit, stat)
    )
    return {
        "title": _title(first),
        "metrics": [m.logged for m in series],
        "labels": ["generated", "trained"] if len(series) == 2 else [],
        "unit": unit,
        "status": "watch" if _declines(first, value) else status(value, entry, stat, mine),
        "value": wire(value[-1]) if len(value) else None,
        "extra": _extra(run, read, first, shown),
        "reading": said,
        "range": shown,
        "healthy": list(entry.healthy) if entry and stat in ("", "mean") else [None, None],
        "entry": entry.name if entry else "",
        "findings": mine,
        "points": first.name.startswith("eval/"),
    }


def _declines(m: Meaning, value: Any) -> bool:
    """An evaluation whose last two are both below its best."""
    known = value[np.isfinite(value)]
    return m.name.startswith("eval/") and len(known) > 2 and int(np.argmax(known)) < len(known) - 2


def _about(metric: str, series: list[Meaning]) -> bool:
    """Is a finding's first metric what this vital sign shows? Cut answers are a matter of length."""
    return metric in {m.logged for m in series} or (
        metric.startswith("length/") and series[0].name.startswith("length/")
    )


def _title(m: Meaning) -> str:
    parts = m.name.split("/")
    if parts[0] == "eval" and len(parts) >= 3:
        score = "" if parts[2] in ("score", "reward", "acc", "accuracy") else f" {parts[2]}"
        return f"Eval, {parts[1]}{score} {parts[-1]}".replace("_", " ")
    return naming.title(m) or " ".join(p.replace("_", " ") for p in parts).capitalize()


def _beside(read: Read, series: list[Meaning], unit: str) -> str:
    """Generated is not trained: where they part, say by how much."""
    if len(series) != 2:
        return ""
    generated, trained = (np.asarray(read(m.logged)["value"], np.float64)[-10:] for m in series)
    gap = (
        float(np.nanmean(trained) - np.nanmean(generated))
        if np.isfinite(trained).any() and np.isfinite(generated).any()
        else 0.0
    )
    if abs(gap) < 0.02 * max(abs(float(np.nanmean(generated))), 1e-9):
        return ""
    return f"Trained reads {say(abs(gap), unit)} {'higher' if gap > 0 else 'lower'} than generated: some of what was written was dropped."


def _extra(run: Run, read: Read, m: Meaning, shown: list[float | None]) -> str:
    """Behind the value: the interval of an evaluation, the range of a reward."""
    base = m.logged
    pair = [f"{base}/{word}" for word in ("ci_low", "ci_high")]
    if all(map(run.is_stored, pair)):
        low, high = (float(read(p)["value"][-1]) for p in pair)
        return f"± {say((high - low) / 2)}" if np.isfinite(high - low) else ""
    if m.name.startswith(("reward", "score")) and None not in shown:
        return f"of {say(float(shown[0] or 0))} to {say(float(shown[1] or 0))}"
    return ""


def _samples(run: Run, step: int | None) -> tuple[int | None, list[PickedSample]]:
    """Best, median and worst of the step, or of the newest one that has any."""
    at = settled_step(run, step)
    if at is not None and step is None:  # the newest may not be scored yet: best and worst would be said of nothing
        at = scored_step(run) or at
    if at is None:
        return None, []
    found = rows(run.samples(step=at, columns=list(ROW), order_by="reward DESC NULLS LAST"))
    scored = [s for s in found if isinstance(s["reward"], float)] or found
    if not scored:
        return at, []
    picks = (
        [("Best", 0), ("Median", len(scored) // 2), ("Worst", len(scored) - 1)]
        if len(scored) > 2
        else [("Best", 0), ("Worst", len(scored) - 1)][: len(scored)]
    )
    return at, [{"label": label, "sample": scored[i]} for label, i in picks]
