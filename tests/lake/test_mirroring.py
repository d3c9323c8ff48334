"""A server takes over what it ships while its thread looks at the lake, in turns."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.lake import deletion, door, ledger
from rollscope.lake.cache import mirror, mirroring
from rollscope.lake.cache.mirroring import Mirroring
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.lake.serving.intake import Intake
from rollscope.lake.spool import Held, Object
from rollscope.store import notes
from tests.lake.life import Life, check_same, fetch_all, files, pushed
from tests.lake.trainer import Trainer

PATIENCE = 60.0


@pytest.fixture
def server(lake: Place) -> Mirroring:
    return Mirroring(lake)


@pytest.fixture
def trainer(lake: Place, life: Life, server: Mirroring) -> Iterator[Trainer]:
    """It has shipped twice through the server, which knows the run."""
    intake = Intake(lake, shipped=server.shipped)
    trainer = Trainer(intake, life)
    for _ in range(2):
        life.grow()
        trainer.ship()
        server.look()
    yield trainer
    intake.close()


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def happened(event: threading.Event) -> None:
    assert event.wait(PATIENCE)


def check_cache(server: Mirroring, life: Life) -> None:
    """The cache has the files of the run, and no others."""
    folder = Path(server.folder, life.path.name)
    fetch_all(folder)
    assert files(folder) == files(life.path)


def after_refresh(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act when the files of a ship have come to the cache, before the server knows of them."""
    refresh = mirror.refresh

    def acting(objects: Objects, folder: str, held: Held, gone: Collection[str] = ()) -> bool:
        changed = refresh(objects, folder, held, gone)
        act()
        return changed

    monkeypatch.setattr(mirror, "refresh", acting)


def test_what_a_server_ships_is_in_its_cache_without_a_look(lake: Place, life: Life, server: Mirroring) -> None:
    intake = Intake(lake, shipped=server.shipped)
    trainer = Trainer(intake, life)
    try:
        for number in range(3):
            life.grow() if number < 2 else life.seal(force=True)
            trainer.ship()
            if not number:
                server.look()  # a run that the cache lacks is left to a look
            shown = door.open(server.folder).run(life.path.name)
            assert shown.last_step == rs.open(life.root).run(life.path.name).last_step
        assert sorted(os.listdir(life.path)) == sorted(os.listdir(shown.path))
        assert not server.look()
    finally:
        intake.close()
    check_same(lake, life)


