"""Findings of a run, the rules behind them, and a person's word that one is not a problem here."""

from __future__ import annotations

from fastapi import APIRouter, Request

from rollscope.diagnose import all_rules
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.runs import findings_of
from rollscope.server.shapes import FindingList

router = APIRouter(tags=["findings"])


@router.get("/runs/{run}/findings")
@as_json
def index(request: Request, library: Lib, run: RunId) -> FindingList:
    """Every finding, the gravest first, and every rule that was asked."""
    with library.reading(run) as found:
        shapes = findings_of(request, run, found, wait=10) or []
    return {"findings": shapes, "rules": [{"name": r.name, "title": r.title, "teaches": r.teaches} for r in all_rules().values()]}
