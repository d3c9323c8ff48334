"""Samples that people marked, and the sets they collected; marks are made with POST /project."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.server.deps import Lib, RunId
from rollscope.server.questions.asking import answered
from rollscope.server.reply import as_json
from rollscope.server.routes.project.log import project_of
from rollscope.store.project.sample_marks import sample_marks, sets
from rollscope.views.sets.formats import ENDINGS, SetFormat
from rollscope.views.sets.marked import MarkedList, marked_samples

router = APIRouter(tags=["sets"])
SECONDS = 60.0
TYPES: dict[SetFormat, str] = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "inspect": "application/json",
    "hf": "application/zip",
}


class SetMember(TypedDict):
    run: str
    sample: str


class Sets(TypedDict):
    sets: dict[str, list[SetMember]]


@router.get("/sets")
@as_json
def index(request: Request) -> Sets:
    """The sets by name, each with its samples."""
    return {"sets": sets(project_of(request))}


@router.get("/sets/{name}/export", response_class=Response)
async def export(request: Request, library: Lib, name: str, format: SetFormat = "jsonl") -> Response:
    """A set as JSON lines, CSV, Parquet, an Inspect log, or a zipped folder for `datasets`."""
    file = (re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII)[:80].strip("-.") or "set") + ENDINGS[format]
    headers = {"content-disposition": f'attachment; filename="{file}"', "cache-control": "no-store"}
    question = {"path": library.path, "name": name, "format": format}
    return await answered(request, "samples_of_set", SECONDS, question, TYPES[format], headers)


@router.get("/runs/{run}/marked")
@as_json
def marked(request: Request, library: Lib, run: RunId, q: Annotated[str, Query(max_length=2000)] = "") -> MarkedList:
    """Samples of a run that people marked, newest step first, that pass the filter words `q`."""
    with library.reading(run) as reader:
        return marked_samples(reader, sample_marks(project_of(request), run), q)
