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
from rollscope.views.samples.search import Hit, Narrow, in_samples, in_turns, told

router = APIRouter(tags=["rollouts"])
TOLD = 500  # hits that are told at once
AGAIN = 5  # times that a search begins anew because its files were merged
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
    """Lines, some at a time.

    A place among the searches is taken while something is looked for, not while somebody reads: a tab that sleeps keeps nobody waiting.
    """
    found = 0
    seen: set[str] = set()
    with closing(_some(library, id, text, case)) as stretches:
        while found < limit:
            with _TWO:
                fits = next(stretches, None)
                if fits is None:
                    break
                with library.reading(id) as run:
                    hits = told(run, fits if narrow else fits[: limit - found], text, case, narrow)[: limit - found]
            seen |= {hit.id for hit in hits}
            found += len(hits)
            yield (
                "".join(map(_line, hits)) + json.dumps({"found": found}) + "\n"
            )  # also when there was nothing: here a reader that has gone is noticed
    if found < limit:
        with _TWO, library.reading(id) as run:
            more = [hit for hit in in_turns(run, text, case, narrow) if hit.id not in seen][: limit - found]
        found += len(more)
        yield "".join(map(_line, more))
    yield json.dumps({"end": True, "found": found, "cut": found >= limit}) + "\n"


def _some(library: Library, id: str, text: str, case: bool) -> Generator[list[Found], None, None]:
    """What is found, a few at a time, outside the run's lock, since a search may take long.

    When files are merged meanwhile it begins again, with what has not been found.
    """
    known: set[str] = set()
    for left in range(AGAIN, -1, -1):
        with library.reading(id) as run:
            if left < AGAIN:
                run.refresh()
            stretches = in_samples(run, text, case)
        try:
            for stretch in stretches:
                fresh = [found for found in stretch if found[0] not in known]
                known |= {found[0] for found in fresh}
                yield from (fresh[at : at + TOLD] for at in range(0, max(1, len(fresh)), TOLD))
            return
        except FileNotFoundError:
            if not left:
                raise


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
