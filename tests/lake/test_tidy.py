"""Tidying changes no answer, also when others write or when it is killed; deletion deletes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.errors import NotFound
from rollscope.lake import engine
from rollscope.lake.check import check
from rollscope.lake.deletion import delete
from rollscope.lake.place import Place
from rollscope.lake.tables import OF_RUNS
from rollscope.lake.tidy import _remove_rows, tidy
from tests.lake.life import Life, check_same, pushed

TIDY = (
    "import sys; from rollscope.lake import place, tidy; print('on', flush=True); tidy.tidy(place.read(sys.argv[1]), 0)"
)


def test_a_tidy_makes_fewer_files_and_changes_no_answer(lake: Place, life: Life) -> None:
    for _ in range(5):
        life.happen()
        pushed(lake, life)
    done = tidy(lake, keep_seconds=0)
    assert done.files_after < done.files_before
    check_same(lake, life)
    assert not check(lake).problems
    life.happen()
    pushed(lake, life)
    check_same(lake, life, ["samples", "metrics"])


def test_objects_that_no_file_needs_are_removed(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    life.end()
    life.seal()
    life.compact()
    pushed(lake, life)
    stray = Path(lake.data_path(), "runs", "p", "killed", "x", "0-0")
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"stored, and never committed")
    assert not tidy(lake).objects_removed  # somebody may be about to commit them
    assert tidy(lake, keep_seconds=0).objects_removed >= 3
    assert not stray.exists()
    check_same(lake, life, ["samples"])
    assert not check(lake).problems


def book_lines(place: Place) -> dict[str, int]:
    """How many lines of the book there are, but for those that say that a file is no more."""
    kinds = {"objects": "kind <> 'gone'"}
    with engine.connected(place, read_only=True) as connection:
        counts = [f"SELECT count(*) FROM lake.book.{name} WHERE {kinds.get(name, 'true')}" for name in OF_RUNS]
        return {name: connection.execute(count).fetchall()[0][0] for name, count in zip(OF_RUNS, counts, strict=True)}


def test_the_book_of_a_run_does_not_grow_with_its_ships(lake: Place, life: Life) -> None:
    lines = []
    for ships in (2, 9):
        for _ in range(ships):
            life.grow()
            pushed(lake, life)
        life.rotate()
        life.seal()
        life.compact()
        pushed(lake, life)
        tidy(lake, keep_seconds=0)
        lines.append(book_lines(lake))
        check_same(lake, life)
    logs_more = {"parts": 2}  # of the merged set, which covers two logs more
    for name in ("ships", "objects", "parts", "dropped"):
        assert lines[1][name] <= lines[0][name] + logs_more.get(name, 0), lines
    assert not check(lake).problems
    life.grow()
    assert pushed(lake, life).ships == 1  # it goes on from what is left


class Meanwhile:
    """A connection, with what others do before its first deletion and its first commit."""

    def __init__(self, connection: Any, acts: dict[str, Callable[[], object]]) -> None:
        self._connection, self._acts = connection, acts

    def execute(self, query: str) -> Any:
        self._acts.pop(query.split()[0], lambda: None)()
        return self._connection.execute(query)


def test_who_ships_during_a_tidy_loses_nothing_and_keeps_it_from_nothing(
    team: Place, life: Life, tmp_path: Path
) -> None:
    other = Life(tmp_path / "runs", "r2", seed=1)
    for one in (life, other):
        one.grow()
        pushed(team, one)
        one.rotate()
        one.seal()
        pushed(team, one)  # the parts of the logs are dropped

    def push_anew() -> None:
        delete(team, "r2")
        pushed(team, other)  # with parts of the same numbers

    def ship() -> None:
        other.grow()
        pushed(team, other)

    with engine.connected(team) as connection:
        _remove_rows(Meanwhile(connection, {"DELETE": push_anew, "COMMIT": ship}))  # type: ignore[arg-type]
    assert not book_lines(team)["dropped"]
    for one in (life, other):
        check_same(team, one, ["steps"])
        delete(team, one.path.name)  # all tests share this catalogue


def test_a_tidy_that_is_killed_loses_nothing(lake: Place, life: Life) -> None:
    for _ in range(4):
        life.happen()
        pushed(lake, life)
    for seconds in (0.05, 0.15, 0.3):
        with subprocess.Popen([sys.executable, "-c", TIDY, lake.folder], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
    tidy(lake, keep_seconds=0)
    check_same(lake, life)
    assert not check(lake).problems


def test_deletion_leaves_no_file_of_the_run(tmp_path: Path, lake: Place, life: Life) -> None:
    other = Life(tmp_path / "runs", "r2", seed=1)
    for one in (life, other):
        one.grow(rows=40)
        pushed(lake, one)
    assert delete(lake, "r1") > 0
    left = [os.path.join(folder, name) for folder, _, names in os.walk(lake.data_path()) for name in names]
    assert not [path for path in left if "/r1/" in path or "run=r1/" in path]
    assert [path for path in left if "/r2/" in path] and [path for path in left if "run=r2/" in path]
    store = rs.open(lake.folder)
    assert store.ids() == ["r2"] and store.sql("SELECT DISTINCT run FROM samples")["run"].tolist() == ["r2"]
    with pytest.raises(NotFound, match="has no run 'r1'"):
        delete(lake, "r1")
    pushed(lake, life)  # it may be pushed again
    assert sorted(rs.open(lake.folder).ids()) == ["r1", "r2"]
