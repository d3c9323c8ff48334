"""Is this run healthy? Verdict, findings, vital signs, where the time goes, samples, facts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from rollscope.diagnose import Finding
from rollscope.diagnose.finding import FindingShape
from rollscope.diagnose.hidden import open_findings
from rollscope.diagnose.verdict import status, verdict
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.reply import as_json
from rollscope.server.shapes import OverviewShape, Vital
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, stored_meanings
from rollscope.views.samples.sample_list import best_median_worst
from rollscope.views.summary.config_facts import config_facts
from rollscope.views.summary.reward_trend import improving, reward_range
from rollscope.views.summary.vital_sign import is_about, vital_sign
from rollscope.views.time.time_parts import time_parts
from rollscope.views.vitals import vital_series

from .runs import findings_of, remembered_hidden

router = APIRouter(tags=["overview"])
WAIT = 0.4  # seconds that a page waits for the first diagnosis; later it gets an event
NOT_YET = ("Reading the run", "The rules are reading this run. Their findings appear here in a moment.", "none")


@router.get("/runs/{run}/overview")
@as_json
def overview(
    request: Request, library: Lib, run: RunId, step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None
) -> OverviewShape:
    """The run in one page; `step` chooses whose samples and time are shown."""
    doctor: Doctor = request.app.state.doctor
    with library.reading(run) as reader:
        shapes = findings_of(request, run, reader, WAIT)
        findings = [shape for shape in shapes or [] if not shape["hidden"]]
        meanings = stored_meanings(reader)
        known = open_findings(doctor.known(run) or [], remembered_hidden(reader))
        title, context, health = NOT_YET if shapes is None else _judged(reader, meanings, known)
        samples_step, samples = best_median_worst(reader, step)
        time_step, parts = time_parts(reader, step)
        return {
            "diagnosed": shapes is not None,
            "verdict": title,
            "context": context,
            "status": health,
            "findings": findings,
            "vitals": [_vital(reader, series, findings) for series in vital_series(reader, meanings)],
            "time": parts,
            "time_step": time_step,
            "samples": samples,
            "samples_step": samples_step,
            "reward_range": reward_range(reader, meanings),
            "facts": config_facts(reader),
        }


def _judged(run: Run, meanings: dict[str, Meaning], findings: list[Finding]) -> tuple[str, str, str]:
    """Verdict, context and status."""
    steps = int(run.record().get("step") or 0) + 1
    return *verdict(findings, steps, improving(run, meanings)), status(findings, steps)


def _vital(run: Run, series: list[Meaning], findings: list[FindingShape]) -> Vital:
    own = [finding for finding in findings if finding["metrics"] and is_about(finding["metrics"][0], series)]
    return {**vital_sign(run, series, own), "findings": own}
