"""Runs shipped through a server, by machines without keys of the lake: exactly once, or refused."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import rollscope as rs
from rollscope.access import tokens
from rollscope.errors import BadInput, NotAllowed, NotSignedIn
from rollscope.lake import making, said, spool
from rollscope.lake.check import check
from rollscope.lake.place import Place
from rollscope.lake.serving import tokens as lake_tokens
from rollscope.lake.serving.intake import Intake, key_of
from rollscope.lake.serving.quotas import OverQuota, Quotas, bytes_of
from rollscope.lake.shipping import follow
from rollscope.lake.shipping.requests import ServerUnreachable
from rollscope.lake.shipping.through_server import ThroughServer
from rollscope.store.project.log import ProjectLog
from tests.lake.life import Life, check_same
from tests.lake.served import PATIENCE, Server, serving
from tests.lake.test_team import only
from tests.ports import free_port

PROJECT = "p/1"  # of every life


def token(lake: Place, project: str = PROJECT, may: str = "record", name: str = "") -> str:
    return tokens.make(lake_tokens.book(lake), name or f"{may} {project}", [project], may, 1)[1]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """One embedded lake for all of this file."""
    return making.init(str(tmp_path_factory.mktemp("through") / "lake"))


@pytest.fixture(scope="module")
def served(lake: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    token(lake)  # without one nobody could sign in
    with serving(lake, tmp_path_factory.mktemp("server"), "--sign-in") as server:
        yield server


@pytest.fixture
def server(served: Server, lake: Place, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server over the lake, and the token of a program that may record to it."""
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(lake))
    return served


@pytest.fixture
def life(tmp_path: Path, request: pytest.FixtureRequest) -> Life:
    """A run with an id of its own."""
    return Life(tmp_path / "runs", f"run-{abs(hash(request.node.name)) % 10**9}")


def same(lake: Place, life: Life) -> None:
    only(life, lake)
    check_same(lake, life, [])


def about(name: str, data: bytes, **other: Any) -> dict[str, Any]:
    usual = {"project": PROJECT, "name": name, "kind": "whole", "start": 0}
    return {**usual, "sha256": hashlib.sha256(data).hexdigest(), **other}


def test_the_lake_has_every_row_and_byte_of_a_run_that_lives(server: Server, lake: Place, life: Life) -> None:
    shipper = ThroughServer(server.url, str(life.path))
    for _ in range(3):
        life.happen()
        assert shipper.push().ships
    life.end()
    life.seal(True)
    life.compact()
    assert ThroughServer(server.url, str(life.path)).push().ships  # another process, which asks what is there
    check_same(lake, life)  # the first run of this lake
    assert not shipper.push().ships and not check(lake).problems


def test_a_large_file_is_sent_in_pieces(
    server: Server, lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "PIECE", 500)
    life.grow()
    life.rotate()
    life.seal()
    pushed = ThroughServer(server.url, str(life.path)).push()
    sent = [path for path in Path(lake.folder, "data", "runs").rglob("*") if life.path.name in path.parts]
    assert len([path for path in sent if path.is_file()]) > pushed.objects == len(spool.names(str(life.path)))
    same(lake, life)


def test_a_training_ships_itself_through_a_server(server: Server, lake: Place, tmp_path: Path) -> None:
    with rs.init(project=PROJECT, id="live", dir=tmp_path / "runs", host=False, lake=server.url) as run:
        for step in range(5):
            run.log({"loss": 1 / (step + 1)}, step=step)
            run.commit(step)
    until = time.monotonic() + 4 * PATIENCE  # who ships has the lowest priority of the machine
    while True:
        query = "SELECT r.state, count(*) n FROM runs r JOIN metrics m ON m.run = r.id WHERE r.id = 'live' GROUP BY 1"
        rows = rs.open(lake.folder).sql(query)
        if rows["n"].tolist() == [5] and rows["state"].tolist() == ["finished"]:
            return
        assert time.monotonic() < until, rows
        time.sleep(0.2)


