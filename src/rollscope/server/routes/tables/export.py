"""Samples to take away, by id or by condition, as JSON lines, Parquet, CSV or Markdown.

A process of its own makes the file: a condition is SQL, and a hundred thousand samples are large.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.questions.asking import answered
from rollscope.views.samples.sample_export import Format

router = APIRouter(tags=["rollouts"])
TYPES: dict[Format, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}
MOST = 100_000
SECONDS = 60.0


class Selection(TypedDict):
    ids: list[str]
    format: Format


@router.post("/runs/{run}/export", response_class=Response)
async def selected(request: Request, library: Lib, run: RunId, ask: Selection) -> Response:
    """The samples with these ids, in this order."""
    ids, format = ask["ids"], ask["format"]
    if len(ids) > MOST:
        raise BadInput(f"at most {MOST:,} samples at a time, not {len(ids):,}. The whole run: rollscope export {run}")
    return await _file(request, "samples_by_id", {"path": library.path, "run": run, "ids": ids, "format": format})


@router.get("/runs/{run}/export", response_class=Response)
async def by_condition(
    request: Request,
    library: Lib,
    run: RunId,
    format: Format = "jsonl",
    where: Annotated[str | None, Query(max_length=10_000)] = None,
    order_by: Annotated[str | None, Query(max_length=1000)] = None,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 1000,
) -> Response:
    """Samples by an SQL condition over their columns."""
    condition = {"where": where, "order_by": order_by, "step": step, "limit": limit}
    question = {"path": library.path, "run": run, "format": format, **condition}
    return await _file(request, "samples_by_condition", question)


async def _file(request: Request, kind: str, question: Mapping[str, Any]) -> Response:
    format: Format = question["format"]
    name = re.sub(r"[^\w.-]+", "-", question["run"], flags=re.ASCII)[:80] or "run"
    headers = {"content-disposition": f'attachment; filename="{name}-samples.{format}"', "cache-control": "no-store"}
    return await answered(request, kind, SECONDS, question, TYPES[format], headers)
