"""Questions in SQL from the page: one statement that reads, over one run, stopped when it takes too long or too much.

It has readers of its own: a question that runs for ten seconds must not hold up the charts beside it.
"""

from __future__ import annotations

import json
import math
import time
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.server.deps import RunId
from rollscope.server.library import Library
from rollscope.server.reply import as_json
from rollscope.server.shapes import SqlAnswer, TableList
from rollscope.store.schema import TABLES
from rollscope.strict_json import number as wire

router = APIRouter(tags=["sql"])
SECONDS = 10.0
ROWS = 5000
CELL = 2000  # characters of a cell that travel
EXACT = 2**53  # whole numbers beyond this are not numbers to a browser


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: Annotated[str, Field(max_length=20_000, description="one SELECT over the tables")]


@router.get("/tables")
@as_json
def tables() -> TableList:
    """The tables a question may be about, with their columns in words."""
    return {
        "tables": [
            {"name": name, "columns": [{"name": c.name, "type": c.type, "says": c.doc} for c in columns]}
            for name, columns in TABLES.items()
        ]
    }


@router.post("/runs/{run}/sql")
@as_json
def ask(request: Request, run: RunId, question: Question) -> SqlAnswer:
    """The answer to a question, at most 5,000 rows of it. Nothing can be written."""
    library: Library = request.app.state.asked
    began = time.perf_counter()
    with library.reading(run) as found:
        answer = found.sql(question.query, as_arrow=True, seconds=SECONDS)
    shown = answer.slice(0, ROWS)
    columns = [[_cell(v) for v in column.to_pylist()] for column in shown.columns]
    return {
        "columns": [
            {"name": name, "type": str(type_)}
            for name, type_ in zip(answer.column_names, answer.schema.types, strict=True)
        ],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "total": len(answer),
        "seconds": time.perf_counter() - began,
    }


def _cell(value: Any) -> Any:
    """A value as a browser can show it: null, a truth, a number it can hold, or text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else wire(value)
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, default=str, ensure_ascii=False)
        if isinstance(value, list | dict)
        else str(value)
    )
    return text if len(text) <= CELL else f"{text[:CELL]}… and {len(text) - CELL:,} characters more"
