"""Why a metric moved between two steps or ranges: what each group and kind of sample adds."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.errors import RollscopeError
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import json_reply
from rollscope.views.samples import sample_steps
from rollscope.views.why.leading import WhyShape, leading
from rollscope.views.why.run import quantity_on, why_of

router = APIRouter(tags=["rollouts"])
MOST_PARTS = 40
Metric = Annotated[str, Query(max_length=1000)]
Step = Annotated[int, Query(ge=-(2**53), le=2**53)]
Since = Annotated[int | None, Query(ge=-(2**53), le=2**53)]


class Able(TypedDict):
    able: bool
    says: str


@router.get("/runs/{run}/why/able")
def able(library: Lib, run: RunId, metric: Metric, step: Step = 2**53) -> Able:
    """Can this metric be explained at a step?

    It must be a mean or a share over samples, and an earlier step must have samples.
    """
    with library.reading(run) as reader:
        try:
            quantity_on(reader, metric)
        except RollscopeError as error:
            return {"able": False, "says": str(error)}
        if sample_steps.near(reader, step)[1] is None:
            return {"able": False, "says": "There is no earlier step with samples to compare with."}
        return {"able": True, "says": ""}


@router.get("/runs/{run}/why", response_model=WhyShape)
def show(
    library: Lib,
    run: RunId,
    metric: Metric,
    step: Step,
    against: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    since: Annotated[Since, Query(description="first step of a range that ends at `step`")] = None,
    against_since: Annotated[Since, Query(description="first step of a range that ends at `against`")] = None,
    top: Annotated[int, Query(ge=1, le=MOST_PARTS)] = 8,
    over: Literal["", "all"] = "",
) -> Response:
    """What moved a metric since another step, by default the one before.

    It reads the samples that the metric covers, or all. A step without samples means the last
    before it that has some. With `since` and `against_since` two ranges are compared, by prompt.
    """
    with library.reading(run) as reader:
        if since is not None and against is not None and against_since is not None:
            ranges = why_of(reader, metric, (since, step), (against_since, against), "" if over == "all" else None)
            return json_reply(leading(reader, ranges, step, top))
        at, before, _ = sample_steps.near(reader, step)
        other = before if against is None else sample_steps.near(reader, against)[0]
        answer = why_of(reader, metric, step if at is None else at, other, "" if over == "all" else None)
        return json_reply(leading(reader, answer, step, top))
