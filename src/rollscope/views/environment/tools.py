"""Tools of a run: how often each was called, how often it failed, how long it took."""

from __future__ import annotations

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.strict_json import Number

MOST = 20
QUERY = """
select tool, count(*) as calls, count(*) filter (where ok = false) as failed,
       quantile_cont(seconds, 0.5) as p50, quantile_cont(seconds, 0.95) as p95
from turns where tool is not null and tool <> '' group by tool order by calls desc limit ?
"""


class ToolRow(TypedDict):
    name: str
    calls: int
    failed: int
    p50: Number
    p95: Number


def tool_rows(run: Run) -> list[ToolRow]:
    """The tools that were called most, first."""
    rows = run.sql(QUERY, [MOST], as_arrow=True).to_pylist()
    return [
        {
            "name": str(row["tool"]),
            "calls": int(row["calls"]),
            "failed": int(row["failed"]),
            "p50": row["p50"],
            "p95": row["p95"],
        }
        for row in rows
    ]
