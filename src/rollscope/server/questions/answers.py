"""What the process for heavy questions can answer: each kind of question is a function here.

An answer is bytes, ready to be sent: they pass through the server unread.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rollscope import strict_json
from rollscope.lake import door
from rollscope.server.library import Library
from rollscope.store.listing.allowed import Allowed
from rollscope.store.tables.values import python_values
from rollscope.views.samples.sample_export import Format, exported, samples_in_order
from rollscope.views.sets.collected import collected
from rollscope.views.sets.formats import exported as exported_set

MOST_ROWS = 5000
CELL_CHARACTERS = 2000
EXACT = 2**53  # a browser cannot hold larger whole numbers
LIBRARIES = 4  # of people who see other runs; their readers stay open: the next question reads only new bytes
Seen = list[list[str]] | None  # projects and runs that the asker may see; None: all


@functools.lru_cache(LIBRARIES)
def _opened(path: str, allowed: Allowed | None) -> Library:
    return Library(path, allowed=allowed)


def _library(path: str, seen: Seen) -> Library:
    return _opened(path, _allowed(seen))


def _allowed(seen: Seen) -> Allowed | None:
    return None if seen is None else Allowed(*map(frozenset, seen))


def sql(path: str, run: str, query: str, seconds: float, allowed: Seen = None) -> bytes:
    """The answer to a query as the page shows it: JSON with at most 5,000 rows."""
    began = time.perf_counter()
    with _library(path, allowed).reading(run) as reader:
        table = reader.sql(query, as_arrow=True, seconds=seconds)
    columns = [[_cell(value) for value in python_values(column)] for column in table.slice(0, MOST_ROWS).columns]
    types = zip(table.column_names, table.schema.types, strict=True)
    answer = {
        "columns": [{"name": name, "type": str(type_)} for name, type_ in types],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "total": len(table),
        "seconds": time.perf_counter() - began,
    }
    return strict_json.encode(answer, compact=True)


def table(path: str, run: str | None, query: str, seconds: float) -> bytes:
    """The whole answer to a query over one run, or over all runs, as an Arrow stream."""
    store = door.open(path)
    answer: pa.Table = (store.run(run) if run else store).sql(query, as_arrow=True, seconds=seconds)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, answer.schema) as writer:
        writer.write_table(answer)
    return sink.getvalue()  # type: ignore[no-any-return]


def samples_by_id(path: str, run: str, ids: list[str], format: Format, allowed: Seen = None) -> bytes:
    with _library(path, allowed).reading(run) as reader:
        return exported(reader, samples_in_order(reader, ids), format)


def samples_by_condition(
    path: str,
    run: str,
    where: str | None,
    order_by: str | None,
    step: int | None,
    limit: int,
    format: Format,
    allowed: Seen = None,
) -> bytes:
    with _library(path, allowed).reading(run) as reader:
        samples = reader.samples(where=where, order_by=order_by, step=step, limit=limit, as_arrow=True)
        return exported(reader, samples, format)


def samples_of_set(path: str, name: str, format: str, allowed: Seen = None) -> bytes:
    store = door.open(path) if allowed is None else door.open_for(path, _allowed(allowed))
    return exported_set(collected(store, name), format)


KINDS: dict[str, Callable[..., bytes]] = {
    function.__name__: function for function in (sql, table, samples_by_id, samples_by_condition, samples_of_set)
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
