"""Samples to take away: the ones that are selected, as lines of JSON, as Parquet, or as Markdown to read and to send."""

from __future__ import annotations

import io
import re
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import APIRouter, Query
from starlette.responses import Response
from typing_extensions import TypedDict

from rollscope.errors import BadInput
from rollscope.server.deps import Lib, RunId
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.strict_json import plain
from rollscope.views.samples.sample_export import Rows, dumped, jsonl, markdown, rows, turns

router = APIRouter(tags=["rollouts"])
Format = Literal["jsonl", "parquet", "md"]
TYPES = {
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
    if len(ask["ids"]) > MOST:
        raise BadInput(
            f"at most {MOST:,} samples at a time, not {len(ask['ids']):,}. The whole run: rollscope export {run}"
        )
    with library.reading(run) as found:
        table = found.samples(ids=ask["ids"], as_arrow=True)
        place = {id: i for i, id in enumerate(ask["ids"])}
        ids = arrow.numpy(table.select(["id", arrow.ESCAPED]), tables.types("samples"))["id"].tolist()
        table = table.take(pa.array(sorted(range(len(ids)), key=lambda i: place[ids[i]]), pa.int64()))
        return _written(found, run, table, ask["format"])


@router.get("/runs/{run}/export", response_class=Response)
def asked(
    library: Lib,
    run: RunId,
    format: Format = "jsonl",
    where: Annotated[str | None, Query(max_length=10_000)] = None,
    order_by: Annotated[str | None, Query(max_length=1000)] = None,
    step: Annotated[int | None, Query(ge=-(2**53), le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 1000,
) -> Response:
    """Samples by a condition in SQL over their columns."""
    with library.reading(run) as found:
        return _written(
            found, run, found.samples(where=where, order_by=order_by, step=step, limit=limit, as_arrow=True), format
        )


def _written(run: Run, id: str, found: pa.Table, format: Format) -> Response:
    name = re.sub(r"[^\w.-]+", "-", id)[:80] or "run"
    headers = {"content-disposition": f'attachment; filename="{name}-samples.{format}"', "cache-control": "no-store"}
    return Response(_data(run, found, format), media_type=TYPES[format], headers=headers)


def _data(run: Run, found: pa.Table, format: Format) -> bytes:
    samples = rows(found)
    said = turns(run, samples)
    if format == "parquet":
        return _parquet(found, [said.get(row["id"]) for row in samples])
    text = "".join(jsonl(row, said.get(row["id"])) for row in samples) if format == "jsonl" else markdown(samples, said)
    return text.encode("utf-8", "replace")


def _parquet(found: pa.Table, said: list[Rows | None]) -> bytes:
    """As the store has them: where a lone surrogate is escaped the column `escaped` says so, since Parquet has no text for one. Turns as JSON."""
    whole = found[arrow.ESCAPED].null_count == len(found)
    found = found.drop_columns([arrow.SEQ, arrow.ESCAPED] if whole else [arrow.SEQ])
    if any(said):
        found = found.append_column(
            "turn_rows",
            pa.array(
                [None if turns is None else dumped(plain(turns, surrogates=True)) for turns in said], pa.large_string()
            ),
        )
    out = io.BytesIO()
    pq.write_table(found, out, compression="zstd")
    return out.getvalue()
