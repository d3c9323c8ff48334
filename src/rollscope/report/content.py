"""What a report says, gathered once for every form of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollscope import __version__
from rollscope.diagnose import Chapter, Diagnosis, Finding, story, whole_diagnosis
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.diagnose.story import told as in_order
from rollscope.notify.resume import resume_from
from rollscope.store.log.secret import hide_text
from rollscope.store.run import Run
from rollscope.views.dictionary import stored_meanings
from rollscope.views.health.report import health
from rollscope.views.health.vital_sign import VitalSign
from rollscope.views.samples.sample_list import PickedSample, best_median_worst
from rollscope.views.summary.config_facts import config_facts, flat_config
from rollscope.views.summary.headline import evaluation, headline
from rollscope.views.summary.trained_steps import trained_steps
from rollscope.visible import visible

POINTS = 240  # buckets of a chart: more than its pixels would not show
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a chart, as buckets: no spike is lost."""

    label: str
    x: Floats
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str
    reading: str
    status: str
    lines: list[Line]
    marks: list[tuple[int, int | None, str]]  # from, until, severity of findings


@dataclass(frozen=True, slots=True)
class Report:
    id: str
    name: str
    facts: list[tuple[str, str]]
    verdict: str
    context: str
    status: str
    chapters: list[Chapter]
    recovered: list[Finding]
    useful: str  # one sentence; empty: not known
    evidence: dict[str, Chart]  # rule -> the chart of its first metric
    resume: dict[str, str]  # rule -> where to resume
    vitals: list[Chart]
    samples: list[PickedSample]
    samples_step: int | None
    skipped: list[tuple[str, str]]
    looked: int
    config: list[tuple[str, str]]
    made: str


def gather(run: Run) -> Report:
    """Read a run for a report. Findings that a person hid are left out."""
    told = whole_diagnosis(run)
    findings = open_findings(told.findings, hidden(run))
    judged = health(run, in_order(findings), len(told.findings) - len(findings), told.looked)
    samples_step, samples = best_median_worst(run, None)
    return Report(
        id=text(run.id),
        name=text(run.facts.get("name") or run.id),
        facts=_facts(run),
        verdict=text(judged.verdict["title"]),
        context=text(judged.verdict["context"]),
        status=judged.verdict["status"],
        chapters=story(findings),
        recovered=told.recovered,
        useful=told.useful.sentence if told.useful is not None else "",
        evidence={f.rule: chart for f in findings if (chart := _evidence(run, f)) is not None},
        resume={f.rule: resume_from(run, f.step) for f in findings if f.severity == "bad" and f.step > 0},
        vitals=[_vital(run, sign, own) for sign, own in judged.signs],
        samples=samples,
        samples_step=samples_step,
        skipped=_skipped(told),
        looked=told.looked,
        config=[(text(key), text(value)) for key, value in sorted(flat_config(run.config).items())],
        made=f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, Rollscope {__version__}",
    )


def text(value: object) -> str:
    """A text of the run, without secrets and without characters that hide or reorder."""
    return visible(hide_text(str(value)))


def _facts(run: Run) -> list[tuple[str, str]]:
    facts, step = run.facts, run.record().get("step")
    meanings = stored_meanings(run)
    trained = trained_steps(run, headline(run, meanings), evaluation(meanings))
    steps = trained or (0 if step is None else int(step) + 1)  # an import has no clocks
    first = [("state", run.state), ("steps", f"{steps:,}" if steps else None), ("why it ended", facts.get("reason"))]
    named = [(key, facts.get(key)) for key in ("project", "algorithm", "framework")]
    known = [(key, text(value)) for key, value in [*first, *named] if value]
    return known + [(text(key), text(value)) for key, value in config_facts(run) if key not in dict(known)]


def _skipped(told: Diagnosis) -> list[tuple[str, str]]:
    return [(skipped.rule, skipped.needs) for skipped in told.skipped]


def _vital(run: Run, sign: VitalSign, own: Sequence[Finding]) -> Chart:
    labels = sign["labels"] or [""]
    lines = [_line(run, name, label) for name, label in zip(sign["metrics"], labels, strict=False)]
    marks = [(f.step, f.until, str(f.severity)) for f in own]
    return Chart(text(sign["title"]), sign["unit"], text(sign["reading"]), sign["status"], lines, marks)


def _evidence(run: Run, finding: Finding) -> Chart | None:
    if not finding.metrics or not run.is_stored(finding.metrics[0]):
        return None
    line = _line(run, finding.metrics[0], "")
    marks = [(finding.step, finding.until, str(finding.severity))]
    return Chart(text(finding.metrics[0]), "", "", finding.severity, [line], marks)


def _line(run: Run, name: str, label: str) -> Line:
    columns = run.series(name, points=POINTS)
    mean, low, high = (np.asarray(columns[key], np.float64) for key in ("mean", "min", "max"))
    return Line(label, np.asarray(columns["x"], np.float64), mean, low, high)
