"""The bin: runs that were deleted, and can come back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.server.deps import Lib
from rollscope.server.reply import as_json
from rollscope.server.shapes import DeletedList
from rollscope.server.sign_in.needs import audit
from rollscope.store.project import deleted

from .log import MOST_CHANGES, project_of

router = APIRouter(tags=["bin"])


class Chosen(BaseModel):
    """Runs by id."""

    model_config = ConfigDict(extra="forbid")
    ids: Annotated[list[Annotated[str, Field(max_length=255)]], Field(min_length=1, max_length=MOST_CHANGES)]


@router.get("/bin")
@as_json
def index(request: Request) -> DeletedList:
    """The runs in the bin, the one deleted last first."""
    return {"runs": [run.shape() for run in deleted.deleted(project_of(request))]}  # type: ignore[misc]


@router.post("/bin")
@as_json
def create(request: Request, library: Lib, body: Chosen) -> DeletedList:
    """Move runs to the bin. A run that is alive is refused, and then none is moved."""
    deleted.delete(project_of(request), body.ids, library.reading)
    audit(request, "deleted", body.ids)
    return _told(request)


@router.post("/bin/restore")
@as_json
def restore(request: Request, body: Chosen) -> DeletedList:
    """Bring runs back from the bin."""
    deleted.restore(project_of(request), body.ids)
    audit(request, "restored", body.ids)
    return _told(request)


@router.post("/bin/remove")
@as_json
def remove(request: Request, body: Chosen) -> DeletedList:
    """Remove runs in the bin from the disk, for good."""
    deleted.remove(project_of(request), body.ids)
    audit(request, "removed for good", body.ids)
    return _told(request)


def _told(request: Request) -> DeletedList:
    request.app.state.library.look_again()
    request.app.state.watcher.tell_runs()
    return {"runs": [run.shape() for run in deleted.deleted(project_of(request))]}  # type: ignore[misc]
