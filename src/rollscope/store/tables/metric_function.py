"""`metric('name')` in SQL: the series that a name means, ours or any framework's.

After FROM it is a table: the merged values of each run, in the unit of the name. Anywhere else it
is the stored name, for a condition on the table `metrics`; where the stored rows are in another
unit, or there are none, the query fails and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store.naming import Found

if TYPE_CHECKING:
    import duckdb

NO_CODE = re.compile(r"('(?:[^']|'')*')|--[^\n]*|/\*.*?\*/", re.DOTALL)  # texts, which are kept, and comments
CALL = re.compile(r"\bmetric\s*\(\s*(?:'((?:[^']|'')*)'\s*\)|(\?|\$\w+)\s*\)|)", re.IGNORECASE)
COLUMNS = ("step", "time_ns", "value", "weight", "min", "max")
TYPES = {
    "asked": pa.string(),
    "run": pa.string(),
    "step": pa.int64(),
    "time_ns": pa.int64(),
    **{name: pa.float64() for name in COLUMNS[2:]},
    **{name: pa.string() for name in ("name", "unit", "warning")},
}


class Asked(NamedTuple):
    """What a name means on one run, and its values."""

    run: str
    found: Found
    columns: Mapping[str, NDArray[Any]]
    is_stored: bool  # not computed from samples or spans


Read = Callable[[str], Sequence[Asked]]  # a name -> its series on each run that holds it


def register(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any, read: Read) -> None:
    """Make the function for the names that a query asks for. Raises if no run holds a name."""
    asked = {name: read(name) for name in sorted(set(_names(query, parameters)))}
    if not asked:
        return
    rows = [_table(name, one) for name, series in asked.items() for one in series]
    connection.register("metric rows", pa.concat_tables(rows))
    stored = [{"asked": name, **_stored(name, series)} for name, series in asked.items()]
    connection.register("metric names", pa.Table.from_pylist(stored))
    connection.execute(
        'CREATE MACRO metric(word) AS TABLE SELECT * EXCLUDE (asked) FROM "metric rows" WHERE asked = word'
    )
    connection.execute(
        "CREATE MACRO metric(word) AS (SELECT CASE WHEN says <> '' THEN error(says) ELSE stored END"
        ' FROM "metric names" WHERE asked = word)'
    )


def _names(query: str, parameters: Any) -> Iterator[str]:
    """The names in the calls of a query; for a parameter, every parameter that is a text."""
    code = NO_CODE.sub(lambda match: match.group(1) or " ", query)
    for call in CALL.finditer(code):
        text, parameter = call.groups()
        if text is not None:
            yield text.replace("''", "'")
        elif parameter is not None:
            values = parameters.values() if isinstance(parameters, Mapping) else parameters or ()
            yield from (value for value in values if isinstance(value, str))
        else:
            raise BadInput("metric() takes one name in single quotes, as in: SELECT * FROM metric('reward/mean')")


def _table(name: str, one: Asked) -> pa.Table:
    count, found = len(one.columns["step"]), one.found
    said = {"asked": name, "run": one.run, "name": found.stored, "unit": found.unit, "warning": found.warning}
    columns = {key: pa.array([text] * count, pa.string()) for key, text in said.items()}
    columns |= {key: pa.array(one.columns[key], TYPES[key], from_pandas=False) for key in COLUMNS}
    return pa.table({key: columns[key] for key in TYPES})


def _stored(name: str, series: Sequence[Asked]) -> dict[str, str]:
    """The name in the table `metrics`, or what says why it cannot be used there."""
    found = {one.found.stored: one for one in series}
    first = next(iter(found.values()))
    instead = f"Ask for its values: SELECT * FROM metric('{name}')"
    if len(found) > 1:
        says = f"{name} is stored under several names: {', '.join(sorted(found))}. {instead}"
    elif first.found.scale != 1:
        says = f"{name} is stored as {first.found.stored}, in another unit. {instead}"
    elif not first.is_stored:
        says = f"{name} is computed, so the table metrics has no rows of it. {instead}"
    else:
        says = ""
    return {"stored": first.found.stored, "says": says}
