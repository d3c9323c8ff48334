"""Failures of the environment and the grader."""

from __future__ import annotations

from fastapi import APIRouter

from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.views.environment.page import EnvironmentShape, page

router = APIRouter(tags=["environment"])


@router.get("/runs/{run}/environment")
@as_json
def index(library: Lib, run: RunId) -> EnvironmentShape:
    """Failures by cause over time, by task, by worker and by tool."""
    with library.reading(run) as reader:
        return reader.remember("environment", lambda: page(reader))
