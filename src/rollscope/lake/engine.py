"""DuckDB with DuckLake, attached to the catalogue of a lake. Every failure becomes a sentence.

A catalogue in a file lets one connection in at a time, so a connection is short and others wait for
it. A catalogue in PostgreSQL takes any number; `exclusively` lets one of them commit to a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rollscope.errors import CannotRead, MissingExtra, RollscopeError
from rollscope.store.arrow import THREADS
from rollscope.store.tables.sql import quoted

from . import place as places
from .place import Place

if TYPE_CHECKING:
    import duckdb

WAIT_SECONDS = 60.0  # for another process that has the catalogue's file open
LOOK_SECONDS = 0.05
MEMORY = "1GB"
_IN_THIS_PROCESS = threading.RLock()  # DuckDB opens a file once per process


class LakeUnreachable(CannotRead):
    """The catalogue or the object store does not answer, or refuses us. Try again later."""

    status = 503


def extension(name: str) -> str:
    """The path of one of DuckDB's extensions, which a package brings."""
    import duckdb

    package = f"duckdb-extension-{name.replace('_', '-')}"
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra(package, "lake", "A lake")
    version = f"v{duckdb.__version__}"
    path = os.path.join(next(iter(found.submodule_search_locations)), "extensions", version, f"{name}.duckdb_extension")
    if not os.path.exists(path):
        raise RollscopeError(
            f"a lake needs DuckDB {importlib.metadata.version(package)}, for which {package} was built,"
            f' and DuckDB {duckdb.__version__} is installed. Install both with: pip install "rollscope[lake]"'
        )
    return path


@contextlib.contextmanager
def connected(place: Place, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the lake attached as `lake`."""
    import duckdb

    needed = [
        "ducklake",
        *([] if place.is_embedded else ["postgres_scanner"]),
        *(["httpfs"] if place.is_remote else []),
    ]
    paths = [extension(name) for name in needed]
    with _IN_THIS_PROCESS if place.is_embedded else contextlib.nullcontext():
        config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        connection = duckdb.connect(config={**config, "threads": str(THREADS), "memory_limit": MEMORY})
        try:
            with saying(place):
                for path in paths:
                    connection.execute(f"LOAD {quoted(path)}")
                _add_keys(connection, place)
                _attach(connection, place, read_only)
                yield connection
        finally:
            connection.close()


def _attach(connection: duckdb.DuckDBPyConnection, place: Place, read_only: bool) -> None:
    """Attach the catalogue; wait for another process that has its file open."""
    import duckdb

    options = [f"DATA_PATH {quoted(place.data_path() + '/tables')}"]
    options += ["READ_ONLY"] if read_only else []
    options += [] if place.is_embedded else ["METADATA_SCHEMA 'rollscope_lake'"]
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute(f"ATTACH {quoted('ducklake:' + address(place))} AS lake ({', '.join(options)})")
            return
        except duckdb.Error as error:
            if "lock" not in str(error).lower() or not place.is_embedded or time.monotonic() > until:
                raise
        time.sleep(LOOK_SECONDS)


def address(place: Place) -> str:
    """The catalogue as DuckLake wants it. Keys are left to libpq, which reads PG* and pgpass."""
    if place.is_embedded:
        return place.catalog_path()
    return "postgres:" + libpq(place)


def libpq(place: Place) -> str:
    words = {**places.postgres_words(place.catalog), "connect_timeout": "10"}
    return " ".join(f"{key}={_libpq_value(value)}" for key, value in words.items())


def _libpq_value(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if not value.isalnum() else value


def _add_keys(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Tell DuckDB the keys of S3, which live as long as the connection."""
    if not place.is_remote:
        return
    said = {
        "KEY_ID": os.environ.get("AWS_ACCESS_KEY_ID", ""),
        "SECRET": os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
        "SESSION_TOKEN": os.environ.get("AWS_SESSION_TOKEN", ""),
        "REGION": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
    }
    options = [f"{key} {quoted(value)}" for key, value in said.items() if value]
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        url = urlsplit(endpoint)
        options += [
            f"ENDPOINT {quoted(url.netloc)}",
            "URL_STYLE 'path'",
            f"USE_SSL {str(url.scheme != 'http').lower()}",
        ]
    connection.execute(f"CREATE SECRET (TYPE s3, {', '.join(options)})")


@contextlib.contextmanager
def saying(place: Place) -> Iterator[None]:
    """Turn errors of DuckDB, PostgreSQL and S3 into a sentence about this lake."""
    import duckdb

    try:
        yield
    except duckdb.TransactionException:  # somebody else was faster: the caller tries again
        raise
    except duckdb.Error as error:
        raise LakeUnreachable(_sentence(place, without_keys(str(error)))) from None


def _sentence(place: Place, why: str) -> str:
    first = " ".join(why.split())[:400]
    if "HTTP" in why or "S3" in why or "s3://" in why:
        return (
            f"the objects of the lake {place.folder!r} at {place.data} cannot be reached: {first}."
            " Are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL right, and does the bucket exist?"
        )
    if place.is_embedded:
        return f"the catalogue of the lake {place.folder!r} cannot be used: {first}"
    return (
        f"the catalogue of the lake {place.folder!r} at {place.catalog} cannot be used: {first}."
        " Does PostgreSQL run, and are PGUSER and PGPASSWORD (or ~/.pgpass) right?"
    )


def without_keys(text: str) -> str:
    """A message of somebody else's, without any key of ours."""
    for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"):
        if value := os.environ.get(name):
            text = text.replace(value, "…")
    return text


@contextlib.contextmanager
def exclusively(place: Place, run: str) -> Iterator[None]:
    """Be the only one that commits to a run, on any machine.

    A catalogue in a file is open in one process at a time anyway. In PostgreSQL a connection of its
    own holds an advisory lock, which ends with the connection.
    """
    if place.is_embedded:
        yield
        return
    import duckdb

    digest = hashlib.blake2b(f"rollscope lake {run}".encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "little", signed=True)
    with saying(place):
        connection = duckdb.connect()
        try:
            connection.execute(f"LOAD {quoted(extension('postgres_scanner'))}")
            connection.execute(f"ATTACH {quoted(libpq(place))} AS pg (TYPE postgres)")
            connection.execute("BEGIN")
            lock = f"SELECT 1 AS taken FROM pg_advisory_xact_lock({number})"
            connection.execute(f"SELECT * FROM postgres_query('pg', {quoted(lock)})").fetchall()
            yield
            connection.execute("ROLLBACK")
        finally:
            connection.close()
