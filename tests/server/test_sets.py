"""Marks and sets over HTTP: listed, filtered, searched, and taken away."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with rs.init(project="p", id="a", dir=tmp_path, host=False) as run:
        samples = [{"id": f"s{i}", "group": "g", "prompt": "2+2?", "completion": f"apple {i}"} for i in range(4)]
        run.log_samples(step=3, samples=samples)
    changes = [("label", "a/hack/s1"), ("set", "to grade/a/s1"), ("set", "to grade/a/s3"), ("star", "a/s2")]
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        body = {"changes": [{"kind": kind, "name": name, "value": True} for kind, name in changes]}
        assert client.post("/api/project", json=body).status_code == 200
        yield client


def test_marked_samples_and_sets_are_listed(client: TestClient) -> None:
    listed = client.get("/api/runs/a/marked").json()["samples"]
    assert {one["id"]: one["star"] for one in listed} == {"s1": False, "s3": False, "s2": True}
    assert [one["id"] for one in client.get("/api/runs/a/marked", params={"q": "label=hack"}).json()["samples"]] == [
        "s1"
    ]
    assert client.get("/api/sets").json()["sets"] == {
        "to grade": [{"run": "a", "sample": "s1"}, {"run": "a", "sample": "s3"}]
    }


def test_a_search_is_narrowed_by_marks(client: TestClient) -> None:
    reply = client.get("/api/runs/a/search", params={"text": "apple", "q": 'set="to grade"'})
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert sorted(line["hit"]["id"] for line in lines if "hit" in line) == ["s1", "s3"]


@pytest.mark.parametrize(
    ("format", "ending"),
    [("jsonl", "jsonl"), ("csv", "csv"), ("parquet", "parquet"), ("inspect", "json"), ("hf", "zip")],
)
def test_a_set_is_a_file(client: TestClient, format: str, ending: str) -> None:
    reply = client.get("/api/sets/to grade/export", params={"format": format})
    assert reply.status_code == 200 and f'filename="to-grade.{ending}"' in reply.headers["content-disposition"]
    assert len(reply.content) > 100
    missing = client.get("/api/sets/nobody/export", params={"format": format})
    assert missing.status_code == 404 and "no set 'nobody'; there are: to grade" in missing.json()["says"]


def test_hits_are_a_csv_file(client: TestClient) -> None:
    reply = client.post("/api/runs/a/export", json={"ids": ["s3", "s0"], "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [(row["id"], row["completion"]) for row in rows] == [("s3", "apple 3"), ("s0", "apple 0")]
