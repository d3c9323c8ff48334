"""SQL from the page: one reading statement over one run, stopped when it takes too long.

A process of its own answers it, so a query that takes ten seconds, or all the memory it may, does
not hold up the charts.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rollscope.server.deps import Lib, RunId
from rollscope.server.questions.asking import answered
from rollscope.server.reply import NO_STORE, as_json
from rollscope.server.shapes import SqlAnswer, TableList
from rollscope.store.schema import TABLES

router = APIRouter(tags=["sql"])
SECONDS = 10.0


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


@router.post("/runs/{run}/sql", response_model=SqlAnswer)
async def ask(request: Request, library: Lib, run: RunId, question: Question) -> Response:
    """The answer to a query, at most 5,000 rows of it. A query can only read."""
    asked = {"path": library.path, "run": run, "query": question.query, "seconds": SECONDS}
    return await answered(request, "sql", SECONDS, asked, "application/json", NO_STORE)
