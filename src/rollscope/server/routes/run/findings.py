"""Findings of a run, the rules behind them, and a person's statement that one is not a problem."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.diagnose import all_rules
from rollscope.diagnose.hidden import row
from rollscope.errors import NotFound, nearest
from rollscope.notify.resume import resume_from
from rollscope.notify.stop import hears, requested
from rollscope.notify.stored import told
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.reply import as_json
from rollscope.server.routes.project.runs import findings_of, wait_for_findings
from rollscope.server.shapes import FindingList, HiddenShape
from rollscope.store import notes

from .stop import stop_shape

router = APIRouter(tags=["findings"])
WAIT = 10.0  # seconds for the first diagnosis; after that the page is told that the run is still read


@router.get("/runs/{run}/findings")
@as_json
def index(request: Request, library: Lib, run: RunId) -> FindingList:
    """Every finding, the worst first; every rule, and who was told; whether the run can stop.

    Until the first diagnosis is done, `diagnosed` is false: that nothing was found is then no
    claim.
    """
    doctor: Doctor = request.app.state.doctor
    rules = all_rules()
    wait_for_findings(request, library, run, WAIT)
    with library.reading(run) as reader:
        known = findings_of(request, run, reader)
        findings = known or []
        return {
            "findings": findings,
            "diagnosed": known is not None,
            "rules": [{"name": rule.name, "title": rule.title, "teaches": rule.teaches} for rule in rules.values()],
            "skipped": [
                {
                    "rule": skipped.rule,
                    "title": rules[skipped.rule].title if skipped.rule in rules else skipped.rule,
                    "needs": skipped.needs,
                }
                for skipped in doctor.skipped(run)
            ],
            "recovered": [past.shape("", {}) for past in doctor.recovered(run)],
            "told": told(reader.path),
            "resume": {f["rule"]: resume_from(reader, f["step"]) for f in findings if f["severity"] == "bad"},
            "hears": reader.state == "running" and hears(reader),
            "stop": stop_shape(requested(reader)),
        }


class Word(BaseModel):
    """Are the findings of this rule a problem in this run?"""

    model_config = ConfigDict(extra="forbid")
    rule: Annotated[str, Field(max_length=200)]
    hidden: bool = True
    why: Annotated[str, Field(max_length=2000, description="the reason, for the next reader")] = ""
    step: Annotated[int | None, Field(ge=0, le=2**53)] = None


@router.post("/runs/{run}/findings/hidden")
@as_json
def hide(request: Request, library: Lib, run: RunId, word: Word) -> HiddenShape:
    """Hide a rule's findings in this run, or show them again.

    The statement is stored as a note. `rollscope doctor` respects it too.
    """
    rules = all_rules()
    doctor: Doctor = request.app.state.doctor
    with library.reading(run):
        pass  # a run that is not here has no rules
    if word.rule not in rules and word.rule not in {finding.rule for finding in doctor.known(run) or ()}:
        known = ", ".join(sorted(rules))
        raise NotFound(f"no rule {word.rule[:80]!r}; the rules are {known}.{nearest(word.rule, rules)}")
    why = word.why.strip()
    with library.reading(run) as reader:
        notes.write(reader.path, row(word.rule, word.hidden, why, word.step))
        reader.refresh()
    library.look_again()
    request.app.state.watcher.tell_findings(run)
    return {"rule": word.rule, "hidden": word.hidden, "why": why}
