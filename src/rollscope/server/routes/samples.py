"""Samples of a step as rows with previews, and one sample whole. Text travels as text: nothing here is ever markup."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query

from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.server.shapes import SampleList, SampleRow
from rollscope.store.run import Run
from rollscope.strict_json import number as wire
from rollscope.strict_json import plain

router = APIRouter(tags=["samples"])
PREVIEW = 400
ROW = (
    "id",
    "group",
    "task",
    "env",
    "step",
    "reward",
    "score",
    "advantage",
    "completion_tokens",
    "stop_reason",
    "trained",
    "discard_reason",
    "prompt",
    "completion",
)
ORDERS = {
    "worst": "reward ASC NULLS LAST",
    "best": "reward DESC NULLS LAST",
    "longest": "completion_tokens DESC NULLS LAST",
    "newest": "time_ns DESC",
}


@router.get("/runs/{run}/samples")
@as_json
def index(
    library: Lib,
    run: RunId,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    order: Literal["worst", "best", "longest", "newest"] = "worst",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> SampleList:
    """Samples of a step (without one, of the run), previews only."""
    with library.reading(run) as found:
        columns = found.samples(step=step, order_by=ORDERS[order], limit=limit, columns=list(ROW))
        total = len(found.samples(step=step, columns=["id"])["id"])
    return {"samples": rows(columns), "total": total}


@router.get("/runs/{run}/samples/{sample}")
@as_json
def show(library: Lib, run: RunId, sample: str) -> dict[str, Any]:
    """Everything about one sample, with its turns."""
    with library.reading(run) as found:
        whole = dict(found.sample(sample))
        turns = found.turns(sample)
    count = len(next(iter(turns.values()))) if turns else 0
    return {
        **{k: _plain(v) for k, v in whole.items()},
        "turn_rows": [{k: _plain(v[i]) for k, v in turns.items()} for i in range(count)],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [wire(v) if isinstance(v, float) else v for v in value.tolist()]
    return None if isinstance(value, float) and value != value else plain(value, surrogates=True)


def rows(columns: Any) -> list[SampleRow]:
    return [_row({name: columns[name][i] for name in ROW}) for i in range(len(columns["id"]))]


def _row(r: dict[str, Any]) -> SampleRow:
    return {
        **{name: str(r[name] or "") for name in ("id", "group", "task", "env", "stop_reason", "discard_reason")},  # type: ignore[typeddict-item]
        **{name: str(r[name] or "")[:PREVIEW] for name in ("prompt", "completion")},
        "step": _int(r["step"]),
        **{name: _number(r[name]) for name in ("reward", "score", "advantage")},
        "tokens": _int(r["completion_tokens"]),
        "trained": None if r["trained"] is None else bool(r["trained"]),
    }


def _int(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def _number(value: Any) -> Any:
    """A missing number is null; the store has NaN for both here, and a reward that was never given is the usual one."""
    return None if value is None or value != value else wire(value)


def settled_step(run: Run, upto: int | None = None) -> int | None:
    """The newest step that has samples, at or before `upto`."""
    steps = run.samples(columns=["step"])["step"]
    known = [int(s) for s in steps if s is not None and s == s and (upto is None or s <= upto)]
    return max(known, default=None)


def scored_step(run: Run) -> int | None:
    """The newest step with a sample that has a reward."""
    found = run.samples(columns=["step", "reward"])
    known = [
        int(s)
        for s, r in zip(found["step"], found["reward"], strict=True)
        if s is not None and s == s and r is not None and r == r
    ]
    return max(known, default=None)
