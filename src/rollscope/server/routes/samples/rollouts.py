"""Rollouts: the samples of a step as columns, the texts of some, and every prompt's history.

Ten thousand samples of a step are a few arrays on the wire. Texts are sent only for the samples on
the screen, their first 64,000 characters first.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse
from typing_extensions import TypedDict

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.server.reply import NO_STORE, json_line, json_reply
from rollscope.views.samples import previews as prompt_previews
from rollscope.views.samples import prompt_visits as visits_of
from rollscope.views.samples.rollout_columns import rollout_columns
from rollscope.views.samples.sample_detail import rest_of_text, sample_details

router = APIRouter(tags=["rollouts"])
PACKED: dict[int | str, dict[str, Any]] = {200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns"}}
LINE_CHARACTERS = 200_000  # of a long text in one line
MOST_SAMPLES = 16  # in full in one reply
MOST_PREVIEWS = 400
Step = Annotated[int | None, Query(ge=-(2**53), le=2**53)]


class Ids(TypedDict):
    ids: list[str]


class TextAsk(TypedDict):
    id: str
    field: str
    start: int


@router.get("/runs/{run}/rollouts", response_class=Response, responses=PACKED)
def index(
    library: Lib,
    run: RunId,
    step: Step = None,
    texts: Annotated[int, Query(ge=0, le=MOST_SAMPLES)] = 0,
    stepless: bool = False,
) -> Response:
    """The samples of a step without text: ids, groups, rewards, fates.

    A step without samples means the last before it that has some; no step means the newest that was
    trained on. `stepless` asks for the newest samples that name no step. `texts` includes the first
    samples of the list in full, which saves a request.
    """
    with library.reading(run) as reader:
        return reply(*rollout_columns(reader, step, texts, stepless))


@router.post("/runs/{run}/rollouts/samples", response_class=Response)
def samples(library: Lib, run: RunId, ask: Ids) -> Response:
    """Some samples in full with their turns; of a long text the first part, and its length."""
    if len(ask["ids"]) > MOST_SAMPLES:
        raise BadInput(f"at most {MOST_SAMPLES} samples at a time, not {len(ask['ids'])}: ask for those on the screen")
    with library.reading(run) as reader:
        return json_reply({"samples": sample_details(reader, ask["ids"])})


@router.post("/runs/{run}/rollouts/text", response_class=Response)
def text(library: Lib, run: RunId, ask: TextAsk) -> Response:
    """A long text from a character on, in lines of JSON strings, to be read part by part."""
    with library.reading(run) as reader:
        rest = rest_of_text(reader, ask["id"], ask["field"], ask["start"])
    lines = (json_line(rest[at : at + LINE_CHARACTERS]) for at in range(0, len(rest), LINE_CHARACTERS))
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=NO_STORE)


@router.post("/runs/{run}/rollouts/previews", response_class=Response)
def previews(library: Lib, run: RunId, ask: Ids) -> Response:
    """The first words of some samples' prompts."""
    if len(ask["ids"]) > MOST_PREVIEWS:
        raise BadInput(f"at most {MOST_PREVIEWS} previews at a time, not {len(ask['ids'])}: ask for rows on the screen")
    with library.reading(run) as reader:
        return json_reply({"lines": prompt_previews.previews(reader, ask["ids"])})


@router.get("/runs/{run}/visits", response_class=Response)
def visits(library: Lib, run: RunId, step: Annotated[int, Query(ge=-(2**53), le=2**53)]) -> Response:
    """For each task of a step, its visit before and its mean reward then."""
    with library.reading(run) as reader:
        return json_reply({"tasks": visits_of.visits_before(reader, step)})


@router.get("/runs/{run}/prompts", response_class=Response, responses=PACKED)
def prompts(library: Lib, run: RunId) -> Response:
    """Every prompt with its visits: solved, forgotten (solved before, not now) or never solved."""
    with library.reading(run) as reader:
        return reply(*visits_of.prompt_table(reader))


@router.get("/runs/{run}/prompts/visits", response_class=Response)
def prompt_visits(
    library: Lib, run: RunId, task: Annotated[str, Query(max_length=100_000)], near: Step = None
) -> Response:
    """One prompt over the steps: its groups with each answer's reward, newest or near a step."""
    with library.reading(run) as reader:
        return json_reply(visits_of.prompt_visits(reader, task, near))
