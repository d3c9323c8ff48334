"""DuckDB with DuckLake, attached to the catalogue of a lake. Every failure becomes a sentence.

To load DuckDB's extensions costs more than to ship, so a process keeps what it has loaded. A
catalogue in a file lets one process in at a time, so the lake is attached for a short time and
others wait for it; threads hand it on, since it is read whenever it is attached. A catalogue in
PostgreSQL takes any number; `exclusively` lets one of them commit to a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rollscope.errors import CannotRead, MissingExtra, RollscopeError
from rollscope.store.arrow import THREADS
from rollscope.store.tables.sql import quoted

from . import kept, keys
from . import place as places
from .kept import Kept
from .place import Place

if TYPE_CHECKING:
    import duckdb

WAIT_SECONDS = 60.0  # for another process that has the catalogue's file open
LOOK_SECONDS = 0.05
HANDED_ON_SECONDS = 1.0  # from thread to thread, before another process gets its chance
SELDOM_SECONDS = 2.0  # between two uses of a lake that does not stay attached
MEMORY = "1GB"
WAITING_THREADS = 32  # for objects over a network: a file of a living run takes longer to come than to read
LOCKS = "locks"  # the catalogue's database, attached once more


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
    """A connection with the lake attached as `lake`. It is kept for the next one who asks.

    Leave it as it came: without a transaction, and with no setting changed. After an error it is
    closed.
    """
    with kept.alone(place), saying(place):
        key, one = _taken(place, read_only)
        try:
            _make_sure(one, place, key == _key(place, True))  # one that writes serves readers, too
            yield one.connection
            _let_go(one, place)
        except BaseException:
            one.connection.close()
            raise
        is_handed_on = one.is_attached and place.is_embedded
        kept.hand_on(place, key, one) if is_handed_on else kept.give_back(key, one)


@contextlib.contextmanager
def of_its_own(place: Place, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same, for who changes the connection: it is closed at the end."""
    with kept.alone(place), saying(place):
        _handed_on(place, ())
        connection = _loaded(place)
        try:
            _attach(connection, place, read_only)
            _wait_in_many(connection, place)
            yield connection
        finally:
            connection.close()


def _taken(place: Place, read_only: bool) -> tuple[kept.Key, Kept]:
    """A connection and its key: the one that was handed on, if it can do what is wanted."""
    key = _key(place, read_only)
    if (found := _handed_on(place, (key, _key(place, False)))) is not None:
        return found
    return key, kept.take(key) or Kept(_loaded(place))


def _handed_on(place: Place, wanted: Sequence[kept.Key]) -> tuple[kept.Key, Kept] | None:
    """What was handed on to this thread. If its key is another, it is let go."""
    found = kept.handed_on(place)
    if found is not None and found[0] not in wanted:
        _detach(found[1])
        kept.give_back(*found)
        return None
    return found


def _key(place: Place, read_only: bool) -> kept.Key:
    """What one connection can be used for: keys that have changed need another."""
    said = tuple(sorted(item for item in os.environ.items() if item[0].startswith(("PG", "AWS_"))))
    return place.folder, place.catalog, place.data, read_only, said


def _loaded(place: Place) -> duckdb.DuckDBPyConnection:
    """DuckDB with the extensions that a lake needs, and the keys of its objects."""
    import duckdb

    more = {"postgres_scanner": not place.is_embedded, "httpfs": place.is_remote}
    paths = [extension(name) for name in ("ducklake", *(name for name, needed in more.items() if needed))]
    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection = duckdb.connect(config={**config, "threads": str(THREADS), "memory_limit": MEMORY})
    for path in paths:
        connection.execute(f"LOAD {quoted(path)}")
    keys.add_to(connection, place)
    return connection


@contextlib.contextmanager
def waiting(connection: duckdb.DuckDBPyConnection, place: Place) -> Iterator[None]:
    """Read many files in many threads, where they come from another machine.

    Each thread takes memory of its own, so what writes many rows does without. After an error the
    connection is of no use.
    """
    _wait_in_many(connection, place)
    yield
    if place.is_remote:
        connection.execute(f"SET threads = {THREADS}")


