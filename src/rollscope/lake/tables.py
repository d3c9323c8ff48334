"""The tables and views of a lake, and the version of their layout.

`rows` holds the rows of every run as they were shipped, `book` what was shipped; both are only ever
appended to, since DuckLake lets any number of writers append to a table at once. The views in
`main` have the names and columns of `rollscope.open(...).sql`, with `project` before them: they
leave out rows of parts that another part replaced, of abandoned attempts, and earlier rows of a
sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollscope.errors import CorruptFile
from rollscope.store import arrow
from rollscope.store.schema import TABLES
from rollscope.store.tables.sql_views import SQL_TYPES
from rollscope.store.tables.tables import EVERY_ATTEMPT

if TYPE_CHECKING:
    import duckdb

VERSION = 1
INLINED = 500  # rows of an insert
BOOK = {  # table -> columns
    "version": "number BIGINT",
    "ships": "project VARCHAR, run VARCHAR, ship BIGINT, origin VARCHAR, time_ns BIGINT",
    "objects": (
        "project VARCHAR, run VARCHAR, ship BIGINT, name VARCHAR, kind VARCHAR, start BIGINT, bytes BIGINT,"
        " sha256 VARCHAR, key VARCHAR, time_ns BIGINT"
    ),
    "parts": "project VARCHAR, run VARCHAR, part BIGINT, stem VARCHAR, lo BIGINT, hi BIGINT",
    "dropped": "project VARCHAR, run VARCHAR, part BIGINT",
    "resumed": "project VARCHAR, run VARCHAR, part BIGINT, attempt BIGINT, first BIGINT",
    "replaced": "project VARCHAR, run VARCHAR, id VARCHAR, part BIGINT",
    "recorders": "project VARCHAR, run VARCHAR, name VARCHAR",
    "let_go": "project VARCHAR, run VARCHAR, what VARCHAR, time_ns BIGINT",
    "said": "project VARCHAR, run VARCHAR, id VARCHAR, time_ns BIGINT, line VARCHAR",
}
STORAGE = {"parquet_compression": "zstd", "parquet_version": "2"}  # its own choice takes nearly twice the bytes
OF_RUNS = [name for name in BOOK if name != "version"]
WHOLE_TYPES = {"int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN", **SQL_TYPES}
MORE = ("project", "run", "part")  # columns of every table of `rows`, beside its own
LAST = {  # of `runs` the last row counts
    "runs": " QUALIFY row_number() OVER (PARTITION BY x.run ORDER BY x.part DESC) = 1",
}


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Make what is not there yet; the tables in one transaction."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS lake.rows")
    connection.execute("CREATE SCHEMA IF NOT EXISTS lake.book")
    # Small inserts into `book` stay in the catalogue until they are tidied. Rows do not: a double
    # that was inlined came back with another last bit (1/11, DuckLake 1.5.5).
    connection.execute(f"CALL lake.set_option('data_inlining_row_limit', {INLINED}, schema => 'book')")
    connection.execute("CALL lake.set_option('data_inlining_row_limit', 0, schema => 'rows')")
    set_storage(connection)
    connection.execute("BEGIN")
    for name, columns in BOOK.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS lake.book.{name} ({columns})")
    for name in TABLES:
        _create_rows(connection, name)
    _create_views(connection)
    if not connection.execute("SELECT count(*) FROM lake.book.version").fetchall()[0][0]:
        connection.execute(f"INSERT INTO lake.book.version VALUES ({VERSION})")
    connection.execute("COMMIT")


def set_storage(connection: duckdb.DuckDBPyConnection) -> None:
    """Say how Parquet files are written from now on, by anybody."""
    for name, value in STORAGE.items():
        connection.execute(f"CALL lake.set_option('{name}', '{value}')")


def _create_rows(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    columns = ", ".join(f'"{column}" {type_}' for column, type_ in row_columns(name).items())
    connection.execute(f"CREATE TABLE IF NOT EXISTS lake.rows.{name} ({columns})")
    connection.execute(f"ALTER TABLE lake.rows.{name} SET PARTITIONED BY (project, run)")


def has(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """True if the lake was made with this table of `book`, or was upgraded since."""
    import duckdb

    try:
        connection.execute(f"SELECT 1 FROM lake.book.{name} LIMIT 0")
    except duckdb.CatalogException:
        return False
    return True


def upgrade(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the tables and columns that this Rollscope knows and the lake was made without."""
    query = "SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE database_name = 'lake'"
    there = set(connection.execute(query).fetchall())
    tables = {name for schema, name, _ in there if schema == "book"}
    for name, columns in BOOK.items():
        if name not in tables:
            connection.execute(f"CREATE TABLE IF NOT EXISTS lake.book.{name} ({columns})")
    _add_columns(connection, {(name, column) for schema, name, column in there if schema == "rows"})


def _add_columns(connection: duckdb.DuckDBPyConnection, there: set[tuple[str, str]]) -> None:
    known = {(name, column): type_ for name in TABLES for column, type_ in row_columns(name).items()}
    lacking = {key: type_ for key, type_ in known.items() if key not in there}
    for (name, column), type_ in lacking.items():
        connection.execute(f'ALTER TABLE lake.rows.{name} ADD COLUMN "{column}" {type_}')
    if lacking:
        _create_views(connection)


def _create_views(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("USE lake")
    for name in TABLES:
        connection.execute(f"CREATE OR REPLACE VIEW lake.main.{name} AS {view(name)}")
    connection.execute("USE memory")


def row_columns(name: str) -> dict[str, str]:
    """Column -> SQL type, of a table of `rows`."""
    own = {column.name: WHOLE_TYPES[column.type] for column in TABLES[name]}
    hidden = {"writer": "VARCHAR", arrow.ESCAPED: "VARCHAR", arrow.SEQ: "BIGINT"}
    return {"project": "VARCHAR", "run": "VARCHAR", "part": "BIGINT", **own, **hidden}


def view(name: str) -> str:
    """The SQL of a view: the rows that count."""
    columns = [column.name for column in TABLES[name]]
    listed = ", ".join(f'x."{column}"' for column in (*(["project"] if "project" not in columns else []), *columns))
    joins = " ANTI JOIN book.dropped d ON d.run = x.run AND d.part = x.part"
    if name not in (*EVERY_ATTEMPT, "runs"):
        joins += (
            " ANTI JOIN (SELECT * FROM book.resumed QUALIFY part = max(part) OVER (PARTITION BY run)) r"
            " ON r.run = x.run AND r.attempt > coalesce(x.attempt, -1) AND r.first <= x.step"
        )
    if name == "samples":
        joins += (
            " ANTI JOIN (SELECT * FROM book.replaced ANTI JOIN book.dropped USING (run, part)) p"
            " ON p.run = x.run AND p.id = x.id AND p.part > x.part"
        )
    return f"SELECT {listed} FROM rows.{name} x{joins}{LAST.get(name, '')}"


def check_version(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    """Raise a sentence if the lake was made by a newer Rollscope."""
    numbers = connection.execute("SELECT max(number) FROM lake.book.version").fetchall()
    number = numbers[0][0] or 0
    if number > VERSION:
        raise CorruptFile(
            f"the tables of the lake {folder!r} have version {number} and were made by a newer Rollscope; this one"
            f" knows up to {VERSION}. Upgrade to use the lake."
        )
