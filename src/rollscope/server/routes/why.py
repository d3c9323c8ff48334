"""Why a metric moved between two steps: what each group and each kind of sample adds to the change."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.errors import RollscopeError
from rollscope.server.deps import Lib, RunId
from rollscope.views.samples import rollouts
from rollscope.views.why.quantity import quantity
from rollscope.views.why.run import why_of
from rollscope.views.why.why import Why

from .rollouts import line, text_reply

router = APIRouter(tags=["rollouts"])
TOP = 40  # parts that travel; the rest are counted and summed


class WhyPart(TypedDict):
    group: str
    task: str
    prompt: str
    adds: float
    count: int
    mean: float


class WhyRest(TypedDict):
    """The groups beyond the listed ones, by direction."""

    down: int
    down_adds: float
    up: int
    up_adds: float


class WhyKind(TypedDict):
    name: str
    more: float
    each: float
    share: float
    share_before: float
    mean: float | None
    mean_before: float | None


class WhyShape(TypedDict):
    metric: str
    step: int
    against: int
    asked: int
    now: float | None
    before: float | None
    change: float | None
    parts: list[WhyPart]
    rest: WhyRest
    kinds: dict[str, list[WhyKind]]
    counted: list[int]
    left_out: list[int]
    population: str
    recorded: list[float | None]
    agrees: bool | None


class Able(TypedDict):
    able: bool
    says: str


@router.get("/runs/{run}/why/able")
def able(
    library: Lib,
    run: RunId,
    metric: Annotated[str, Query(max_length=1000)],
    step: Annotated[int, Query(ge=-(2**53), le=2**53)] = 2**53,
) -> Able:
    """Can this metric be taken apart at a step: is it a mean or a share over samples, and do samples lie before it?"""
    with library.reading(run) as found:
        try:
            quantity(metric, found.facts.get("framework") or None)
        except RollscopeError as error:
            return {"able": False, "says": str(error)}
        before = rollouts.near(found, step)[1]
        return {
            "able": before is not None,
            "says": "" if before is not None else "There is no earlier step with samples to compare with.",
        }


@router.get("/runs/{run}/why", response_model=WhyShape)
def show(
    library: Lib,
    run: RunId,
    metric: Annotated[str, Query(max_length=1000)],
    step: Annotated[int, Query(ge=-(2**53), le=2**53)],
    against: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    top: Annotated[int, Query(ge=1, le=TOP)] = 8,
    over: Literal["", "all"] = "",
) -> Response:
    """What moved it since another step (the one before), over the samples it is over, or over all. A step without samples means the last before it that has some."""
    with library.reading(run) as found:
        at, before, _ = rollouts.near(found, step)
        other = before if against is None else rollouts.near(found, against)[0]
        answer = why_of(found, metric, step if at is None else at, other, "" if over == "all" else None)
        return text_reply(_shape(answer, step, top, _prompts(found, answer, top)))


def _prompts(run: Any, answer: Why, top: int) -> dict[str, str]:
    """The first words of what the leading groups were asked."""
    wanted = {p.group for p in answer.parts[:top]}
    rows = run.samples(step=answer.step, columns=["id", "group", "task"])
    names = {
        g or t or i: i
        for g, t, i in zip(rows["group"], rows["task"], rows["id"], strict=True)
        if (g or t or i) in wanted
    }
    texts = (
        run.samples(ids=list(filter(None, names.values())), columns=["id", "prompt"])
        if names
        else {"id": [], "prompt": []}
    )
    said = dict(zip(texts["id"], texts["prompt"], strict=True))
    return {group: line(said.get(id)) for group, id in names.items()}


def _shape(answer: Why, asked: int, top: int, prompts: dict[str, str]) -> WhyShape:
    whole: Any = answer.json()
    rest = answer.parts[top:]
    down, up = [p.adds for p in rest if p.adds < 0], [p.adds for p in rest if p.adds > 0]
    return {  # type: ignore[typeddict-item]
        **whole,
        "asked": asked,
        "parts": [{**part, "prompt": prompts.get(part["group"], "")} for part in whole["parts"][:top]],
        "rest": {"down": len(down), "down_adds": sum(down), "up": len(up), "up_adds": sum(up)},
    }