def test_a_note_of_the_trainer_is_shipped_once_if_a_look_meets_its_ship(
    lake: Place,
    life: Life,
    server: Mirroring,
    trainer: Trainer,
    thread: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_notes, is_here, ship_notes = threading.Event(), threading.Event(), server._notes.ship

    def ship_later(runs: Collection[str]) -> None:
        at_notes.set()
        happened(is_here)
        ship_notes(runs)

    def look_on() -> None:
        is_here.set()
        look.result(PATIENCE)

    monkeypatch.setattr(server._notes, "ship", ship_later)
    look = thread.submit(server.look)
    happened(at_notes)
    notes.write(str(life.path), {"step": 1, "text": "written beside the trainer"})
    after_refresh(monkeypatch, look_on)
    trainer.ship()
    check_same(lake, life, ["notes"])


def ship_elsewhere(lake: Place, trainer: Trainer) -> None:
    """Ship through another server, so that this one has to look."""
    here, trainer.intake = trainer.intake, Intake(lake)
    trainer.life.grow()
    trainer.ship()
    trainer.intake.close()
    trainer.intake = here


def ship_resumed(trainer: Trainer) -> None:
    """Ship another `run.json`, and fewer logs."""
    trainer.life.resume()
    trainer.life.seal(force=True)
    trainer.ship()


def test_a_look_that_has_read_an_older_book_writes_nothing_over_what_a_ship_brought(
    lake: Place, life: Life, server: Mirroring, trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = ledger.objects_since

    def since_then_a_ship(place: Place, after: Mapping[str, int]) -> dict[str, list[Object]]:
        objects = since(place, after)
        ship_resumed(trainer)
        return objects

    ship_elsewhere(lake, trainer)
    monkeypatch.setattr(ledger, "objects_since", since_then_a_ship)
    assert server.look() == 1
    check_cache(server, life)
    assert not server.look()


class Turn:
    """A lock that says when a second thread wants it."""

    def __init__(self, wanted: threading.Event) -> None:
        self._lock, self._wanted = threading.Lock(), wanted

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._wanted.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_ship_waits_while_a_look_writes_the_files_of_its_run(
    lake: Place,
    life: Life,
    server: Mirroring,
    trainer: Trainer,
    thread: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, waits_or_ended, refresh = threading.Event(), threading.Event(), mirror.refresh

    def refresh_later(objects: Objects, folder: str, held: Held, gone: Collection[str] = ()) -> bool:
        if not began.is_set():  # this is the look
            began.set()
            thread.submit(ship_resumed, trainer).add_done_callback(lambda _: waits_or_ended.set())
            happened(waits_or_ended)
        return refresh(objects, folder, held, gone)

    ship_elsewhere(lake, trainer)
    monkeypatch.setitem(server._turns, life.path.name, Turn(waits_or_ended))
    monkeypatch.setattr(mirror, "refresh", refresh_later)
    assert server.look() == 1
    thread.shutdown()
    check_cache(server, life)
    assert not server.look()


def test_a_server_looks_again_whatever_a_look_raised(
    lake: Place, life: Life, server: Mirroring, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.grow()
    pushed(lake, life)
    said, looked, look = list[str](), list[float](), server.look
    raised = iter([KeyError("a bug"), None, SystemExit()])

    def next_look() -> int:
        if error := next(raised):
            raise error
        return look()

    monkeypatch.setattr(mirroring, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(server, "look", next_look)
    with pytest.raises(SystemExit):
        server._keep(said.append, looked.append)
    check_cache(server, life)
    assert said == ["the lake cannot be read, and what was fetched is shown: 'a bug'"]
    assert looked == [server.looked] and looked[0] <= time.monotonic()


def test_a_look_may_forget_the_files_of_a_run_while_a_ship_takes_it(
    life: Life, server: Mirroring, trainer: Trainer, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_files, is_refreshed = threading.Event(), threading.Event()
    is_there, last_of = mirroring._is_there, mirroring._last_of

    def there_later(folder: str, held: Held) -> bool:
        at_files.set()
        happened(is_refreshed)
        return is_there(folder, held)  # False: the ship removed logs

    def look_on(name: str, parts: list[Object]) -> list[Object]:
        is_refreshed.set()
        wait([look], PATIENCE)
        return last_of(name, parts)

    monkeypatch.setattr(mirroring, "_is_there", there_later)
    look: Future[int] = thread.submit(server.look)
    happened(at_files)
    life.end()
    life.seal(force=True)
    monkeypatch.setattr(mirroring, "_last_of", look_on)
    trainer.ship()
    assert look.result(PATIENCE) == 0
    check_cache(server, life)


def test_a_run_that_is_deleted_while_a_ship_takes_it_may_come_back(
    lake: Place,
    life: Life,
    server: Mirroring,
    trainer: Trainer,
    thread: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_removal, is_taken, remove, looks = threading.Event(), threading.Event(), mirror.remove, list[Future[Any]]()

    def remove_later(folder: str) -> None:
        at_removal.set()
        happened(is_taken)
        remove(folder)

    def delete() -> None:
        deletion.delete(lake, life.path.name)
        looks.append(thread.submit(server.look))
        happened(at_removal)

    life.grow()
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "remove", remove_later)
        after_refresh(patched, delete)
        trainer.ship()
        is_taken.set()
        looks[0].result(PATIENCE)
    assert not Path(server.folder, life.path.name).exists()
    pushed(lake, life)
    assert server.look() == 1
    check_cache(server, life)
