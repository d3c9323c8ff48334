"""Full-text search over a run: samples with a phrase in a prompt, answer or turn, newest first.

The reply is lines of JSON, sent as hits are found. No lock is held while the reader takes the next
lines, and a reader that goes away stops the search. Searches have threads of their own.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.server.library import Library
from rollscope.server.questions.asking import client_of
from rollscope.server.questions.turns import Turns
from rollscope.store.project.sample_marks import sample_marks
from rollscope.views.samples.search import NOBODY, Hit, Narrow, Occurrence, Phrase, hits_at, hits_in_turns, occurrences

router = APIRouter(tags=["rollouts"])
BATCH = 500  # most hits sent at once
RETRIES = 5  # times a search starts over because compaction removed its files


@router.get(
    "/runs/{run}/search",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "lines: hits, progress, and an end"}},
)
def search(
    request: Request,
    library: Lib,
    run: RunId,
    text: Annotated[str, Query(min_length=1, max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=10_000)] = 500,
    case: bool = False,
    q: Annotated[str, Query(max_length=2000)] = "",
    fate: Literal["", "trained", "dropped", "eval"] = "",
) -> Response:
    """Samples that contain a phrase, and that pass the filter words `q` and the fate."""
    with library.reading(run):
        pass  # an unknown run is an error now, not a broken stream later
    if not text.strip():
        raise BadInput("`text` is blank: type a word or a phrase to look for")
    turns: Turns = request.app.state.turns
    narrow = Narrow(q, fate, sample_marks(request.app.state.project, run) if q else NOBODY)
    lines = _lines(library, run, Phrase(text, case), limit, narrow)
    return StreamingResponse(
        turns.items(client_of(request), lines),
        media_type="application/x-ndjson",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


def _lines(library: Library, id: str, phrase: Phrase, limit: int, narrow: Narrow) -> Generator[str]:
    """The lines of a reply. No thread is held while the reader takes one: a tab may sleep."""
    count = 0
    seen: set[str] = set()
    with closing(_batches(library, id, phrase)) as batches:
        while count < limit:
            batch = next(batches, None)
            if batch is None:
                break
            hits = _hits(library, id, batch, phrase, limit - count, narrow)
            seen |= {hit.id for hit in hits}
            count += len(hits)
            # Sent also after an empty batch: the server notices here that the reader has gone.
            yield "".join(map(_line, hits)) + json.dumps({"found": count}) + "\n"
    if count < limit:
        with library.reading(id) as run:
            more = [hit for hit in hits_in_turns(run, phrase, narrow) if hit.id not in seen][: limit - count]
        count += len(more)
        yield "".join(map(_line, more))
    yield json.dumps({"end": True, "found": count, "cut": count >= limit}) + "\n"


def _hits(library: Library, id: str, batch: list[Occurrence], phrase: Phrase, most: int, narrow: Narrow) -> list[Hit]:
    with library.reading(id) as run:
        return hits_at(run, batch if narrow else batch[:most], phrase, narrow)[:most]


def _batches(library: Library, id: str, phrase: Phrase) -> Generator[list[Occurrence], None, None]:
    """Places of the phrase, outside the run's lock, because a search may take long.

    If compaction removes a file mid-read, start over and skip the samples already found.
    """
    known: set[str] = set()
    for retries_left in range(RETRIES, -1, -1):
        with library.reading(id) as run:
            if retries_left < RETRIES:
                run.refresh()
            batches = occurrences(run, phrase)
        try:
            for batch in batches:
                fresh = [occurrence for occurrence in batch if occurrence[0] not in known]
                known |= {occurrence[0] for occurrence in fresh}
                yield from (fresh[at : at + BATCH] for at in range(0, max(1, len(fresh)), BATCH))
            return
        except FileNotFoundError:
            if not retries_left:
                raise


def _line(hit: Hit) -> str:
    return json.dumps({"hit": asdict(hit)}) + "\n"
