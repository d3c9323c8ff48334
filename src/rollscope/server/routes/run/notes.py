"""Notes of a run: what its processes wrote, and what people add from the page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.routes.project.log import edits_of
from rollscope.server.shapes import NoteList
from rollscope.store import notes
from rollscope.views.summary.run_notes import NoteShape, edited, run_notes

router = APIRouter(tags=["notes"])


class NewNote(BaseModel):
    """A few words about a step, or about the run."""

    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(max_length=4000)]
    step: Annotated[int | None, Field(ge=0, le=2**53)] = None


@router.get("/runs/{run}/notes")
@as_json
def index(request: Request, library: Lib, run: RunId) -> NoteList:
    """Every note by time, as people left it. Losses and output lines have kinds of their own.

    `POST /api/project` with kind `edit` changes the words of one, or leaves it out.
    """
    with library.reading(run) as reader:
        return {"notes": edited(run_notes(reader), edits_of(request, run))}


@router.post("/runs/{run}/notes")
@as_json
def create(library: Lib, run: RunId, note: NewNote) -> NoteShape:
    """Write a note to a file of its own in the run's folder, so that training is not disturbed."""
    text = note.text.strip()
    if not text:
        raise BadInput("`text` is empty: a note needs words")
    with library.reading(run) as reader:
        row = notes.write(reader.path, {"kind": "note", "text": text, "step": note.step})
        reader.refresh()
        return next(one for one in reversed(run_notes(reader)) if one["time_ns"] == float(row["time_ns"]))
