"""Findings of a run, the rules behind them, and a person's word that one is not a problem here."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.diagnose import all_rules
from rollscope.diagnose import hidden as hiding
from rollscope.errors import NotFound, nearest
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.shapes import FindingList, HiddenShape
from rollscope.store import notes

from .runs import findings_of

router = APIRouter(tags=["findings"])


@router.get("/runs/{run}/findings")
@as_json
def index(request: Request, library: Lib, run: RunId) -> FindingList:
    """Every finding, the gravest first, and every rule that was asked."""
    with library.reading(run) as found:
        shapes = findings_of(request, run, found, wait=10) or []
    return {
        "findings": shapes,
        "rules": [{"name": r.name, "title": r.title, "teaches": r.teaches} for r in all_rules().values()],
    }


class Word(BaseModel):
    """Is what this rule finds a problem in this run?"""

    model_config = ConfigDict(extra="forbid")
    rule: Annotated[str, Field(max_length=200)]
    hidden: bool = True
    why: Annotated[str, Field(max_length=2000, description="a word for whoever reads it next")] = ""
    step: Annotated[int | None, Field(ge=0, le=2**53)] = None


@router.post("/runs/{run}/findings/hidden")
@as_json
def hide(request: Request, library: Lib, run: RunId, word: Word) -> HiddenShape:
    """Hide a rule's findings for this run, or show them again. It is kept as a note; the doctor in the terminal respects it too."""
    known = all_rules()
    if word.rule not in known:
        raise NotFound(f"no rule {word.rule[:80]!r}: there are {', '.join(sorted(known))}.{nearest(word.rule, known)}")
    with library.reading(run) as found:
        notes.write(found.path, hiding.row(word.rule, word.hidden, word.why.strip(), word.step))
        found.refresh()
    request.app.state.watcher.found(run)
    return {"rule": word.rule, "hidden": word.hidden, "why": word.why.strip()}
