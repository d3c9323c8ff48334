"""SQL from the page: one reading statement over one run, stopped when it takes too long.

It has readers of its own, so a query that runs for ten seconds does not hold up the charts.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope import strict_json
from rollscope.server.deps import RunId
from rollscope.server.library import Library
from rollscope.server.reply import as_json
from rollscope.server.shapes import SqlAnswer, TableList
from rollscope.store.schema import TABLES

router = APIRouter(tags=["sql"])
SECONDS = 10.0
MOST_ROWS = 5000
CELL_CHARACTERS = 2000
EXACT = 2**53  # a browser cannot hold larger whole numbers


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: Annotated[str, Field(max_length=20_000, description="one SELECT over the tables")]


@router.get("/tables")
@as_json
def tables() -> TableList:
    """The tables that a query can read, with their columns in words."""
    return {
        "tables": [
            {"name": name, "columns": [{"name": c.name, "type": c.type, "says": c.doc} for c in columns]}
            for name, columns in TABLES.items()
        ]
    }


@router.post("/runs/{run}/sql")
@as_json
def ask(request: Request, run: RunId, question: Question) -> SqlAnswer:
    """The answer to a query, at most 5,000 rows of it. A query can only read."""
    library: Library = request.app.state.sql_library
    began = time.perf_counter()
    with library.reading(run) as reader:
        table = reader.sql(question.query, as_arrow=True, seconds=SECONDS)
    columns = [[_cell(value) for value in column.to_pylist()] for column in table.slice(0, MOST_ROWS).columns]
    types = zip(table.column_names, table.schema.types, strict=True)
    return {
        "columns": [{"name": name, "type": str(type_)} for name, type_ in types],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "total": len(table),
        "seconds": time.perf_counter() - began,
    }


def _cell(value: Any) -> Any:
    """A value that a browser can show: null, true, false, a number it can hold, or text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, float):
        return strict_json.number(value)
    text = json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
    if len(text) <= CELL_CHARACTERS:
        return text
    return f"{text[:CELL_CHARACTERS]}… and {len(text) - CELL_CHARACTERS:,} characters more"
