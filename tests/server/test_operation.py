"""`/metrics` and `/api/health`: what a server says about itself, to whom, and that it is true."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from rollscope.server.app import create
from tests.server.two_projects import NEEDLES, OURS, asking, bearer, record, token

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (\d+(\.\d+)?(e[+-]\d+)?|inf)')


def value(text: str, name: str) -> float:
    return float(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[-1])


def test_metrics_count_what_was_answered(tmp_path: Path) -> None:
    seconds = iter([2.5, float("inf"), 3.0])
    with TestClient(create(str(tmp_path), behind=lambda: next(seconds)), base_url="http://127.0.0.1") as client:
        assert client.get("/api/health").json()["lake_behind_seconds"] == 2.5
        assert client.get("/api/health").json()["lake_behind_seconds"] is None  # not all of it was seen yet
        for _ in range(3):
            assert client.get("/api/runs/none").status_code == 404
        client.request("BREW", "/api/runs")
        reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in reply.text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines), lines
    assert 'rollscope_requests_total{method="GET",status="404"} 3' in lines
    assert 'rollscope_requests_total{method="other",status="405"} 1' in lines
    assert value(reply.text, "rollscope_request_seconds_count") == 6
    assert value(reply.text, "rollscope_errors_total") == 0 and value(reply.text, "rollscope_lake_behind_seconds") == 3


def test_metrics_name_nobody_and_need_a_token_of_every_project(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    record(folder)
    every, ours = token(folder, "*"), token(folder, "ours")
    with asking(folder) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/api/health").status_code == 200
        refused = client.get("/metrics", headers=bearer(ours))
        assert refused.status_code == 403 and "counts every project" in refused.json()["says"]
        client.get(f"/api/runs/{OURS}", headers=bearer(ours))
        text = client.get("/metrics", headers=bearer(every)).text
    assert value(text, "rollscope_request_seconds_count") >= 4
    for word in (*NEEDLES, OURS, every[-43:], ours[-43:], ours.split("_")[1]):
        assert word not in text
