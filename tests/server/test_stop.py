"""The page asks a run to stop as `rollscope stop` does, and says what was skipped and told."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import application


def test_a_run_that_hears_is_asked_once_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    run = rs.init(id="r", dir=tmp_path, host=False)
    run.log({"policy/loss_total": float("nan"), "policy/entropy": 1.0}, step=0)
    assert run.flush(60)
    with TestClient(application(str(tmp_path))) as client:
        deaf = client.post("/api/runs/r/stop", json={"why": "enough"})
        assert deaf.status_code == 409 and "does not hear" in deaf.json()["says"]
        assert client.get("/api/runs/r/findings").json()["hears"] is False
        run.should_stop(0)
        assert run.flush(60)
        assert client.post("/api/runs/r/stop", json={"why": "enough"}).json()["why"] == "enough"
        answer = client.get("/api/runs/r/findings").json()  # POST has looked at the files
        assert answer["hears"] is True and answer["stop"]["why"] == "enough" and answer["told"] == []
        assert {"non-finite"} == {f["rule"] for f in answer["findings"] if f["severity"] == "bad"}
        assert all(skipped["needs"] for skipped in answer["skipped"]) and answer["skipped"]
        assert client.post("/api/runs/r/stop", json={"who": "me"}).status_code in (400, 422)
    run.finish()
