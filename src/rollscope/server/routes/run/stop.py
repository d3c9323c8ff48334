"""Ask a running training to stop, as `rollscope stop` does."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from rollscope.notify.stop import ask
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.shapes import StopShape
from rollscope.store.log.stop import StopRequest
from rollscope.store.notes import author

router = APIRouter(tags=["stop"])


class Wish(BaseModel):
    """Why the run should stop."""

    model_config = ConfigDict(extra="forbid")
    why: Annotated[str, Field(max_length=2000, description="the reason, kept as a note")] = ""


@router.post("/runs/{run}/stop")
@as_json
def create(library: Lib, run: RunId, wish: Wish) -> StopShape:
    """Ask the current attempt to stop after a checkpoint. A run that cannot hear answers 409."""
    with library.reading(run) as reader:
        reader.refresh()  # whether it hears may have changed just now
        request = ask(reader, wish.why.strip() or "no reason given", author(), reader.last_step)
        reader.refresh()
    return shape(request)


def stop_shape(request: StopRequest | None) -> StopShape | None:
    """A request as the API shows it."""
    return None if request is None else shape(request)


def shape(request: StopRequest) -> StopShape:
    return {
        "attempt": request.attempt,
        "why": request.why,
        "by": request.by,
        "time_ns": float(request.time_ns),
    }
