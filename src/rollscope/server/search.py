"""Full-text search over a run: every sample whose prompt, answer or turns contain a phrase, newest steps first, told as they are found.

Answers are lines of JSON. Nothing is held while the next lines are waited for, and a reader that goes away stops the search.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.library import Library
from rollscope.views.search import Hit, Narrow, in_samples, in_turns, told

router = APIRouter(tags=["rollouts"])
TOLD = 500  # hits that are told at once
Found = tuple[str, str, str]
_TWO = threading.BoundedSemaphore(2)  # searches at a time: a forgotten tab must not take the machine


@router.get(
    "/runs/{run}/search",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "lines: hits, progress, and an end"}},
)
def search(
    library: Lib,
    run: RunId,
    text: Annotated[str, Query(min_length=1, max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=10_000)] = 500,
    case: bool = False,
    q: Annotated[str, Query(max_length=2000)] = "",
    fate: Literal["", "trained", "dropped", "eval"] = "",
) -> Response:
    """Samples that contain a phrase, as they are found; with filter words (`q`) and a fate, those of them that pass."""
    with library.reading(run):
        pass  # an unknown run is an error now, not a broken stream
    if not text.strip():
        raise BadInput("there is nothing to look for in blanks: type a word or a phrase")
    return StreamingResponse(
        _lines(library, run, text, limit, case, Narrow(q, fate)),
        media_type="application/x-ndjson",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


def _lines(library: Library, id: str, text: str, limit: int, case: bool, narrow: Narrow) -> Iterator[str]:
    """Lines, some at a time. A place among the searches is taken while something is looked for, not while somebody reads: a tab that sleeps keeps nobody waiting."""
    found = 0
    seen: set[str] = set()
    with library.reading(id) as run:
        stretches = _some(in_samples(run, text, case))
    with closing(stretches):
        while found < limit:
            with _TWO:
                fits = next(stretches, None)  # outside the lock: a search may take long, and reads only what does not change
                if fits is None:
                    break
                with library.reading(id) as run:
                    hits = told(run, fits if narrow else fits[: limit - found], text, case, narrow)[: limit - found]
            seen |= {hit.id for hit in hits}
            found += len(hits)
            yield "".join(map(_line, hits)) + json.dumps({"found": found}) + "\n"  # also when there was nothing: here a reader that has gone is noticed
    if found < limit:
        with _TWO, library.reading(id) as run:
            more = [hit for hit in in_turns(run, text, case, narrow) if hit.id not in seen][: limit - found]
        found += len(more)
        yield "".join(map(_line, more))
    yield json.dumps({"end": True, "found": found, "cut": found >= limit}) + "\n"


def _some(stretches: Iterator[list[Found]]) -> Generator[list[Found], None, None]:
    """Stretches cut so that a few hits are told at once, however many a stretch has."""
    for stretch in stretches:
        yield from (stretch[at : at + TOLD] for at in range(0, max(1, len(stretch)), TOLD))


def _line(hit: Hit) -> str:
    shape: dict[str, Any] = {
        "id": hit.id,
        "step": hit.step,
        "group": hit.group,
        "reward": hit.reward,
        "where": hit.where,
        "before": hit.before,
        "match": hit.match,
        "after": hit.after,
    }
    return json.dumps({"hit": shape}) + "\n"
