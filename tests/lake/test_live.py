"""`rs.init(lake=...)`: a process of its own ships a run while it is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.lake.place import Place
from rollscope.lake.shipping import follow
from rollscope.lake.shipping.push import Pushed, Pusher
from tests.lake.life import Life, check_same, pushed

WAIT_SECONDS = 240.0  # who ships has the lowest priority of the machine


def wait_until(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not true():
        assert time.monotonic() < until, f"{what} did not happen in {WAIT_SECONDS:g} s"
        time.sleep(0.2)


def test_a_live_run_is_in_the_lake_while_it_runs_and_whole_when_it_is_over(tmp_path: Path, lake: Place) -> None:
    run = rs.init(project="p", id="live", dir=tmp_path / "runs", host=False, lake=lake.folder)
    run.log({"loss": 1.0}, step=1)
    run.log_samples([{"id": "a", "reward": 0.5, "completion": "x"}], step=1)
    run.commit(1)
    lake_store = rs.open(lake.folder)
    wait_until(lambda: "live" in lake_store.ids() and lake_store.run("live").last_step == 1, "the first ship")
    wait_until(lambda: "a" in lake_store.run("live").samples(columns=["id"])["id"], "the ship of the sample")
    assert lake_store.run("live").sample("a")["reward"] == 0.5
    run.log({"loss": 0.5}, step=2)
    run.finish()
    wait_until(lambda: lake_store.runs()[0].state == "finished", "the last ship")
    assert lake_store.run("live").series("loss")["value"].tolist() == [1.0, 0.5]


def test_what_is_no_lake_is_said_and_the_run_is_recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = rs.init(id="alone", dir=tmp_path / "runs", host=False, lake=tmp_path / "nothing")
    run.log({"loss": 1.0}, step=1)
    said = []
    wait_until(lambda: said.append(capfd.readouterr().err) or "is no lake" in "".join(said), "the sentence")
    run.finish()
    assert rs.open(tmp_path / "runs").run("alone").last_step == 1


def test_a_lake_that_is_down_for_a_while_gets_everything_later(lake: Place, life: Life) -> None:
    hidden, said, waits = f"{lake.catalog_path()}.away", [], []
    os.rename(lake.catalog_path(), hidden)
    os.mkdir(lake.catalog_path())  # nobody can open it, nor make a new one

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.rmdir(lake.catalog_path())
            os.rename(hidden, lake.catalog_path())
        life.grow() if len(waits) < 5 else None
        if len(waits) == 5:
            life.end()
            life.seal()
            for entry in os.scandir(life.path):  # nobody has written for an hour: the run is over
                os.utime(entry.path, (time.time() - 3600,) * 2)

    life.grow()
    follow.follow(lambda path: Pusher(lake, path), str(life.path), said.append, sleep=sleep, clock=lambda: 0.0)
    assert waits[:3] == [10.0, 20.0, 40.0] and waits[3] == follow.TICK_SECONDS
    assert len(said) == 2 and "nothing is lost" in said[0] and "is back" in said[1]
    check_same(lake, life, ["metrics", "samples"])


def test_a_slow_lake_is_shipped_to_less_often(lake: Place, life: Life) -> None:
    now, took, waits = [0.0], [0.5, 2.0, 60.0, 0.5], []

    def begin(path: str) -> Pusher:
        pusher = Pusher(lake, path)
        push = pusher.push

        def slowly() -> Pushed:
            now[0] += took[min(len(waits), len(took) - 1)]
            return push()

        pusher.push = slowly
        return pusher

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == len(took):
            life.end()
            life.seal()
            for entry in os.scandir(life.path):  # nobody has written for an hour: the run is over
                os.utime(entry.path, (time.time() - 3600,) * 2)

    life.grow()
    follow.follow(begin, str(life.path), lambda said: None, sleep=sleep, clock=lambda: now[0])
    assert waits[: len(took)] == [4.5, 6.0, follow.SHORTEST_WAIT, 4.5]  # from ship to ship 5, 8 and 61 s


def test_a_server_shows_the_runs_of_a_lake(lake: Place, life: Life) -> None:
    life.grow()
    pushed(lake, life)
    command = [
        sys.executable,
        "-m",
        "rollscope",
        "serve",
        lake.folder,
        "--port",
        "0",
        "--json",
        "--no-browser",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            wait_until(lambda: _is_up(url), "the first answer")
            assert [run["id"] for run in _asked(url)] == ["r1"]
            life.grow()
            pushed(lake, life)
            wait_until(lambda: _asked(url)[0]["step"] == 2, "the second step")
        finally:
            server.terminate()


def _asked(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}api/runs", timeout=60) as answer:
        return json.load(answer)["runs"]  # type: ignore[no-any-return]


def _is_up(url: str) -> bool:
    try:
        return bool(_asked(url))
    except urllib.error.URLError:  # it says where it will listen before it does
        return False