def test_what_people_said_about_a_run_is_sent_with_it(server: Server, lake: Place, life: Life, tmp_path: Path) -> None:
    life.grow()
    log, run = ProjectLog(str(life.root)), life.path.name
    mistake = log.append("tag", f"{run}/mistake", True)
    for kind, name, value in (("tag", f"{run}/good", True), ("rename", run, "new name"), ("note", run, "é")):
        log.append(kind, name, value)
    log.undo([mistake.id])
    log.append("archive", run, True)  # these are not sent
    log.append("note", "another", "words")
    shipper = ThroughServer(server.url, str(life.path))
    shipper.push()
    shipper.push()
    (tmp_path / "there").mkdir()
    said.fetch(lake, str(tmp_path / "there"))
    there = ProjectLog(str(tmp_path / "there"))
    assert there.current("tag").get(f"{run}/good") is True and f"{run}/mistake" not in there.current("tag")
    assert there.current("rename")[run] == "new name" and there.current("note") == {run: "é"}
    assert run not in there.current("archive")
    with server.client(token(lake)) as client:
        words = {"project": PROJECT, "lines": ["{}"]}
        answer = client.post(f"api/lake/runs/{run}/said", json=words)
        assert answer.status_code == 400 and "is no line of a project log" in answer.text


def test_a_run_belongs_to_who_records_it(
    server: Server, lake: Place, life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.grow()
    ThroughServer(server.url, str(life.path)).push()
    run, log = life.path.name, ProjectLog(str(life.root))
    log.append("tag", f"{run}/keep", True)
    log.append("rename", run, "mine")
    log.append("note", run, "odd")

    def said_there() -> tuple[bool, str | None, bool]:
        (tmp_path / "there").mkdir(exist_ok=True)
        said.fetch(lake, str(tmp_path / "there"))
        there = ProjectLog(str(tmp_path / "there"))
        held = f"{run}/keep" in there.current("tag"), there.current("rename").get(run)
        return *held, run in there.current("note")

    def push(text: str) -> None:
        monkeypatch.setenv("ROLLSCOPE_TOKEN", text)
        ThroughServer(server.url, str(life.path)).push()

    push(token(lake, name="another program"))
    assert said_there() == (False, None, True)  # who records may write notes
    life.grow()
    with pytest.raises(NotAllowed, match="is recorded with another token"):
        push(token(lake, name="another program"))
    push(token(lake))  # the next token of the same name
    assert said_there() == (True, "mine", True)
    life.grow()
    push(token(lake, may="admin"))
    same(lake, life)


def test_who_may_not_record_here_is_refused(
    server: Server, lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.grow()
    ThroughServer(server.url, str(life.path)).push()
    life.grow()
    for text, expected, says in (
        ("", NotSignedIn, "ROLLSCOPE_TOKEN"),
        ("rsk_0123456789ab_" + "x" * 43, NotSignedIn, "unknown"),
        (token(lake, may="read"), NotAllowed, "may read"),
        (token(lake, project="another"), ServerUnreachable, "no project 'p/1'"),
    ):
        monkeypatch.setenv("ROLLSCOPE_TOKEN", text)
        with pytest.raises(expected, match=says) as refusal:
            ThroughServer(server.url, str(life.path)).push()
        assert not text or text[-20:] not in str(refusal.value)
    other, address = token(lake, project="another"), f"api/lake/runs/{life.path.name}"
    with server.client(other) as client:  # another project's run is not there, and its id cannot be had
        assert client.get(address).json() == {"run": life.path.name, "ship": 0, "files": {}}
        data = b'{"id": "r1", "project": "another"}'
        put = client.put(f"{address}/objects", params=about("run.json", data, project="another"), content=data)
        assert put.status_code == 200
        objects = [{**about("run.json", data), "bytes": len(data), "time_ns": 1}]
        objects[0].pop("project")
        ship = client.post(f"{address}/ships", json={"project": "another", "after": 1, "objects": objects})
        assert ship.status_code == 400 and "its id is taken" in ship.text and PROJECT not in ship.text
        wrong = {
            "project": "another",
            "after": 0,
            "objects": [{**objects[0], "sha256": hashlib.sha256(b"{}").hexdigest()}],
        }
        assert client.post("api/lake/runs/new/ships", json=wrong).status_code == 409  # was never put


def test_a_shipper_that_is_refused_says_so_once_and_goes_on_with_a_better_token(
    server: Server, lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, waits, good = list[str](), list[float](), token(lake)
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(lake, may="read"))

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            monkeypatch.setenv("ROLLSCOPE_TOKEN", good)
        if len(waits) == 4:
            life.end()
            life.seal(force=True)
            for entry in os.scandir(life.path):  # nobody has written for an hour: the run is over
                os.utime(entry.path, (time.time() - 3600,) * 2)

    life.grow()
    begin, at_once = lambda path: ThroughServer(server.url, path), lambda: 0.0
    follow.follow(begin, str(life.path), said.append, sleep=sleep, clock=at_once)
    assert waits[:4] == [follow.REFUSED_WAIT] * 3 + [follow.TICK_SECONDS]
    assert len(said) == 2 and "refused" in said[0] and "may read" in said[0] and "is back" in said[1]
    same(lake, life)
    os.rename(life.path, life.path.with_name("of-another-id"))  # so the lake has none of it
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(lake, may="read"))
    with pytest.raises(NotAllowed):  # nobody waits for a run that is over
        path = str(life.path.with_name("of-another-id"))
        follow.follow(begin, path, said.append, sleep=sleep)


def test_a_run_that_says_another_project_than_its_sender_is_refused(server: Server, lake: Place) -> None:
    data = b'{"id": "sly", "project": "p/2"}'
    with server.client(token(lake)) as client:
        assert client.put("api/lake/runs/sly/objects", params=about("run.json", data), content=data).status_code == 200
        sent = {"name": "run.json", "kind": "whole", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        ship = client.post("api/lake/runs/sly/ships", json={"project": PROJECT, "after": 0, "objects": [sent]})
        assert ship.status_code == 400 and "run.json says project 'p/2'" in ship.json()["says"]
    assert "sly" not in [run["id"] for run in rs.open(lake.folder).runs()]


def test_bytes_that_were_altered_or_are_no_file_of_a_run_are_refused(server: Server, lake: Place) -> None:
    data = b"x" * 100
    log = "0123456789abcdef.0000.log"
    with server.client(token(lake)) as client:

        def put(run: str = "r", body: bytes = data, **other: Any) -> httpx.Response:
            return client.put(f"api/lake/runs/{run}/objects", params={**about(log, data), **other}, content=body)

        assert put().status_code == 200 and put().status_code == 200  # sent again, it changes nothing
        altered = put(body=b"y" + data[1:])
        assert altered.status_code == 422 and "altered on their way" in altered.json()["says"]
        assert put(body=data[:50]).status_code == 422
        for name in ("../lake.toml", "/etc/passwd", "x.set/../../y", ".hidden", "run.json/x", "a/b/c", "x" * 500):
            assert put(name=name).status_code == 400, name
        assert (
            put(sha256="x").status_code == 400
            and put(kind="gone").status_code == 400
            and put(start=-1).status_code == 400
        )
        for run in ("..", ".rollscope", "%2e%2e", "a%2Fb"):
            assert put(run=run).status_code in (400, 404, 405), run
        large = put(body=b"z" * (spool.PIECE + 1))
        assert large.status_code == 413 and "at most" in large.json()["says"]
        sent = {"name": log, "kind": "range", "start": 7, "bytes": 100, "sha256": hashlib.sha256(data).hexdigest()}
        assert put(kind="range", start=7).status_code == 200
        gap = client.post("api/lake/runs/r/ships", json={"project": PROJECT, "after": 0, "objects": [sent]})
        assert gap.status_code == 409 and "the lake has 0 of it" in gap.json()["says"]
    assert not list(Path(lake.folder).rglob("passwd")) and Path(lake.folder, "lake.toml").read_text().startswith(
        "format"
    )


def test_a_token_that_is_revoked_meanwhile_ships_nothing_more(
    server: Server, lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.grow()
    shipper = ThroughServer(server.url, str(life.path))
    shipper.push()
    life.grow()
    text = token(lake)
    monkeypatch.setenv("ROLLSCOPE_TOKEN", text)
    data = b"0" * 1000

    def slowly() -> Iterator[bytes]:
        yield data[:500]
        tokens.revoke(lake_tokens.book(lake), text.split("_")[1], "root")
        yield data[500:]

    with server.client(text) as client:
        reply = client.put("api/lake/runs/r1/objects", params=about("run.json", data), content=slowly())
    assert reply.status_code == 401 and "revoked" in reply.json()["says"]
    with pytest.raises(NotSignedIn, match="revoked"):
        shipper.push()
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(lake))
    assert shipper.push().ships
    same(lake, life)


def test_a_server_that_is_killed_at_any_moment_loses_nothing(
    team: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(team))
    life = Life(tmp_path / "runs", "through-1", seed=7)
    port = free_port()
    server = Server(team, tmp_path / "server", "--sign-in", port=port)
    shipper = ThroughServer(server.url, str(life.path))
    try:
        for wait in (0.1, 0.6):
            life.happen()
            killer = threading.Timer(wait, server.kill)
            killer.start()
            with contextlib.suppress(ServerUnreachable):
                shipper.push()
            killer.join()
            server = Server(team, tmp_path / "server", "--sign-in", port=port)
        shipper.push()
    finally:
        server.kill()
    same(team, life)


def test_two_shippers_and_two_servers_add_nothing_twice(
    team: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLLSCOPE_TOKEN", token(team))
    life = Life(tmp_path / "runs", "through-2", seed=8)
    with serving(team, tmp_path / "a", "--sign-in") as a, serving(team, tmp_path / "b", "--sign-in") as b:
        for _ in range(3):
            life.happen()
        push = [sys.executable, "-m", "rollscope", "push", "--json", str(life.path), "--to"]
        shippers = [subprocess.Popen([*push, one.url], stdout=subprocess.DEVNULL) for one in (a, b)]
        try:
            assert [shipper.wait(4 * PATIENCE) for shipper in shippers] == [0, 0]
        finally:
            for shipper in shippers:
                shipper.kill()
                shipper.wait(PATIENCE)
    same(team, life)


def test_a_project_has_no_more_than_its_quota(life: Life, tmp_path: Path) -> None:
    lake = making.init(str(tmp_path / "small"))
    intake = Intake(lake, Quotas(lake, {PROJECT: 1000, "*": 10}))
    try:
        data = b"x" * 600
        one = spool.Object("run.json", "whole", 0, 600, hashlib.sha256(data).hexdigest(), "", 0)
        for _ in range(3):  # sent again, it counts once; never shipped, it counts
            intake.put(PROJECT, "r1", one, data)
        with pytest.raises(OverQuota, match=r"may keep 1,000 bytes in this lake and has 600, so 600 more"):
            intake.put(PROJECT, "r2", one, data)
        intake.quotas.count(PROJECT, 300, [key_of(PROJECT, "r1", one)])  # shipped, as 300 bytes
        intake.put(PROJECT, "r2", one, data)
        with pytest.raises(OverQuota, match=r"has 900, so 600 more"):
            intake.put(PROJECT, "r3", one, data)
        with pytest.raises(OverQuota, match="may keep 10 bytes"):
            intake.put("another", "r2", one, data)
    finally:
        intake.close()
    assert OverQuota.status == 507 and bytes_of("1.5 GB", "") == 1_500_000_000 and bytes_of(7, "") == 7
    with pytest.raises(BadInput, match="expected a size"):
        bytes_of("much", "x")
    Path(lake.folder, "team.toml").write_text('[quota]\n"p/1" = "2 KB"\n')
    life.grow(50)
    with serving(lake, tmp_path / "server") as server, pytest.raises(ServerUnreachable, match="nothing is lost"):
        ThroughServer(server.url, str(life.path)).push()
