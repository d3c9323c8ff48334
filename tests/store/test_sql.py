"""SQL over a run: it sees what is live, and it can only read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.catalog.partial import Mean
from rollscope.errors import BadInput
from rollscope.store import seal


@pytest.fixture
def run(world: Any) -> Any:
    w = world.writer()
    for step in range(4):
        w.metrics(step, {"a": float(step), "m": Mean(1.0, 4.0)})
    w.rows("samples", [{"id": f"s{i}", "step": i, "reward": float(i), "completion": f"text {i}"} for i in range(5)])
    return rs.open(world.root).run()


def test_views_are_named_like_the_tables(run: Any) -> None:
    assert run.sql("select sum(value) as total from metrics where name = 'a'")["total"].tolist() == [6.0]
    assert run.sql("select kind, state, weight from metrics where name = 'm' limit 1")["weight"].tolist() == [4.0]
    assert run.sql("select count(*) as n from samples where completion like 'text%'")["n"].tolist() == [5]
    assert run.sql("select id, state from runs")["id"].tolist() == ["r1"]
    for table in ("steps", "turns", "spans", "host", "evals", "findings", "notes"):
        assert run.sql(f"from {table}") is not None


def test_live_rows_are_seen(world: Any) -> None:
    w = world.writer()
    run = rs.open(world.root).run()
    w.metrics(0, {"a": 1.0})
    run.refresh()
    assert run.sql("select count(*) as n from metrics")["n"].tolist() == [1]


FORBIDDEN = [
    "copy (select 1) to '{dir}/out.csv'",
    "create table t (x int)",
    "insert into metrics select * from metrics",
    "attach '{dir}/x.db'",
    "install httpfs",
    "load httpfs",
    "pragma database_list",
    "set threads = 8",
    "export database '{dir}/x'",
    "select 1; select 2",
    "select * from read_csv('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from read_text('/etc/hostname')",
    "from glob('/etc/*')",
    "select getenv('HOME')",
    "call pragma_version()",
    "",
    "not sql at all",
]


@pytest.mark.parametrize("query", FORBIDDEN)
def test_anything_but_a_question_is_refused(run: Any, tmp_path: Path, query: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput):
        run.sql(query.format(dir=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_query_has_a_deadline(run: Any) -> None:
    start = time.monotonic()
    with pytest.raises(BadInput, match="longer than"):
        run.sql("select count(*) from range(100000000) a, range(1000000) b", seconds=0.3)
    assert time.monotonic() - start < 5


def test_a_query_has_a_memory_limit(run: Any) -> None:
    with pytest.raises(BadInput):
        run.sql("select list(a.range) from range(100000) a, range(100000) b group by b.range", seconds=20)


def test_text_is_joined_and_limits_read_little(world: Any) -> None:
    w = world.writer()
    for step in range(5):
        w.rows("samples", [{"id": f"{step}-{i}", "step": step, "reward": float(i), "completion": f"text {step} {i}"} for i in range(20)])
        w.rotate()
    w.rows("samples", [{"id": "0-0", "reward": 99.0}, {"id": "live", "step": 5, "completion": "text live"}])
    seal.seal(str(world.run))
    run = rs.open(world.root).run()
    assert run.sql("select count(*) as n, max(reward) as r from samples")["n"].tolist() == [101]
    assert run.sql("select reward, completion from samples where id = '0-0'")["reward"].tolist() == [99.0]
    assert run.sql("from samples where completion = 'text 3 7'")["id"].tolist() == ["3-7"]
    assert sorted(run.sql("select id from samples where completion like '%live'")["id"]) == ["live"]
    assert len(run.sql("select * from samples limit 3")["completion"]) == 3
    assert set(run.sql("select distinct run from samples")["run"]) == {"r1"}


def test_files_of_the_run_itself_are_not_open_to_questions(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    w.rotate()
    seal.seal(str(world.run))
    run = rs.open(world.root).run()
    assert run.sql("select count(*) as n from metrics")["n"].tolist() == [1]
    for query in (
        f"select * from read_text('{world.run}/run.json'), metrics",
        f"select * from glob('{world.run}/*'), metrics",
        f"from read_csv('{world.run}/run.json'), metrics",
    ):
        with pytest.raises(BadInput):
            run.sql(query)
