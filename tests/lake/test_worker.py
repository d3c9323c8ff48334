"""The process that ships, beside a server: it may end at any moment, and the server goes on."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollscope.errors import BadInput, MachineBusy
from rollscope.lake.check import check
from rollscope.lake.place import Place
from rollscope.lake.serving.worker import Ended, Worker
from rollscope.lake.shipping.requests import ServerUnreachable
from rollscope.lake.shipping.through_server import ThroughServer
from rollscope.lake.spool import Object
from tests.lake.life import Life, check_same, pushed
from tests.lake.served import PATIENCE, Server, serving

PROGRAM = b"rollscope.lake.serving.child"


@pytest.fixture
def worker(lake: Place) -> Iterator[Worker]:
    worker = Worker(lake, print)
    yield worker
    worker.close()


def pids(lake: Place) -> list[int]:
    """The processes that ship to a lake."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        found += [int(entry)] if PROGRAM in words and lake.folder.encode() in words else []
    return found


def wait_until(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 4 * PATIENCE
    while not true():
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.05)


def push(server: Server, life: Life, most: float = 4 * PATIENCE) -> None:
    """Push until it succeeds, as a shipper does."""
    until = time.monotonic() + most
    while True:
        try:
            ThroughServer(server.url, str(life.path)).push()
            return
        except ServerUnreachable as error:
            assert time.monotonic() < until, error
            time.sleep(0.2)


def test_a_process_that_is_killed_is_started_again_and_loses_nothing(team: Place, tmp_path: Path) -> None:
    life, killed = Life(tmp_path / "runs", "worker-1", seed=3), 0
    with serving(team, tmp_path / "server") as server:
        for wait in (0.0, 0.05, 0.2, 0.5):
            life.happen()
            wait_until(lambda: len(pids(team)) == 1, "the start")
            (before,) = pids(team)
            killer = threading.Timer(wait, os.kill, (before, signal.SIGKILL))
            killer.start()
            push(server, life)
            killer.join()
            wait_until(lambda before=before: before not in pids(team), "the end")  # type: ignore[misc]
            killed += 1
            with server.client() as client:
                assert client.get("api/runs").status_code == 200  # pages do not care
        life.happen()
        push(server, life)
        assert server.process.poll() is None and killed == 4
    check_same(team, life, ["metrics", "samples", "turns", "notes"])
    assert not check(team).problems


def test_it_ends_with_its_server_and_leaves_nothing_behind(lake: Place, life: Life, tmp_path: Path) -> None:
    def copies() -> list[Path]:
        return list((tmp_path / "server" / "cache").glob("intake-*/*"))

    with serving(lake, tmp_path / "server") as server:
        life.grow()
        push(server, life)
        assert len(pids(lake)) == 1 and copies()
        server.process.terminate()
        server.process.wait(PATIENCE)
        assert not pids(lake) and not copies()
    with serving(lake, tmp_path / "server") as server:
        assert len(pids(lake)) == 1
        server.kill()
        wait_until(lambda: not pids(lake), "the end of the process of a server that was killed")


def test_pages_are_answered_while_it_stands_still(lake: Place, life: Life, tmp_path: Path) -> None:
    life.grow()
    pushed(lake, life)
    with serving(lake, tmp_path / "server") as server, server.client() as client:
        (pid,) = pids(lake)
        os.kill(pid, signal.SIGSTOP)
        try:
            life.grow()
            thread = threading.Thread(target=push, args=(server, life))
            thread.start()  # a trainer waits
            behind = client.get("api/health").json()["lake_behind_seconds"]
            assert [run["id"] for run in client.get("api/runs").json()["runs"]] == ["r1"]
            wait_until(
                lambda: client.get("api/health").json()["lake_behind_seconds"] > behind, "a look that is missing"
            )
        finally:
            os.kill(pid, signal.SIGCONT)
        thread.join(4 * PATIENCE)
        assert not thread.is_alive()
    check_same(lake, life, ["metrics"])


def test_what_keeps_it_from_starting_is_said_by_the_server(lake: Place) -> None:
    Path(lake.folder, "team.toml").write_text("[quotas]\n")
    with pytest.raises(BadInput, match=r"unknown table \[quotas\]. Did you mean 'quota'"):
        Worker(lake, print)
    assert not pids(lake)


def test_a_request_that_was_not_answered_fails_with_a_sentence(worker: Worker) -> None:
    os.kill(pids(worker.place)[0], signal.SIGSTOP)
    waiting = worker.held("r1", None)
    os.kill(pids(worker.place)[0], signal.SIGKILL)
    with pytest.raises(Ended, match=r"ended \(code -9\). Nothing is lost: send this again"):
        waiting.result(PATIENCE)

    wait_until(lambda: is_answered(worker), "an answer of the next process")


class Odd:
    """What a process cannot read."""

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return int, ("no number",)


def test_a_process_that_cannot_read_a_request_is_started_again(lake: Place) -> None:
    def full(text: str) -> None:
        said.append(text)
        raise OSError(28, "No space left on device")  # the disk of the server's log

    said: list[str] = []
    worker = Worker(lake, full)
    (before,) = pids(lake)
    worker._process.out.put((0, "held", Odd()))
    wait_until(lambda: before not in pids(lake) and len(pids(lake)) == 1, "the next process")
    wait_until(lambda: bool(said), "a sentence")
    assert said == ["the process that ships runs ended (code 1), and is started again"]
    wait_until(lambda: is_answered(worker), "an answer of the next process")
    worker.close()


def is_answered(worker: Worker) -> bool:
    try:
        return worker.held("r1", None).result(PATIENCE).ship == 0
    except Ended:
        return False


def test_a_full_disk_of_the_server_is_a_sentence(worker: Worker) -> None:
    objects = Path(worker.place.data_path()) / "runs"
    objects.write_text("a file where a folder belongs")
    data = b"some bytes"
    object = Object("run.json", "whole", 0, len(data), hashlib.sha256(data).hexdigest(), "", 0)
    with pytest.raises(MachineBusy, match=r"could not read or write a file .* Nothing is lost: send this again"):
        worker.put("p", "r1", object, data, None).result(PATIENCE)


def test_an_error_arrives_as_what_it_was(worker: Worker) -> None:
    with pytest.raises(BadInput, match=r"'\.\.' cannot be the id of a run"):
        worker.held("..", None).result(PATIENCE)
    with pytest.raises(RuntimeError, match="TypeError"):  # a bug is one here, too
        worker.held(1, None).result(PATIENCE)  # type: ignore[arg-type]


def test_a_closed_one_is_not_started_again(lake: Place) -> None:
    worker = Worker(lake, print)
    worker.close()
    assert not pids(lake) and not worker._thread.is_alive()
    with pytest.raises(Ended, match="is started again"):
        worker.held("r1", None)
