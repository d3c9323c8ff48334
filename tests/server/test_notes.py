"""Notes and hidden findings that people write into a run. No file of a training process changes."""

from __future__ import annotations

import getpass
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.server.app import create
from rollscope.store.seal.logs import seal


@pytest.fixture
def sick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run whose KL took off at step 60."""
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")  # a sealer would move files while a test counts them
    with rs.init(project="p", name="sick", id="sick", dir=tmp_path, algorithm="grpo", host=False) as run:
        for step in range(120):
            kl = 0.001 + 0.002 * max(0, step - 60)
            run.log({"reward/mean": 0.3 + step / 1000, "policy/kl_ref_k3": kl}, step=step)
            run.commit(step)
    return tmp_path


@pytest.fixture
def client(sick: Path) -> Iterator[TestClient]:
    with TestClient(create(str(sick)), base_url="http://127.0.0.1") as client:
        yield client


def test_a_note_is_on_the_tape_and_in_the_reader(client: TestClient, sick: Path) -> None:
    note = client.post("/api/runs/sick/notes", json={"text": "  lowered lr \u202e ", "step": 70}).json()
    assert (note["step"], note["text"], note["kind"]) == (70, "lowered lr \u202e", "note")
    (on_tape,) = client.get("/api/runs/sick/tape").json()["notes"]
    assert (on_tape["step"], on_tape["text"]) == (70, "lowered lr \u202e")
    assert client.get("/api/runs/sick/notes").json()["notes"][-1]["text"] == "lowered lr \u202e"
    notes = rs.open(sick).run("sick").notes()
    assert list(notes["text"]) == ["lowered lr \u202e"] and list(notes["step"]) == [70]


def test_a_note_leaves_every_other_file_alone_and_is_no_sign_of_life(client: TestClient, sick: Path) -> None:
    long_ago = time.time() - 3600
    for entry in os.scandir(sick / "sick"):
        os.utime(entry.path, (long_ago, long_ago))
    before = {e.name: (e.stat().st_size, e.stat().st_mtime) for e in os.scandir(sick / "sick")}
    heard = client.get("/api/runs").json()["runs"][0]["heard_ns"]
    assert client.post("/api/runs/sick/notes", json={"text": "x"}).status_code == 200
    after = {e.name: (e.stat().st_size, e.stat().st_mtime) for e in os.scandir(sick / "sick")}
    assert {name: after[name] for name in before} == before and len(after) == len(before) + 1
    assert client.get("/api/runs").json()["runs"][0]["heard_ns"] == heard


def test_a_note_is_edited_and_removed_in_the_log_and_each_can_be_undone(client: TestClient, sick: Path) -> None:
    """What was recorded stays in the run's files."""
    made = [client.post("/api/runs/sick/notes", json={"text": text, "step": 3}).json() for text in ("one", "two")]
    assert [note["author"] for note in made] == [getpass.getuser()] * 2
    files = {e.name: e.stat().st_size for e in os.scandir(sick / "sick")}

    def say(note: dict[str, str], value: object) -> str:
        changes = [{"kind": "edit", "name": f"sick/{note['id']}", "value": value}]
        reply = client.post("/api/project", json={"changes": changes})
        assert reply.status_code == 200, reply.json()
        return str(reply.json()["entries"][0]["id"])

    def notes() -> list[list[tuple[str, bool]]]:
        """As the drawer, the tape and the run's page have them."""
        answers = [client.get(f"/api/runs/sick{path}").json()["notes"] for path in ("/notes", "/tape", "")]
        return [[(note["text"], note["edited"]) for note in answer if note["kind"] == "note"] for answer in answers]

    say(made[0], "first")
    removed = say(made[1], False)
    assert notes() == [[("first", True)]] * 3
    client.post("/api/project/undo", json={"ids": [removed]})
    assert notes() == [[("first", True), ("two", False)]] * 3
    assert {e.name: e.stat().st_size for e in os.scandir(sick / "sick")} == files
    assert set(rs.open(sick).run("sick").notes()["text"]) == {"one", "two"}
    wrong = {"changes": [{"kind": "edit", "name": f"sick/{made[0]['id']}", "value": True}]}
    reply = client.post("/api/project", json=wrong)
    assert reply.status_code == 400 and "or false" in reply.json()["says"]


