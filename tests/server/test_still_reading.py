"""A run whose first diagnosis is under way: no finding is then no claim."""

from __future__ import annotations

import time

import pytest
from fastapi.testclient import TestClient

from rollscope.server.routes.run import findings


def test_findings_say_that_the_run_is_still_read_and_then_what_was_found(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "WAIT", 0.0)
    first = client.get("/api/runs/a/findings").json()
    assert first["diagnosed"] is False and first["findings"] == []
    deadline = time.monotonic() + 60
    while not (answer := client.get("/api/runs/a/findings").json())["diagnosed"]:
        assert time.monotonic() < deadline, "the first diagnosis is not done after a minute"
        time.sleep(0.1)
    assert answer["findings"] and answer["rules"]
