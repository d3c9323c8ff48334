"""SQL over a run: it sees what is live, and it can only read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import psutil
import pytest

import rollscope as rs
from rollscope.catalog.partials.partial import Mean
from rollscope.errors import BadInput, RollscopeError
from rollscope.store.seal import logs
from rollscope.store.tables import sql


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
    "explain analyze copy (select 1) to '{dir}/out.csv'",
    "explain /* a comment */ analyze copy (select 1) to '{dir}/out.csv'",
    "/* first */ explain analyze copy (select 1) to '{dir}/out.csv'",
    "explain analyze create table t as select 1",
    "with x as (insert into metrics select * from metrics returning *) select * from x",
    "from query('drop view metrics')",
    "from sniff_csv('/etc/passwd')",
    "",
    "not sql at all",
]


@pytest.mark.parametrize("query", FORBIDDEN)
def test_anything_but_a_question_is_refused(run: Any, tmp_path: Path, query: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput):
        run.sql(query.format(dir=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_explaining_is_reading_and_never_writes_the_runs_own_files(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    w.rotate()
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    file = next(world.run.rglob("metrics.parquet"))
    before = file.read_bytes()
    for query in (
        f"explain analyze copy (select 1 from metrics) to '{file}' (format parquet, use_tmp_file false)",
        f"EXPLAIN (ANALYZE) copy (select 1 from metrics) to '{file}' (format parquet, use_tmp_file false)",
    ):
        with pytest.raises(BadInput, match="not COPY"):
            run.sql(query)
    assert file.read_bytes() == before
    assert len(run.sql("explain select * from metrics")["explain_value"]) == 1
    assert len(run.sql("explain analyze select * from metrics")["explain_value"]) == 1


def test_an_answer_has_a_largest_size(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "ANSWER_BYTES", 10 << 20)
    with pytest.raises(BadInput, match="larger than 10 MB"):
        run.sql("select * from range(100000000000)")
    assert len(run.sql("select * from range(1000000)")["range"]) == 1_000_000


def test_what_does_not_fit_in_memory_spills_to_a_folder_that_is_gone_afterwards(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "aside").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "aside"))
    monkeypatch.setattr(sql, "MEMORY", "60MB")
    seen: set[str] = set()
    question = threading.Thread(
        target=lambda: run.sql(
            "select count(*) as n from (select i from range(6000000) t(i) order by hash(i) limit 5000000)",
            seconds=300,
        )
    )
    question.start()
    while question.is_alive():
        seen |= {path.name for path in (tmp_path / "aside").rglob("*.tmp")}
        question.join(0.01)
    assert seen, "nothing was spilled: the question is too small to test this with"
    assert list((tmp_path / "aside").iterdir()) == []
    assert list((tmp_path / "here").iterdir()) == []


def test_text_is_there_however_it_is_asked_for(world: Any) -> None:
    w = world.writer()
    w.rows("samples", [{"id": "s", "step": 0, "completion": "hello"}])
    w.rotate()
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    assert run.sql("select s from samples s")["s"][0]["completion"] == "hello"
    assert run.sql("from samples")["completion"].tolist() == ["hello"]
    assert run.sql("select columns('^compl') from samples")["completion"].tolist() == ["hello"]
    assert run.sql("select count(*) as n from samples s where s is not null")["n"].tolist() == [1]


@pytest.mark.parametrize("sealed", [False, True])
def test_lone_surrogates_come_back_where_the_flag_is_asked_for_too(world: Any, sealed: bool) -> None:
    odd = "a \\ b \ud800"
    w = world.writer()
    w.rows("samples", [{"id": "s", "step": 0, "completion": odd}, {"id": "t", "step": 0, "completion": "plain \\"}])
    w.rotate()
    if sealed:
        logs.seal(str(world.run))
    run = rs.open(world.root).run()
    assert run.sql("from samples order by id")["completion"].tolist() == [odd, "plain \\"]
    assert run.sql("select completion, escaped from samples order by id")["completion"].tolist() == [odd, "plain \\"]
    assert run.sql("select completion from samples order by id")["completion"].tolist() == [
        "a \\\\ b \\ud800",
        "plain \\",
    ]


def test_a_column_may_be_called_anything(run: Any) -> None:
    assert run.sql("select 1 as seq, 2 as run")["seq"].tolist() == [1]


def test_names_that_come_again_are_numbered(run: Any) -> None:
    answer = run.sql("select 1 as a, 2 as a, 3 as a_1, s.id, t.id from samples s join samples t using (step) limit 1")
    assert list(answer) == ["a", "a_1", "a_1_1", "id", "id_1"]
    assert [answer[name][0] for name in ("a", "a_1", "a_1_1")] == [1, 2, 3]


@pytest.mark.parametrize("odd", ["time '24:00:00'", "[timetz '24:00:00+15:59']", "union_value(a := 1)"])
def test_a_value_that_python_cannot_hold_is_a_sentence(run: Any, odd: str) -> None:
    with pytest.raises(BadInput, match="CAST"):
        run.sql(f"select {odd} as x")
    assert run.sql(f"select cast({odd} as varchar) as x")["x"][0]
    assert run.sql(f"select {odd} as x", as_arrow=True).num_rows == 1


def test_a_query_has_a_deadline(run: Any) -> None:
    start = time.monotonic()
    with pytest.raises(RollscopeError, match="was stopped"):
        run.sql("select count(*) from range(100000000) a, range(1000000) b", seconds=0.3)
    assert time.monotonic() - start < 60  # it would take hours


def test_a_query_has_a_memory_limit(run: Any) -> None:
    query = "select list(a.range) from range(100000) a, range(100000) b group by b.range"
    process = psutil.Process()
    before = most = process.memory_info().rss
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(run.sql, query, seconds=6)
        while not asked.done():
            wait([asked], 0.05)
            most = max(most, process.memory_info().rss)
    with pytest.raises(RollscopeError):  # it fails, or a busy disk takes too long over what it spills
        asked.result()
    assert most - before < 1.6e9  # it would take 80 GB


def test_text_is_joined_and_limits_read_little(world: Any) -> None:
    w = world.writer()
    for step in range(5):
        w.rows(
            "samples",
            [
                {"id": f"{step}-{i}", "step": step, "reward": float(i), "completion": f"text {step} {i}"}
                for i in range(20)
            ],
        )
        w.rotate()
    w.rows("samples", [{"id": "0-0", "reward": 99.0}, {"id": "live", "step": 5, "completion": "text live"}])
    logs.seal(str(world.run))
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
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    assert run.sql("select count(*) as n from metrics")["n"].tolist() == [1]
    for query in (
        f"select * from read_text('{world.run}/run.json'), metrics",
        f"select * from glob('{world.run}/*'), metrics",
        f"from read_csv('{world.run}/run.json'), metrics",
    ):
        with pytest.raises(BadInput):
            run.sql(query)


def test_a_reader_takes_two_threads_of_a_machine_however_many_it_has() -> None:
    """Asked in a process of its own: the number belongs to the process."""
    code = "import pyarrow as pa; pa.set_cpu_count(64); import rollscope.store.store; print(pa.cpu_count())"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "2"
    )
    with sql.connected() as connection:
        assert connection.execute("select current_setting('threads')").fetchone() == (2,)
