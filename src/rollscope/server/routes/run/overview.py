"""Is this run healthy? Verdict, findings, vital signs, where the time goes, samples, facts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Query, Request

from rollscope.catalog.guidance import SCENARIOS
from rollscope.diagnose import Finding, all_rules
from rollscope.diagnose.costs import Useful
from rollscope.diagnose.finding import CostShape
from rollscope.diagnose.hidden import open_findings
from rollscope.diagnose.story import told
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.reply import as_json
from rollscope.server.routes.project.runs import findings_of, remembered_hidden, teaches, wait_for_findings
from rollscope.server.shapes import OverviewShape, UsefulShape, Vital
from rollscope.store.run import Run
from rollscope.views.dictionary import stored_meanings
from rollscope.views.health.report import Health, health
from rollscope.views.health.vital_sign import VitalSign
from rollscope.views.samples.sample_list import best_median_worst
from rollscope.views.samples.sample_steps import stepless
from rollscope.views.summary.config_facts import config_facts
from rollscope.views.summary.reward_range import reward_range
from rollscope.views.time.time_parts import time_parts

router = APIRouter(tags=["overview"])
WAIT = 0.4  # seconds that a page waits for the first diagnosis; later it gets an event


@router.get("/runs/{run}/overview")
@as_json
def overview(
    request: Request,
    library: Lib,
    run: RunId,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    kind: Annotated[str, Query(max_length=40, description="vital signs of this kind of run; default: its own")] = "",
    env: Annotated[str, Query(max_length=1000, description="an environment: its vital signs and samples")] = "",
) -> OverviewShape:
    """The run in one page; `step` chooses whose samples and time are shown.

    The verdict and the findings are about the whole run, also if an environment is chosen.
    """
    doctor: Doctor = request.app.state.doctor
    wait_for_findings(request, library, run, WAIT)
    with library.reading(run) as reader:
        shapes = findings_of(request, run, reader)
        known = None if shapes is None else doctor.known(run)
        judged = _health(reader, known, doctor.looked(run), kind, env)
        samples_step, samples = best_median_worst(reader, step, env)
        time_step, parts = time_parts(reader, step)
        return {
            "diagnosed": shapes is not None,
            "verdict": judged.verdict["title"],
            "context": judged.verdict["context"],
            "status": judged.verdict["status"],
            "findings": [shape for shape in shapes or [] if not shape["hidden"]],
            "kind": judged.kind,
            "kinds": [[scenario.name, scenario.title] for scenario in SCENARIOS],
            "vitals": [_vital(sign, own) for sign, own in judged.signs],
            "time": parts,
            "time_step": time_step,
            "useful": _useful(doctor.useful(run)),
            "samples": samples,
            "samples_step": samples_step,
            "samples_stepless": stepless(reader),
            "reward_range": reward_range(reader, stored_meanings(reader), env),
            "facts": config_facts(reader),
        }


def _health(run: Run, findings: list[Finding] | None, rules: int, kind: str, env: str) -> Health[Finding]:
    hidden = remembered_hidden(run)
    known = None if findings is None else open_findings(findings, hidden)
    return health(run, told(known) if known else known, len(findings or ()) - len(known or ()), rules, kind, env=env)


def _useful(known: Useful | None) -> UsefulShape | None:
    if known is None:
        return None
    return {
        "share": known.share,
        "samples": known.samples,
        "tokens": known.tokens,
        "wasted": cast(list[CostShape], [asdict(cost) for cost in known.wasted]),
        "sentence": known.sentence,
    }


def _vital(sign: VitalSign, own: list[Finding]) -> Vital:
    rules = all_rules()
    return {**sign, "findings": [finding.shape(teaches(rules, finding.rule), {}) for finding in own]}
