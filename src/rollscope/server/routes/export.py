"""Samples to take away, by id or by condition, as JSON lines, Parquet or Markdown."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.views.samples.sample_export import Format, exported, samples_in_order

router = APIRouter(tags=["rollouts"])
TYPES: dict[Format, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown; charset=utf-8",
}
MOST = 100_000


class Selection(TypedDict):
    ids: list[str]
    format: Format


@router.post("/runs/{run}/export", response_class=Response)
def selected(library: Lib, run: RunId, ask: Selection) -> Response:
    """The samples with these ids, in this order."""
    ids = ask["ids"]
    if len(ids) > MOST:
        raise BadInput(f"at most {MOST:,} samples at a time, not {len(ids):,}. The whole run: rollscope export {run}")
    with library.reading(run) as reader:
        return _file(run, ask["format"], exported(reader, samples_in_order(reader, ids), ask["format"]))


@router.get("/runs/{run}/export", response_class=Response)
def by_condition(
    library: Lib,
    run: RunId,
    format: Format = "jsonl",
    where: Annotated[str | None, Query(max_length=10_000)] = None,
    order_by: Annotated[str | None, Query(max_length=1000)] = None,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 1000,
) -> Response:
    """Samples by an SQL condition over their columns."""
    with library.reading(run) as reader:
        samples = reader.samples(where=where, order_by=order_by, step=step, limit=limit, as_arrow=True)
        return _file(run, format, exported(reader, samples, format))


def _file(run: str, format: Format, data: bytes) -> Response:
    name = re.sub(r"[^\w.-]+", "-", run)[:80] or "run"
    headers = {"content-disposition": f'attachment; filename="{name}-samples.{format}"', "cache-control": "no-store"}
    return Response(data, media_type=TYPES[format], headers=headers)
