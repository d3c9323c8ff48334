"""The list of runs: what people say about them, findings of every run, last values, the bin."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.catalog.partials.partial import Mean
from rollscope.server.app import create
from rollscope.server.doctor import Doctor
from rollscope.server.library import Library
from rollscope.server.listing import finding_counts, run_rows
from rollscope.server.listing.finding_counts import FindingCounts
from rollscope.server.listing.run_rows import RunRows

from ..store.test_deleted import LIVING


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for i in range(3):
        with rs.init(project="p", name=f"r{i}", id=f"r{i}", dir=tmp_path, host=False, tags=["t"]) as run:
            for step in range(120):
                kl = 0.001 + (0.002 * max(0, step - 60) if i == 1 else 0)
                run.log({"policy/kl_ref_k3": kl, "reward/mean": i + step / 1000, f"only/r{i}": 1.0}, step=step)
                run.commit(step)
    return tmp_path


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with TestClient(create(str(root)), base_url="http://127.0.0.1") as client:
        yield client


def runs(client: TestClient) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in client.get("/api/runs").json()["runs"]}


def say(client: TestClient, kind: str, name: str, value: Any) -> None:
    reply = client.post("/api/project", json={"changes": [{"kind": kind, "name": name, "value": value}]})
    assert reply.status_code == 200, reply.text


def test_the_newest_runs_come_alone_and_say_how_many_are_to_come(client: TestClient) -> None:
    answer = client.get("/api/runs?newest=1").json()
    assert [row["id"] for row in answer["runs"]] == ["r2"] and answer["pending"] == 2
    whole = client.get("/api/runs").json()
    assert answer["runs"][0]["slot"] == whole["runs"][0]["slot"] and whole["pending"] == 0
    assert client.get("/api/runs?newest=0").status_code == 400


def test_a_row_shows_what_people_say(client: TestClient) -> None:
    for kind, name, value in (
        ("rename", "r0", "best"),
        ("note", "r0", "keep"),
        ("archive", "r0", True),
        ("tag", "r0/t", False),
        ("tag", "r0/paper", True),
    ):
        say(client, kind, name, value)
    for row in (runs(client)["r0"], client.get("/api/runs/r0").json()["run"]):
        assert (row["name"], row["recorded_name"], row["note"]) == ("best", "r0", "keep")
        assert row["archived"] is True and row["tags"] == ["paper"]
    assert runs(client)["r1"]["name"] == "r1" and runs(client)["r1"]["archived"] is False


def test_every_run_gets_its_findings_without_being_opened(client: TestClient) -> None:
    deadline = time.monotonic() + 120
    while any(row["findings"] is None for row in runs(client).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    counts = {id: row["findings"] for id, row in runs(client).items()}
    assert all(found is not None for found in counts.values())
    assert sum(counts["r1"].values()) >= 1


def test_a_hidden_finding_is_not_counted(client: TestClient) -> None:
    rules = {finding["rule"] for finding in client.get("/api/runs/r1/findings").json()["findings"]}
    assert rules and sum(runs(client)["r1"]["findings"].values()) >= 1
    for rule in rules:
        client.post("/api/runs/r1/findings/hidden", json={"rule": rule})
    assert sum(runs(client)["r1"]["findings"].values()) == 0


def test_a_column_can_show_the_last_value_of_any_metric(client: TestClient) -> None:
    names = client.get("/api/runs/metrics").json()["names"]
    assert names["reward/mean"] == 3 and names["only/r1"] == 1
    values = client.get("/api/runs/values", params={"name": ["reward/mean", "only/r1", "nobody/logs"]}).json()["values"]
    assert values["reward/mean"] == pytest.approx({"r0": 0.119, "r1": 1.119, "r2": 2.119})
    assert values["only/r1"] == {"r1": 1.0} and values["nobody/logs"] == {}


def test_a_column_has_null_where_a_metric_has_no_data(tmp_path: Path) -> None:
    """Also once the values of a run that is over come from the index."""
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        run.log({"empty": Mean(0.0, 0.0), "odd": float("nan")}, step=0)
    for _ in range(2):
        with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
            names = client.get("/api/runs/r/names").json()["names"]
            values = client.get("/api/runs/values", params={"name": ["empty", "odd"]}).json()["values"]
        assert {row["name"]: row["last"] for row in names} == {"empty": None, "odd": "NaN"}
        assert values == {"empty": {"r": None}, "odd": {"r": "NaN"}}


def test_the_bin_over_http(client: TestClient, root: Path) -> None:
    assert [run["id"] for run in client.post("/api/bin", json={"ids": ["r0", "r2"]}).json()["runs"]] == ["r2", "r0"]
    assert set(runs(client)) == {"r1"} and client.get("/api/runs/r0").status_code == 404
    client.post("/api/bin/restore", json={"ids": ["r0"]})
    assert set(runs(client)) == {"r0", "r1"} and client.get("/api/runs/r0").status_code == 200
    client.post("/api/bin/remove", json={"ids": ["r2"]})
    assert client.get("/api/bin").json() == {"runs": []}
    entry = next(json.loads(line) for line in (root / "project.jsonl").read_text().splitlines() if '"bin"' in line)
    refused = client.post("/api/project/undo", json={"ids": [entry["id"]]})
    assert refused.status_code == 400 and "/api/bin/restore" in refused.json()["says"]


def test_the_bin_refuses_a_living_run_a_stranger_and_a_foreign_page(client: TestClient, root: Path) -> None:
    command = [sys.executable, "-c", LIVING, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "began\n"
        try:
            reply = client.post("/api/bin", json={"ids": ["r0", "living"]})
            assert reply.status_code == 409 and "alive" in reply.json()["says"]
        finally:
            process.kill()
    assert client.post("/api/bin", json={"ids": ["nobody"]}).status_code == 404
    for path in ("bin", "bin/restore", "bin/remove"):
        headers = {"origin": "http://evil.example"}
        assert client.post(f"/api/{path}", json={"ids": ["r0"]}, headers=headers).status_code == 403
    assert {"r0", "r1", "r2"} <= set(runs(client))


def test_a_run_that_cannot_be_read_is_tried_once_and_told_of_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_counts, "NEWS_SECONDS", math.inf)  # only the last of the events
    (root / "bad").mkdir()
    (root / "bad" / "run.json").mkdir()
    library = Library(str(root))
    doctor = Doctor(str(root), lambda id: None)
    counts = FindingCounts(library, doctor, lambda id: False)
    told = threading.Semaphore(0)
    worker = threading.Thread(target=counts.work, args=(told.release,))
    worker.start()
    try:
        bad, good = (library.entry(id) for id in ("bad", "r0"))
        assert bad is not None and good is not None and counts.of(bad) is None
        assert told.acquire(timeout=120)  # all were read, this one in vain
        assert counts.of(good) is not None
        for _ in range(3):
            assert counts.of(bad) is None  # as a page that loads again asks
        assert not told.acquire(timeout=1)
    finally:
        counts.close()
        worker.join()
        doctor.close()


def test_many_who_ask_share_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rows, "CROWDED_SECONDS", 3600.0)  # however slow the machine is
    rows, made = RunRows(Library(str(tmp_path))), list[int]()

    def answer(asked: str = "list") -> bytes:
        return rows.answer(asked, lambda: made.append(len(made)) or b"%d" % made[-1])

    for _ in range(run_rows.MANY - 1):
        answer()
    assert len(made) == run_rows.MANY - 1  # few ask: each has an answer of its own
    assert {answer() for _ in range(5)} == {b"%d" % made[-1]} and len(made) == run_rows.MANY - 1
    newest = len(made)
    for changes in (rows.told, lambda: rows.ended("living"), lambda: rows.forget("over")):
        changes()
        assert answer() == b"%d" % newest == answer()  # nobody sees the list from before
        newest += 1
    assert answer("another question") == b"%d" % newest


def test_in_a_crowd_everybody_sees_their_own_changes(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rows, "CROWDED_SECONDS", 3600.0)
    for _ in range(run_rows.MANY):
        runs(client)
    say(client, "rename", "r0", "mine")
    assert runs(client)["r0"]["name"] == "mine"
    assert client.post("/api/bin", json={"ids": ["r0"]}).status_code == 200
    assert "r0" not in runs(client)
