"""SQL while files are replaced under it is asked again, and odd values never break an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.store.seal import compact, logs
from rollscope.store.tables import sql
from rollscope.store.tables.values import python_values

COUNT = "select count(*) as n from metrics"
QUERIES = [COUNT, "select count(*) as n from samples", "select count(completion) as n from samples"]


@pytest.fixture
def sealed(world: Any) -> Any:
    """A run with several sets, which compaction merges into one."""
    for number in range(3):
        w = world.writer(number + 1)
        w.metrics(number, {"a": 1.0})
        w.rows("samples", [{"id": f"s{number}", "step": number, "reward": 1.0, "completion": "text"}])
        w.finish()
        logs.seal(str(world.run))
    return world


def replace_files(path: Path) -> None:
    assert compact.compact(str(path), everything=True) >= 1


@pytest.mark.parametrize("query", QUERIES)
def test_a_reader_whose_files_were_replaced_asks_again(sealed: Any, query: str) -> None:
    run = rs.open(sealed.root).run()
    assert run.sql(COUNT)["n"].tolist() == [3]
    replace_files(sealed.run)
    assert run.sql(query)["n"].tolist() == [3]


@pytest.mark.parametrize(
    "ask",
    [lambda run: run.stored_names(), lambda run: run.is_stored("a"), lambda run: run.derived()],
    ids=["names", "one name", "derived"],
)
def test_names_are_read_again_when_files_were_replaced(sealed: Any, ask: Callable[[Any], Any]) -> None:
    run = rs.open(sealed.root).run()
    replace_files(sealed.run)
    assert ask(run)


ASKS: dict[str, Callable[[Any], int]] = {
    "run": lambda store: int(store.run().sql(COUNT)["n"][0]),
    "store": lambda store: int(store.sql(COUNT)["n"][0]),
    "stream": lambda store: pa.Table.from_batches(list(store.run().sql_stream(COUNT, 9.0))[1:])["n"][0].as_py(),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_files_replaced_between_listing_and_reading_are_asked_for_again(
    sealed: Any, ask: Callable[[Any], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, replaced = sql.lock, []

    def replace_then_lock(connection: Any, files: Any = ()) -> None:
        if not replaced:
            replaced.append(replace_files(sealed.run))
        lock(connection, files)

    monkeypatch.setattr(sql, "lock", replace_then_lock)
    assert ask(rs.open(sealed.root)) == 3 and replaced


def test_a_query_that_is_wrong_is_asked_once(sealed: Any) -> None:
    run = rs.open(sealed.root).run()
    with pytest.raises(BadInput, match="no_such_column"):
        run.sql("select no_such_column from metrics")


ODD = {
    "select timestamp '290000-01-01' as v": "290000",
    "select 'infinity'::timestamp as v": "",
    "select date '5000000-01-01' as v": "5000000",
    "select '-infinity'::date as v": "",
    "select timestamptz '290000-01-01 00:00:00+00' as v": "290000",
    "select {'a': 1, 'b': [timestamp '290000-01-01']} as v": "290000",
    "select map {'k': timestamp '290000-01-01'} as v": "290000",
    "select interval '9999999 years 3 days' as v": "119999988",
    "select 170141183460469231731687303715884105727::hugeint as v": "170141183460469231731687303715884105727",
    "select 1.25::decimal(38, 10) as v": "1.25",
    "select '\\x00\\xff'::blob as v": "x00",
    "select 'x'::enum ('x', 'y') as v": "x",
    "select uuid '47ad1091-b5fe-4f52-a9cf-9f7f78c94df5' as v": "47ad1091",
    "select union_value(k := 1) as v": "1",
    "select time '24:00:00' as v": "",
    "select null as v": "None",
}


@pytest.mark.parametrize("query", ODD)
def test_a_value_that_python_lacks_is_a_text(query: str) -> None:
    with sql.connected() as connection:
        answer = sql.ask(connection, query)
    assert ODD[query] in str(python_values(answer["v"]))


def test_one_odd_date_leaves_the_others_dates() -> None:
    with sql.connected() as connection:
        answer = sql.ask(connection, "select unnest([timestamp '2020-01-01', timestamp '290000-01-01']) as v")
    first, second = python_values(answer["v"])
    assert first.year == 2020 and second.startswith("290000")
