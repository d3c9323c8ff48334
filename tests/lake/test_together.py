"""Connections are kept between two uses, and ships that wait together share a transaction."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rollscope.lake import engine, kept, ledger, making
from rollscope.lake.cache.mirroring import Mirroring
from rollscope.lake.deletion import delete
from rollscope.lake.engine import LakeUnreachable
from rollscope.lake.ledger import Behind, Order, Ship, State
from rollscope.lake.place import Place
from rollscope.lake.serving.together import MOST_REST, Together
from rollscope.lake.shipping.push import Pusher
from rollscope.store.arrow import THREADS
from tests.lake.life import Life, check_same, fetch_all, files, pushed
from tests.lake.servers import Postgres

if TYPE_CHECKING:
    import duckdb

PATIENCE = 60.0


def test_a_connection_is_used_again_unless_it_failed(lake: Place) -> None:
    with engine.connected(lake) as first:
        pass
    with pytest.raises(LakeUnreachable), engine.connected(lake) as second:
        second.execute("FROM lake.book.nothing")
    with engine.connected(lake) as third:
        third.execute("FROM lake.book.version").fetchall()
    assert second is first and third is not first


def test_objects_of_another_machine_are_waited_for_in_many_threads(lake: Place, team: Place, tmp_path: Path) -> None:
    for place, many in ((lake, False), (team, True)):
        pushed(place, Life(tmp_path / "runs", f"threads-{many}"))
        wanted = engine.WAITING_THREADS if many else THREADS
        with engine.connected(place) as connection:  # the one that committed
            assert threads_of(connection) == THREADS
            with engine.waiting(connection, place):
                assert threads_of(connection) == wanted
            assert threads_of(connection) == THREADS
        with engine.of_its_own(place, read_only=True) as connection:
            assert threads_of(connection) == wanted


def threads_of(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])


def test_threads_hand_a_catalogue_on_and_leave_it_to_others_in_the_end(lake: Place) -> None:
    done: list[str] = []

    def use(number: int) -> None:
        for turn in range(6):
            with engine.connected(lake, read_only=(number + turn) % 3 > 0) as connection:
                connection.execute("FROM lake.book.version").fetchall()
            with engine.of_its_own(lake, read_only=True) if turn == number else contextlib.nullcontext():
                done.append("used")

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
    assert len(done) == 36
    look = "import sys; from rollscope.lake import place, ledger; ledger.read(place.read(sys.argv[1]), 'nothing')"
    subprocess.run([sys.executable, "-c", look, lake.folder], check=True, timeout=4 * PATIENCE)


def test_a_catalogue_is_attached_once_for_the_threads_that_wait(lake: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    attach, attached, used = engine._attach, list[bool](), list[object]()
    monkeypatch.setattr(engine, "HANDED_ON_SECONDS", math.inf)
    monkeypatch.setattr(engine, "_attach", lambda *given: attached.append(True) or attach(*given))

    def use() -> None:
        with engine.connected(lake) as connection:
            used.append(connection)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(4)]
    with kept.alone(lake):
        for thread in threads:
            thread.start()
        wait_until(lambda: kept._waiting.total() == len(threads))
    for thread in threads:
        thread.join(PATIENCE)
    assert len(used) == 4 and len(attached) == 1 and not kept._handed_on


def test_who_waits_for_one_lake_keeps_nobody_from_another(lake: Place, tmp_path: Path) -> None:
    other, used = making.init(str(tmp_path / "other")), list[object]()

    def use() -> None:
        with engine.connected(other) as connection:
            used.append(connection)

    thread = threading.Thread(target=use, daemon=True)
    with kept.alone(lake):
        thread.start()
        thread.join(PATIENCE)
        assert used


def test_a_kept_connection_outlives_a_restart_of_postgres(team: Place, life: Life, postgres: Postgres) -> None:
    pusher = Pusher(team, str(life.path))
    for _ in range(2):  # the second time, the lake was attached before
        life.grow()
        pusher.push()
        ledger.read(team, life.path.name)
        postgres.stop()
        postgres.start()
    life.grow()
    pusher.push()
    check_same(team, life, ["metrics"])
    delete(team, life.path.name)  # all tests share this catalogue


def test_a_forked_child_has_connections_of_its_own(team: Place) -> None:
    with engine.connected(team, read_only=True) as before:
        before.execute("FROM lake.book.version").fetchall()
    child = os.fork()
    if not child:
        with engine.connected(team, read_only=True) as other:
            os._exit(0 if other is not before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with engine.connected(team, read_only=True) as after:
        assert after is before and after.execute("FROM lake.book.version").fetchall()


def snapshots(place: Place) -> int:
    with engine.connected(place, read_only=True) as connection:
        return int(connection.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchall()[0][0])


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_ships_that_wait_are_one_transaction_and_one_that_is_behind_fails_alone(lake: Place, tmp_path: Path) -> None:
    lives, together = [Life(tmp_path / f"of-{number}", f"r{number}") for number in range(3)], Together(lake)
    for life in lives:
        life.grow()
    late = Order("r9", State(ship=7), "p/1", "", Ship(dropped={1}))
    failed: list[str] = []

    def ship(work: Callable[[], object], name: str) -> None:
        try:
            work()
        except Behind:
            failed.append(name)

    works = {life.path.name: Pusher(lake, str(life.path), commit=together.commit).push for life in lives}
    works["late"] = lambda: together.commit(late)  # type: ignore[assignment,return-value]
    threads = [threading.Thread(target=ship, args=(work, name), daemon=True) for name, work in works.items()]
    before = snapshots(lake)
    with together._turn:
        for thread in threads:
            thread.start()
        wait_until(lambda: len(together._waiting) == len(threads))
    for thread in threads:
        thread.join(PATIENCE)
    assert failed == ["late"] and snapshots(lake) == before + 1
    assert all(not pushed(lake, life).ships for life in lives)  # the lake has everything


def test_a_ship_that_arrow_refuses_costs_itself_alone(lake: Place) -> None:
    together, failed = Together(lake), dict[str, str]()
    ships = {"good": Ship(dropped={1}), "bad": Ship(replaced=[("\ud800", 1)]), "other": Ship(dropped={1})}

    def ship(run: str) -> None:
        try:
            together.commit(Order(run, State(), "p/1", "", ships[run]))
        except Exception as error:
            failed[run] = str(error)

    threads = [threading.Thread(target=ship, args=(run,), daemon=True) for run in ships]
    with together._turn:
        for thread in threads:
            thread.start()
        wait_until(lambda: len(together._waiting) == len(threads))
    for thread in threads:
        thread.join(PATIENCE)
    assert failed.keys() == {"bad"} and "surrogates not allowed" in failed["bad"]
    assert [ledger.read(lake, run).ship for run in ships] == [1, 0, 1]


def test_ships_gather_after_a_transaction_of_others_and_a_run_alone_waits_for_nobody(lake: Place) -> None:
    rests: list[float] = []

    def sleep(seconds: float) -> None:
        rests.append(seconds)
        wait_until(lambda: len(together._waiting) == 2)

    def ship(run: str, after: int) -> None:
        together.commit(Order(run, State(ship=after), "p/1", "", Ship(dropped={1})))

    together = Together(lake, sleep)
    for after in range(3):
        ship("alone", after)
    assert not rests
    before = snapshots(lake)
    threads = [threading.Thread(target=ship, args=(run, 0), daemon=True) for run in ("b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(rests) == 1 and 0 <= rests[0] <= MOST_REST and snapshots(lake) == before + 1
    assert {ledger.read(lake, run).ship for run in ("b", "c")} == {1}


def test_a_run_that_another_machine_commits_to_keeps_nobody_waiting(team: Place) -> None:
    with engine.exclusively(team, "held"), pytest.raises(Behind):
        Together(team).commit(Order("held", State(), "p/1", "", Ship(dropped={1})))


def test_a_server_reads_only_what_is_new_and_notices_a_run_that_came_back(
    lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirroring, asked = Mirroring(lake), list[dict[str, int]]()
    since = ledger.objects_since
    monkeypatch.setattr(ledger, "objects_since", lambda place, after: asked.append(dict(after)) or since(place, after))
    for act in (lambda: None, life.rotate, lambda: life.seal(True), life.compact, life.grow):
        life.grow()
        act()
        pushed(lake, life)
        mirroring.look()
        fetch_all(Path(mirroring.folder, "r1"))
        assert files(Path(mirroring.folder, "r1")) == files(life.path)
    assert [after["r1"] > 0 for after in asked] == [False, True, True, True, True]
    delete(lake, "r1")
    pushed(lake, life)
    mirroring.look()
    assert asked[-1] == {"r1": 0}


def test_a_server_notices_that_the_lake_was_restored_from_a_backup(
    lake: Place, life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirroring, asked = Mirroring(lake), list[dict[str, int]]()
    since = ledger.objects_since
    monkeypatch.setattr(ledger, "objects_since", lambda place, after: asked.append(dict(after)) or since(place, after))
    life.grow()
    pushed(lake, life)
    shutil.copytree(lake.folder, tmp_path / "backup")
    for _ in range(3):
        life.grow()
        pushed(lake, life)
        mirroring.look()
    shutil.rmtree(lake.folder)
    shutil.copytree(tmp_path / "backup", lake.folder)
    mirroring.look()
    assert asked[-1] == {"r1": 0}  # else later ships of the same numbers would be added to what the lake lost
    for _ in range(4):
        life.grow()
    pushed(lake, life)
    mirroring.look()
    fetch_all(Path(mirroring.folder, "r1"))
    assert files(Path(mirroring.folder, "r1")) == files(life.path)
