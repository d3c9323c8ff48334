"""The values of many metrics and runs as one CSV, for as many as the page shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from rollscope.errors import UnknownMetric
from rollscope.server.deps import Lib
from rollscope.server.library import Library
from rollscope.views.charts.series_csv import RUNS_HEAD, run_lines

router = APIRouter(tags=["series"])
MOST_RUNS, MOST_NAMES = 1000, 20_000
AT_ONCE = 50  # metrics that are read while a run is locked
Step = Annotated[int | None, Field(ge=-(2**53), le=2**53)]


class Shown(BaseModel):
    """Metrics, runs and steps, as the page shows them."""

    model_config = ConfigDict(extra="forbid")
    runs: Annotated[list[Annotated[str, Field(max_length=255)]], Field(min_length=1, max_length=MOST_RUNS)]
    names: Annotated[list[str], Field(max_length=MOST_NAMES)]
    first: Step = None
    last: Step = None


@router.post("/csv", response_class=StreamingResponse, responses={200: {"content": {"text/csv": {}}}})
def shown_csv(library: Lib, ask: Shown) -> StreamingResponse:
    """Every merged value of all these metrics and runs: run, name, step, time_ns, value, weight."""
    for id in ask.runs:
        with library.reading(id):  # an unknown run is refused before the first line
            pass
    return StreamingResponse(_lines(library, ask), media_type="text/csv", headers={"cache-control": "no-store"})


def _lines(library: Library, ask: Shown) -> Iterator[str]:
    yield RUNS_HEAD
    for id in ask.runs:
        for at in range(0, len(ask.names), AT_ONCE):
            yield _some(library, id, ask, ask.names[at : at + AT_ONCE])


def _some(library: Library, id: str, ask: Shown, names: list[str]) -> str:
    """The lines of some metrics. A run that does not log one has no line of it."""
    lines = []
    with library.reading(id) as run:
        for name in names:
            with contextlib.suppress(UnknownMetric):
                lines.append(run_lines(run, id, name, ask.first, ask.last))
    return "".join(lines)
