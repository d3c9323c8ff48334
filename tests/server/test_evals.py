"""Evaluations over HTTP: sets, pairs, the table of tasks, one task, and a file of it all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server import packed
from rollscope.server.app import create


class Client:
    """Asks the API, and fails on an error that is not expected."""

    def __init__(self, http: TestClient) -> None:
        self.http = http

    def get(self, path: str, ok: bool = True) -> Any:
        reply = self.http.get(f"/api/{path}")
        assert reply.is_success == ok, reply.text
        return reply

    def json(self, path: str) -> Any:
        return self.get(path).json()


SCORES = {0: [[0, 0], [1, 1], [0, 1]], 10: [[1, 1], [0, 0], [0, 1]]}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with rs.init(id="a", dir=tmp_path, host=False) as run:
        for step, tasks in SCORES.items():
            rows = [
                {"task": f"={t}", "repeat": r, "scores": {"acc": x, "f1": x / 2}, "answer": str(x), "tags": ["odd"]}
                | {"sample": {"prompt": f"Question {t}\n?", "completion": "so"}}
                for t, repeats in enumerate(tasks)
                for r, x in enumerate(repeats)
            ]
            run.log_eval("math", [*rows, {"task": "broken", "repeat": 0, "failed": True}], step=step)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        yield Client(client)


def test_a_set_says_its_scores_its_failures_and_its_change(client: Client) -> None:
    (found,) = client.json("runs/a/evals")["sets"]
    assert found["name"] == "math" and found["scores"] == ["acc", "f1"] and found["steps"] == [0, 10]
    assert found["mean"] == [0.5, 0.5] and found["failed"] == [1, 1] and found["change"] == 0
    (half,) = client.json("runs/a/evals/set?set=math&score=f1")["sets"]
    assert half["mean"] == [0.25, 0.25] and half["score"] == "f1"


def test_two_steps_are_paired(client: Client) -> None:
    pair = client.json("runs/a/evals/pair?set=math&before=0&after=10")
    assert pair["kinds"]["learnt"] == ["=0"] and pair["kinds"]["lost"] == ["=1"]
    assert pair["kinds"]["failed"] == ["broken"] and pair["n"] == 3 and pair["p"] == 1
    assert pair["pass_before"] == pytest.approx([0.5, 2 / 3])


def test_the_table_of_tasks_has_labels_and_no_zero_for_no_data(client: Client) -> None:
    head, columns = packed.unpack(client.get("runs/a/evals/matrix?set=math").content)
    assert head["tasks"] == ["=0", "=1", "=2", "broken"] and head["labels"] == [
        *("Question 0 ?", "Question 1 ?", "Question 2 ?"),
        "",
    ]
    mean = columns["mean"].reshape(4, 2)
    assert mean[:3].tolist() == [[0, 1], [1, 0], [0.5, 0.5]] and np.isnan(mean[3]).all()
    assert columns["failed"].reshape(4, 2).tolist()[3] == [1, 1]


def test_a_task_has_its_repeats_with_answers_and_samples(client: Client) -> None:
    task = client.json("runs/a/evals/task?set=math&task=%3D0")
    assert [(r["step"], r["repeat"], r["score"], r["answer"]) for r in task["repeats"]] == [
        *((0, 0, 0.0, "0"), (0, 1, 0.0, "0"), (10, 0, 1.0, "1"), (10, 1, 1.0, "1")),
    ]
    assert task["tags"] == ["odd"] and client.json(f"runs/a/samples/{task['repeats'][0]['sample']}")["prompt"]


def test_the_file_names_what_happened_and_runs_no_formula(client: Client) -> None:
    text = client.get("runs/a/evals/tasks?set=math&before=0&after=10").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["task"] for row in rows] == ["'=0", "'=1", "'=2", "broken"]
    assert [row["what"] for row in rows] == ["learnt", "lost", "wrong_alike", "failed"]
    assert rows[1]["change"] == "-1" and rows[2]["ever_solved"] == "no"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("evals/pair?set=maths&before=0&after=10", "no evaluation set 'maths'"),
        ("evals/pair?set=math&before=0&after=11", "not evaluated at step 11"),
        ("evals/matrix?set=math&score=x", "no score 'x'"),
        ("evals/task?set=math&task=zzz", "no task 'zzz'"),
    ],
)
def test_a_wrong_question_gets_a_sentence(client: Client, path: str, says: str) -> None:
    reply: Any = client.get(f"runs/a/{path}", ok=False)
    assert reply.status_code == 400 and says in reply.json()["says"]
