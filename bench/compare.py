"""Charts of many runs side by side: the answers that the Compare page waits for.

Records 100 runs of 500 steps and 20 metrics, in configurations of five seeds, then asks the server
as the page does: the comparison, and the curves of 12 metrics, for 20 and for 100 runs. The first
answer opens the runs, the others find them open. Run: python bench/compare.py [--dry]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

import results
import rollscope as rs
from rollscope.server.app import create

RUNS, STEPS, METRICS, CHARTS, AGAIN = 100, 500, 20, 12, 9


def record(folder: Path) -> None:
    random = np.random.default_rng(0)
    for number in range(RUNS):
        config = {"lr": number // 5, "seed": number % 5}
        with rs.init(id=f"r{number:03d}", project="p", dir=folder, config=config, host=False) as run:
            values = random.normal(0, 0.05, (STEPS, METRICS)).cumsum(axis=0)
            for step in range(STEPS):
                run.log({f"custom/group/m{i:02d}": values[step, i] for i in range(METRICS)}, step=step)


def seconds(client: TestClient, runs: int) -> float:
    """The time until the charts of so many runs are there."""
    ids = [f"r{number:03d}" for number in range(runs)]
    body = {
        "groups": [ids[i : i + 5] for i in range(0, runs, 5)],
        "names": [f"custom/group/m{i:02d}" for i in range(CHARTS)],
    }
    began = time.perf_counter()
    assert client.get("/api/compare?" + "&".join(f"run={id}" for id in ids[::5])).is_success
    assert client.post("/api/compare/charts", json=body).is_success
    return time.perf_counter() - began


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder))
        for runs in (20, RUNS):
            with TestClient(create(folder), base_url="http://127.0.0.1") as client:
                first = seconds(client, runs)
                rest = [seconds(client, runs) for _ in range(AGAIN)]
            what = f"rollscope: compare {runs} runs x {CHARTS} charts"
            rows.append(results.row(f"{what}, first", "ms", [1000 * first]))
            rows.append(results.row(f"{what}, again", "ms", [1000 * one for one in rest]))
    results.show(rows)
    if "--dry" not in sys.argv:
        results.append(rows)


if __name__ == "__main__":
    main()