def test_notes_survive_sealing(client: TestClient, sick: Path) -> None:
    for text in ("one", "two"):
        client.post("/api/runs/sick/notes", json={"text": text, "step": 3})
    seal(str(sick / "sick"))
    assert set(rs.open(sick).run("sick").notes()["text"]) == {"one", "two"}
    assert [n["text"] for n in client.get("/api/runs/sick/tape").json()["notes"]] == ["one", "two"]


@pytest.mark.parametrize(
    "body",
    [{"text": ""}, {"text": "  "}, {"text": "x", "step": -1}, {"text": "x" * 5000}, {"text": "x", "colour": 1}, {}],
    ids=str,
)
def test_a_bad_note_is_rejected_with_a_sentence(client: TestClient, sick: Path, body: dict[str, object]) -> None:
    files = len(os.listdir(sick / "sick"))
    reply = client.post("/api/runs/sick/notes", json=body)
    assert reply.status_code == 400 and set(reply.json()) == {"error", "says"}
    assert len(os.listdir(sick / "sick")) == files


@pytest.mark.parametrize("path", ["notes", "findings/hidden"])
def test_a_foreign_page_may_not_write(client: TestClient, sick: Path, path: str) -> None:
    files = len(os.listdir(sick / "sick"))
    body, headers = {"text": "x", "rule": "kl-takeoff"}, {"origin": "http://evil.example"}
    reply = client.post(f"/api/runs/sick/{path}", json=body, headers=headers)
    assert reply.status_code == 403 and len(os.listdir(sick / "sick")) == files


def test_a_full_disk_is_reported_and_leaves_no_file(client: TestClient, sick: Path) -> None:
    files = sorted(os.listdir(sick / "sick"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # no file may grow now
    try:
        reply = client.post("/api/runs/sick/notes", json={"text": "x"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert reply.status_code == 409 and "writable" in reply.json()["says"]
    assert sorted(os.listdir(sick / "sick")) == files


def test_a_hidden_finding_is_hidden_everywhere_until_it_is_shown_again(
    client: TestClient, sick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = client.get("/api/runs/sick/findings").json()["findings"]
    assert [(finding["rule"], finding["hidden"]) for finding in findings] == [("kl-takeoff", False)]
    verdict = client.get("/api/runs/sick/overview").json()["verdict"]
    assert verdict.startswith("KL to the reference took off") and main(["doctor", "sick", "--dir", str(sick)]) == 1

    client.post("/api/runs/sick/findings/hidden", json={"rule": "kl-takeoff", "why": "beta is 0 in this run"})
    (hidden,) = client.get("/api/runs/sick/findings").json()["findings"]
    assert hidden["hidden"] and hidden["why_hidden"] == "beta is 0 in this run"
    overview = client.get("/api/runs/sick/overview").json()
    assert overview["findings"] == [] and "Nothing else stands out" in overview["verdict"]
    assert "One finding is hidden." in overview["context"]
    assert client.get("/api/runs").json()["runs"][0]["findings"]["bad"] == 0
    capsys.readouterr()
    assert main(["doctor", "sick", "--dir", str(sick)]) == 0
    assert "hidden here: KL to the reference took off (beta is 0 in this run)" in capsys.readouterr().out
    assert main(["doctor", "sick", "--dir", str(sick), "--json", "--all"]) == 1
    assert [f["rule"] for f in json.loads(capsys.readouterr().out)] == ["kl-takeoff"]

    client.post("/api/runs/sick/findings/hidden", json={"rule": "kl-takeoff", "hidden": False})
    assert client.get("/api/runs/sick/overview").json()["verdict"] == verdict
    assert main(["doctor", "sick", "--dir", str(sick)]) == 1


def test_only_a_rule_can_be_hidden(client: TestClient) -> None:
    reply = client.post("/api/runs/sick/findings/hidden", json={"rule": "kl-takeof"})
    assert reply.status_code == 404 and "kl-takeoff" in reply.json()["says"]
