"""The project log: what people say about the runs of this folder, with author, time and undo."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.errors import BadInput
from rollscope.server.reply import as_json
from rollscope.server.shapes import ProjectShape, SaidList, SaidShape
from rollscope.server.sign_in.needs import audit, require_for_kinds
from rollscope.store.project.kinds import KINDS, check, split
from rollscope.store.project.log import Change, ProjectLog

router = APIRouter(tags=["project"])
MOST_CHANGES = 10_000  # of one request: all runs of a large folder
KindName = Annotated[str, Query(max_length=40, description=f"one of {', '.join(KINDS)}")]
Name = Annotated[str, Query(max_length=1000, description="what the entry is about")]


class NewEntry(BaseModel):
    """What to keep under a kind and a name; null takes it away."""

    model_config = ConfigDict(extra="forbid")
    kind: Annotated[str, Field(max_length=40)]
    name: Annotated[str, Field(max_length=1000)]
    value: Any = None


class Changes(BaseModel):
    """Entries to add, all or none."""

    model_config = ConfigDict(extra="forbid")
    changes: Annotated[list[NewEntry], Field(min_length=1, max_length=MOST_CHANGES)]
    after: Annotated[
        str | None, Field(max_length=40, description="id of the entry you saw, empty for none: refused if it changed")
    ] = None


class Undo(BaseModel):
    """Entries to take back."""

    model_config = ConfigDict(extra="forbid")
    ids: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=MOST_CHANGES)]


def project_of(request: Request) -> ProjectLog:
    project: ProjectLog = request.app.state.project
    return project


def edits_of(request: Request, run: str) -> dict[str, Any]:
    """Note id -> the words that people put in its place, or False: of one run."""
    named = ((split("edit", name), value) for name, value in project_of(request).current("edit").items())
    return {note: value for (of, note), value in named if of == run}


@router.get("/project")
@as_json
def index(request: Request, kind: KindName | None = None) -> ProjectShape:
    """What holds now, by kind and name; with `kind`, of that kind alone."""
    project = project_of(request)
    if kind is not None and kind not in KINDS:
        check(kind, "", None)
    asked = KINDS if kind is None else [kind]
    held = {one: {name: entry.shape() for name, entry in project.holding(one).items()} for one in asked}
    return {"held": held, "problems": project.problems()}  # type: ignore[typeddict-item]


@router.get("/project/history")
@as_json
def history(request: Request, kind: KindName, name: Name) -> SaidList:
    """All that was ever said about a thing, oldest first, with what undid it."""
    return {"entries": [entry.shape() for entry in project_of(request).history(kind, name)]}  # type: ignore[misc]


@router.post("/project")
@as_json
def create(request: Request, body: Changes) -> SaidList:
    """Keep values. Everyone who has the page open hears of it."""
    if any(change.kind == "bin" for change in body.changes):
        raise BadInput("a run goes to the bin with POST /api/bin, which also moves its folder")
    require_for_kinds(request, (change.kind for change in body.changes))
    changes = [Change(change.kind, change.name, change.value) for change in body.changes]
    made = project_of(request).append_all(changes, after=body.after)
    audit(request, "changed", [f"{change.kind} {change.name}" for change in body.changes])
    return {"entries": [entry.shape() for entry in made]}  # type: ignore[misc]


@router.post("/project/undo")
@as_json
def undo(request: Request, body: Undo) -> SaidShape:
    """Take entries back: what held before them holds again."""
    project = project_of(request)
    known = {entry.id: entry for entry in project.follow()}
    undone = [known[id] for id in body.ids if id in known]
    if any(entry.kind == "bin" for entry in undone):
        raise BadInput("a run comes back from the bin with POST /api/bin/restore, which also moves its folder")
    require_for_kinds(request, (entry.kind for entry in undone))
    made = project.undo(body.ids)
    audit(request, "undid", [f"{entry.kind} {entry.name}" for entry in undone])
    return made.shape()  # type: ignore[return-value]
