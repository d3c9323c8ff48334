"""A lake holds what the folder of a run holds, however the run changes between two pushes."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput, CorruptFile, NotFound
from rollscope.lake import engine, ledger
from rollscope.lake.check import check
from rollscope.lake.ledger import State
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher
from rollscope.lake.tidy import tidy
from tests.lake.life import Life, check_same, fetch_all, pushed


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_bytes_are_those_of_the_folder_after_every_push(tmp_path: Path, lake: Place, seed: int) -> None:
    life = Life(tmp_path / "runs", seed=seed)
    for _ in range(6):
        life.happen()
        pushed(lake, life)
        check_same(lake, life, ["samples"])
    life.end()
    life.seal()
    life.compact()
    pushed(lake, life)
    check_same(lake, life)
    assert not check(lake).problems


def test_a_long_life_with_resumes_and_tidies_loses_no_sample(tmp_path: Path, lake: Place) -> None:
    life = Life(tmp_path / "runs", seed=1)
    for round in range(20):
        life.happen()
        pushed(lake, life)
        if round % 6 == 5:
            tidy(lake, keep_seconds=0)
    check_same(lake, life, ["samples", "evals"])


def test_a_resumed_run_stays_in_the_list_when_its_logs_are_sealed(lake: Place, life: Life) -> None:
    life.grow()
    life.resume()
    life.grow()
    pushed(lake, life)
    life.rotate()
    life.seal()
    pushed(lake, life)
    check_same(lake, life, ["runs"])


def test_a_second_push_adds_nothing(lake: Place, life: Life) -> None:
    for _ in range(3):
        life.happen()
    first, second = pushed(lake, life), pushed(lake, life)
    assert first.rows and first.objects
    assert (second.ships, second.objects, second.rows, second.bytes) == (0, 0, 0, 0)


def test_a_run_that_grows_ships_its_growth_only(lake: Place, life: Life) -> None:
    life.grow(rows=400)
    first = pushed(lake, life)
    life.grow(rows=2)
    second = pushed(lake, life)
    assert 0 < second.bytes < first.bytes / 5
    assert 0 < second.rows < first.rows / 5


def test_sealing_and_merging_ship_files_and_no_row_again(lake: Place, life: Life) -> None:
    life.grow()
    life.rotate()
    life.grow()
    life.end()
    pushed(lake, life)
    life.seal()
    life.compact()
    again = pushed(lake, life)
    assert again.objects and not again.rows
    check_same(lake, life, ["samples", "metrics"])


def test_a_run_that_was_opened_before_shows_what_was_pushed_since(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    reader = rs.open(lake.folder).run("r1")
    assert reader.last_step == 1
    life.grow()
    life.end()
    life.seal()
    pushed(lake, life)
    store = rs.open(lake.folder)
    assert store.run("r1").last_step == 2
    assert [record.step for record in store.runs()] == [2]


def test_another_run_of_the_same_id_is_refused(tmp_path: Path, lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    other = Life(tmp_path / "others")
    other.attempts[0]["started_ns"] += 1
    other._facts()
    other.grow()
    with pytest.raises(BadInput, match="another run 'r1'"):
        pushed(lake, other)
    check_same(lake, life, ["metrics"])


def test_a_shipper_that_saw_an_older_lake_ships_nothing_twice(lake: Place, life: Life) -> None:
    life.grow()
    slow = Pusher(lake, str(life.path))
    slow.push()
    life.grow()
    pushed(lake, life)  # another one was faster
    life.grow()
    slow.push()
    check_same(lake, life, ["samples", "metrics"])


def test_a_ship_of_a_taken_number_is_refused(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    state = ledger.read(lake, "r1")
    old = replace(state, ship=state.ship - 1)
    with pytest.raises(ledger.Behind):
        ledger.commit(lake, ledger.Order("r1", old, state.project, state.origin, ledger.Ship(dropped={1})))
    check_same(lake, life, ["metrics"])


def test_what_is_no_run_is_refused(tmp_path: Path, lake: Place) -> None:
    with pytest.raises(NotFound, match="is no run"):
        Pusher(lake, str(tmp_path / "nothing"))


def test_check_names_what_is_missing_and_what_was_altered(lake: Place, life: Life, cache: Path) -> None:
    life.grow()
    life.end()
    life.seal()
    pushed(lake, life)
    objects = {part.name: part for parts in ledger.read(lake, "r1").files.values() for part in parts}
    gone, altered = [name for name in objects if name.endswith(".parquet")][:2]
    os.unlink(os.path.join(lake.data_path(), objects[gone].key))
    path = Path(lake.data_path(), objects[altered].key)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    problems = {problem.name: problem.says for problem in check(lake).problems}
    assert set(problems) == {gone, altered}
    assert "lost" in problems[gone] and "altered" in problems[altered]
    shutil.rmtree(cache, ignore_errors=True)
    with pytest.raises(rs.RollscopeError, match="rollscope lake check"):
        fetch_all(Path(rs.open(lake.folder).run("r1").path))


def test_the_tables_have_the_columns_of_a_folder(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    local, there = rs.open(life.root), rs.open(lake.folder)
    for table in ("metrics", "samples", "spans", "runs"):
        names = local.sql(f"SELECT * FROM {table} LIMIT 0", as_arrow=True).column_names
        expected = names if table == "runs" else ["project", *[name for name in names if name != "escaped"]]
        assert there.sql(f"SELECT * FROM {table} LIMIT 0", as_arrow=True).column_names == expected


def test_a_lake_of_an_older_rollscope_gets_the_columns_it_lacks(lake: Place, life: Life) -> None:
    with engine.connected(lake) as connection:
        connection.execute("ALTER TABLE lake.rows.metrics DROP COLUMN clock")
    life.grow()
    pushed(lake, life)
    check_same(lake, life, ["metrics"])


def test_a_lake_of_a_newer_rollscope_is_refused_with_a_sentence(lake: Place, life: Life) -> None:
    with engine.connected(lake) as connection:
        connection.execute("INSERT INTO lake.book.version VALUES (99)")
    life.grow()
    for use in (lambda: pushed(lake, life), lambda: rs.open(lake.folder).runs()):
        with pytest.raises(CorruptFile, match=r"version 99 .* newer Rollscope"):
            use()


@pytest.mark.parametrize("words", [["stop", "r1"], ["rm", "r1"], ["tag", "r1", "x"], ["compact"], ["archive", "r1"]])
def test_commands_that_would_change_a_run_are_refused(
    lake: Place, life: Life, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    life.grow()
    pushed(lake, life)
    assert main([*words, "--dir", lake.folder]) == 2
    assert "a lake is only read" in capsys.readouterr().err


def test_a_note_written_in_the_cache_stays_there(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    note = Path(rs.open(lake.folder).run("r1").path, "00000000000000ff.0001.log")
    note.write_bytes(b"")
    life.grow()
    life.end()
    life.seal()
    pushed(lake, life)
    assert rs.open(lake.folder).run("r1").last_step == 2
    assert note.exists() and len(list(note.parent.glob("*.log"))) == 1


class Counting:
    """A connection that counts what it is asked."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.asked = connection, 0

    def execute(self, *words: Any) -> Any:
        self.asked += 1
        return self.connection.execute(*words)


def test_a_run_of_another_project_costs_what_one_costs_that_is_not_there(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    with engine.connected(lake, read_only=True) as connection:
        asked = []
        for run in ("r1", "never-was"):
            counting = Counting(connection)
            assert ledger._read(counting, run, ["another"]) == State()  # type: ignore[arg-type]
            asked.append(counting.asked)
    assert asked[0] == asked[1] and ledger.read(lake, "r1", ["p/1"]).ship == 1


def test_a_run_is_found_without_the_files_of_others(lake: Place, tmp_path: Path) -> None:
    for run in ("mine", "other"):
        one = Life(tmp_path / "runs", run)
        one.grow()
        pushed(lake, one)
    theirs = [path for path in Path(lake.data_path(), "tables").rglob("*.parquet") if "run=other" in str(path)]
    for path in theirs:
        path.unlink()
    assert theirs and ledger.read(lake, "mine").record["id"] == "mine"
