"""Samples of a step as rows with previews, and one sample in full. Text is never markup."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.views.samples.sample_detail import sample_detail
from rollscope.views.samples.sample_list import Order, SampleList, sample_list

router = APIRouter(tags=["samples"])


@router.get("/runs/{run}/samples")
@as_json
def index(
    library: Lib,
    run: RunId,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    order: Order = "worst",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    metric: Annotated[str, Query(max_length=400, description="with a step: only samples behind this metric")] = "",
) -> SampleList:
    """Samples of a step, or of the run, with previews only."""
    with library.reading(run) as reader:
        return sample_list(reader, step, order, limit, metric)


@router.get("/runs/{run}/samples/{sample}")
@as_json
def show(library: Lib, run: RunId, sample: str) -> dict[str, Any]:
    """Everything about one sample, with its turns."""
    with library.reading(run) as reader:
        return sample_detail(reader, sample)