def _wait_in_many(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    if place.is_remote:
        connection.execute(f"SET threads = {WAITING_THREADS}")


def _make_sure(one: Kept, place: Place, read_only: bool) -> None:
    """Attach the lake, also if its catalogue was restarted since it was attached."""
    import duckdb

    if one.is_attached:
        try:
            one.connection.execute("FROM lake.book.version").fetchall()
            return
        except duckdb.Error:
            _detach(one)
    _attach(one.connection, place, read_only)
    one.is_attached, one.attached = True, time.monotonic()


def _let_go(one: Kept, place: Place) -> None:
    """Detach a lake that is asked seldom, so that idle ones hold no session of the catalogue.

    A catalogue in a file is let go at once, unless a thread waits for it; and once a second, for as
    long as another process needs to see that.
    """
    is_wanted = kept.is_wanted(place)
    is_long = time.monotonic() - one.attached > HANDED_ON_SECONDS
    if (not is_wanted or is_long) if place.is_embedded else one.idle_seconds() > SELDOM_SECONDS:
        _detach(one)
    if is_wanted and is_long:
        time.sleep(2 * LOOK_SECONDS)


def _detach(one: Kept) -> None:
    for name in ("lake", LOCKS):
        one.connection.execute(f"DETACH DATABASE IF EXISTS {name}")
    one.is_attached = False


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
    return place.catalog_path() if place.is_embedded else "postgres:" + libpq(place)


def libpq(place: Place) -> str:
    words = {**places.postgres_words(place.catalog), "connect_timeout": "10"}
    return " ".join(f"{key}={_libpq_value(value)}" for key, value in words.items())


def _libpq_value(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if not value.isalnum() else value


@contextlib.contextmanager
def saying(place: Place) -> Iterator[None]:
    """Turn errors of DuckDB, PostgreSQL and S3 into a sentence about this lake."""
    import duckdb

    try:
        yield
    except duckdb.TransactionException:  # somebody else was faster: the caller tries again
        raise
    except duckdb.OutOfMemoryException as error:
        first = " ".join(str(error).split())[:200]
        raise CannotRead(f"this takes more than the {MEMORY} of memory that a lake may take here: {first}") from None
    except duckdb.Error as error:
        raise LakeUnreachable(_sentence(place, keys.without(str(error)))) from None


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


@contextlib.contextmanager
def exclusively(place: Place, run: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection, while nobody else on any machine commits to this run; wait for it."""
    with connected(place) as connection, _locked(connection, place, [run], "pg_advisory_xact_lock"):
        yield connection


@contextlib.contextmanager
def exclusively_some(place: Place, runs: Sequence[str]) -> Iterator[tuple[duckdb.DuckDBPyConnection, set[str]]]:
    """The same for several runs, without waiting: those that nobody else commits to now."""
    with connected(place) as connection, _locked(connection, place, runs, "pg_try_advisory_xact_lock") as taken:
        yield connection, taken


@contextlib.contextmanager
def _locked(connection: duckdb.DuckDBPyConnection, place: Place, runs: Sequence[str], how: str) -> Iterator[set[str]]:
    """Hold the locks of runs; those that were taken.

    A catalogue in a file is open in one process at a time anyway. In PostgreSQL a transaction of
    its own holds advisory locks, which end with the connection.
    """
    if place.is_embedded:
        yield set(runs)
        return
    connection.execute(f"ATTACH IF NOT EXISTS {quoted(libpq(place))} AS {LOCKS} (TYPE postgres)")
    with contextlib.closing(connection.cursor()) as locks:
        locks.execute("BEGIN")
        yield {run for run in runs if _took(locks, f"SELECT {how}({_number(run)})::text <> 'false' AS taken")}
        locks.execute("ROLLBACK")


def _took(locks: duckdb.DuckDBPyConnection, query: str) -> bool:
    return bool(locks.execute(f"SELECT * FROM postgres_query('{LOCKS}', {quoted(query)})").fetchall()[0][0])


def _number(run: str) -> int:
    digest = hashlib.blake2b(f"rollscope lake {run}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
