"""What the server makes of a diagnosis: the life of findings, once, and what was useful."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create

SECONDS = 60.0


def waited(ask: Callable[[], Any]) -> Any:
    """The first answer that is something."""
    until = time.monotonic() + SECONDS
    while not (answer := ask()) and time.monotonic() < until:
        time.sleep(0.2)
    return answer


def test_a_finding_is_opened_in_the_run_and_is_over_when_the_run_says_so(tmp_path: Path) -> None:
    at = [0]

    def log(run: rs.Run, value: float, steps: int) -> None:
        for _ in range(steps):
            run.log({"policy/entropy": value, "policy/kl_ref_k3": 0.001}, step=at[0])
            run.commit(at[0])
            at[0] += 1
        run.flush(60)

    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        with rs.init(name="sick", id="sick", dir=str(tmp_path), host=False) as run:
            log(run, 1.0, 40)
            log(run, 0.01, 30)

            def seen() -> list[dict[str, Any]]:
                log(run, 0.01, 1)
                return [f for f in client.get("/api/runs/sick/findings").json()["findings"] if f["life"]]

            (finding,) = waited(seen)
            assert finding["rule"] == "entropy-collapse"
            assert [event["life"] for event in finding["life"]] == ["opened"]

            def over() -> list[dict[str, Any]]:
                log(run, 1.0, 5)
                found: list[dict[str, Any]] = client.get("/api/runs/sick/findings").json()["recovered"]
                return found

            (past,) = waited(over)
            assert (past["rule"], [e["life"] for e in past["life"]]) == ("entropy-collapse", ["opened", "recovered"])
    rows = rs.open(tmp_path).run("sick").findings()
    assert list(rows["rule"]) == ["entropy-collapse"] * 2


def test_the_overview_says_how_much_of_the_work_was_useful(tmp_path: Path) -> None:
    with rs.init(name="run", id="run", dir=str(tmp_path), host=False) as run:
        for step in range(4):
            fates = ({"advantage": 1.0}, {"advantage": 0.0})
            rows = [{"id": f"{step}.{i}", "completion_tokens": 10, "reward": 1.0, **fates[i % 2]} for i in range(4)]
            run.log_samples(rows, step=step)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        useful = waited(lambda: client.get("/api/runs/run/overview").json()["useful"])
    assert (useful["share"], useful["tokens"], useful["wasted"][0]["samples"]) == (0.5, 160, 8)
    assert useful["sentence"].startswith("Useful share of the tokens generated: 50 %.")
