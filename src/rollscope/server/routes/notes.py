"""Notes of a run: what its processes said, and what people write into it from the page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.shapes import NoteList, NoteShape
from rollscope.store import notes

from .runs import notes_of

router = APIRouter(tags=["notes"])


class NewNote(BaseModel):
    """A few words about a step, or about the run."""

    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(max_length=4000)]
    step: Annotated[int | None, Field(ge=0, le=2**53)] = None


@router.get("/runs/{run}/notes")
@as_json
def index(library: Lib, run: RunId) -> NoteList:
    """Every note, in the order of their times; losses and output lines of the run's processes have their own kinds."""
    with library.reading(run) as found:
        return {"notes": notes_of(found)}


@router.post("/runs/{run}/notes")
@as_json
def create(library: Lib, run: RunId, note: NewNote) -> NoteShape:
    """Write a note. It goes to a file of its own in the run's folder; a process that trains is not disturbed."""
    text = note.text.strip()
    if not text:
        raise BadInput("a note needs words: `text` is empty")
    with library.reading(run) as found:
        row: dict[str, Any] = notes.write(found.path, {"kind": "note", "text": text, "step": note.step})
        found.refresh()
    return {"step": note.step, "time_ns": float(row["time_ns"]), "text": text, "kind": "note"}
