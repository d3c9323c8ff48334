"""What a run printed, line by line, for a page that follows it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.shapes import OutputShape
from rollscope.views.summary.run_notes import printed_lines

router = APIRouter(tags=["runs"])
MOST = 20_000  # lines of one answer


@router.get("/runs/{run}/output")
@as_json
def index(
    library: Lib,
    run: RunId,
    after: Annotated[int, Query(ge=0, le=2**53, description="lines one has already")] = 0,
) -> OutputShape:
    """Lines after the first `after`, the newest 20,000 of them, and how many there are in all."""
    with library.reading(run) as reader:
        lines = reader.remember("printed", lambda: printed_lines(reader))
    first = max(after, len(lines) - MOST)
    return {"first": first, "lines": lines[first:], "total": len(lines)}
