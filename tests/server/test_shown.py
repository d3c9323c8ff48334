"""What a page shows and takes along: values as CSV, what to watch, what never changes, output."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    for id in ("a", "b"):
        with rs.init(project="p", name=id, id=id, dir=tmp_path, host=False, algorithm="grpo") as run:
            for step in range(5):
                odd = float("nan") if step == 2 else 1.0
                run.log({"reward/mean": step / 7, "c/one": 1.0, "c/odd": odd, f"only/{id}": 1.0 * step}, step=step)
                run.note(f"line {step}\nmore", kind="output")
                run.commit(step)
            run.log({"c/single": 1.0}, step=4)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        yield client


def test_every_value_of_all_metrics_and_runs_is_in_the_csv(client: TestClient) -> None:
    names = ["reward/mean", "only/a", "only/b"]
    body = {"runs": ["a", "b"], "names": names, "first": 1, "last": 3}
    rows = list(csv.DictReader(io.StringIO(client.post("/api/csv", json=body).text)))
    assert [(row["run"], row["name"]) for row in rows[::3]] == [
        *(("a", "reward/mean"), ("a", "only/a"), ("b", "reward/mean"), ("b", "only/b")),
    ]
    assert [float(row["value"]) for row in rows[:3]] == [1 / 7, 2 / 7, 3 / 7]  # exactly what was logged
    assert {row["step"] for row in rows} == {"1", "2", "3"}


def test_a_csv_of_an_unknown_run_is_refused(client: TestClient) -> None:
    assert client.post("/api/csv", json={"runs": ["x"], "names": ["reward/mean"]}).status_code == 404
    assert client.post("/api/csv", json={"runs": [], "names": []}).status_code == 400


def test_constant_and_empty_metrics_are_named_and_one_point_or_a_nan_is_neither(client: TestClient) -> None:
    assert client.get("/api/runs/a/still").json() == {"names": ["c/one"]}


def test_the_watch_list_has_what_the_run_logs(client: TestClient) -> None:
    watched = client.get("/api/runs/a/names").json()["watched"]
    assert watched["title"] == "GRPO watch list" and ["reward/mean"] in watched["charts"]


def test_output_is_read_on_from_where_one_was(client: TestClient) -> None:
    whole = client.get("/api/runs/a/output").json()
    assert whole["total"] == 10 and whole["first"] == 0 and whole["lines"][:3] == ["line 0", "more", "line 1"]
    rest = client.get("/api/runs/a/output", params={"after": 8}).json()
    assert rest == {"first": 8, "lines": ["line 4", "more"], "total": 10}
