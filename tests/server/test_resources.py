"""The resources of the API over a recorded run."""

from __future__ import annotations

import csv
import io
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.errors import NotFound
from rollscope.server.app import create
from rollscope.server.library import Library
from rollscope.server.packed import unpack
from tests.server.conftest import STEPS


def test_the_list_of_runs_is_what_was_recorded(client: TestClient) -> None:
    rows = {r["id"]: r for r in client.get("/api/runs").json()["runs"]}
    assert set(rows) == {"a", "b"}
    a = rows["a"]
    assert (a["project"], a["algorithm"], a["state"], a["tags"]) == ("p", "grpo", "finished", ["t"])
    assert (a["step"], a["steps_planned"]) == (STEPS - 1, 100)
    assert a["config"]["nested.k"] == 2 and a["headline"] == "reward/mean" and a["eval_value"] == 0.5
    assert sorted(r["slot"] for r in rows.values()) == [0, 1]


def test_a_name_that_looks_like_markup_is_a_name(client: TestClient) -> None:
    names = [m["name"] for m in client.get("/api/runs/a/names").json()["names"]]
    assert '<b onclick="x">&' in names


def test_a_name_knows_its_entry_range_and_other_names(client: TestClient) -> None:
    reply = client.get("/api/runs/a/names").json()
    names = {m["name"]: m for m in reply["names"]}
    reward = names["reward/mean"]
    assert reward["range"] == [0, 2] and reward["range_from"] == "declared"
    assert len(reply["entries"][reward["entry"]]["also"]) > 3
    assert names["policy/entropy"]["unit"] == "nats/token"


def test_the_tape_has_reward_evaluations_and_clocks(client: TestClient) -> None:
    tape = client.get("/api/runs/a/tape").json()
    assert (tape["first"], tape["last"], tape["planned"]) == (0, STEPS - 1, 100)
    assert len(tape["x"]) == len(tape["reward"]) == STEPS
    assert [e["step"] for e in tape["evals"]] == [0, 10, 20, 30, 40, 50]
    assert tape["clocks"]["step"][0] == 0 and len(tape["clocks"]["time"]) == len(tape["clocks"]["step"])


def test_a_point_says_its_change(client: TestClient) -> None:
    point = client.get("/api/runs/a/point?name=reward/mean&step=30").json()
    assert point["value"] == 0.8 and math.isclose(point["change"], 0.01, abs_tol=1e-12) and point["before_step"] == 29


def test_a_logged_nan_is_a_word_on_the_wire(client: TestClient) -> None:
    assert client.get("/api/runs/a/point?name=critic/loss&step=7").json()["value"] == "NaN"
    assert client.get("/api/runs/a/point?name=critic/loss&step=9").json()["value"] == "-Infinity"


def test_csv_has_every_value_as_logged(client: TestClient) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/api/runs/a/csv?name=critic/loss").text)))
    assert len(rows) == STEPS and [r["value"] for r in rows[7:10]] == ["nan", "inf", "-inf"]


def test_a_heatmap_shares_sum_to_one_where_there_are_samples(client: TestClient) -> None:
    head, columns = unpack(client.get("/api/runs/a/heat?name=reward/mean").content)
    share = columns["share"].reshape(-1, head["bins"])
    np.testing.assert_allclose(share.sum(1), 1, rtol=1e-6)
    assert columns["edges"][0] == 0 and columns["edges"][-1] == 2


def test_the_overview_has_a_verdict_vital_signs_and_samples(client: TestClient) -> None:
    overview = client.get("/api/runs/a/overview").json()
    assert overview["verdict"] and overview["context"]
    titles = [v["title"] for v in overview["vitals"]]
    assert "Reward" in titles and any(t.startswith("Eval, gsm8k") for t in titles)
    assert [p["label"] for p in overview["samples"]] == ["Best", "Median", "Worst"]
    assert all(v["reading"] for v in overview["vitals"])


def test_samples_come_as_text(client: TestClient) -> None:
    rows = client.get("/api/runs/a/samples?step=3&order=best").json()
    assert rows["total"] == 4 and rows["samples"][0]["reward"] == 2
    assert client.get("/api/runs/a/samples/3.0").json()["completion"] == "<script>4</script>"


def test_the_glossary_answers_any_frameworks_name(client: TestClient) -> None:
    answer = client.get("/api/glossary/entry?name=actor/ppo_kl&dialect=verl").json()
    assert answer["entry"]["name"].startswith("policy/kl_update") and answer["via"]["key"] == "actor/ppo_kl"
    index = client.get("/api/glossary").json()
    assert len(index["entries"]) > 100 and index["scenarios"] and index["symptoms"]


PAGES = ("names", "tape", "overview", "samples", "samples/s", "findings")


def test_half_a_character_is_sent_as_its_escape(tmp_path: Path) -> None:
    """A lone surrogate is not UTF-8; no reply may fail because of it."""
    config = {"note": "\udfff"}
    with rs.init(project="p", name="half \ud800", id="half", config=config, dir=tmp_path, host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
        run.log_samples(step=0, samples=[{"id": "s", "reward": 1.0, "prompt": "p", "completion": "cut \ud83d"}])
        run.commit(0)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        for path in ("", "/half", *(f"/half/{page}" for page in PAGES)):
            reply = client.get(f"/api/runs{path}")
            assert reply.status_code == 200, (path, reply.text)
            reply.json()


def test_derived_series_are_drawn_like_logged_ones(client: TestClient) -> None:
    """Statistics of samples that a run did not log are in the list, and each has points."""
    names = [m["name"] for m in client.get("/api/runs/a/names").json()["names"]]
    assert "length/completion/mean" in names
    head, columns = unpack(client.post("/api/series", json={"runs": ["a"], "names": names}).content)
    count = columns["count"].reshape(len(head["series"]), head["n"]).sum(1)
    assert {s["name"] for s in head["series"]} == set(names) and (count > 0).all()
    assert client.get("/api/runs/a/point?name=length/completion/mean&step=3").json()["value"] == 6.5


def test_a_point_has_the_value_of_every_rank(tmp_path: Path) -> None:
    for shard in range(3):
        where = {"dir": tmp_path, "shard": shard, "shards": 3}
        with rs.init(project="p", name="many", id="many", host=False, resume="allow", **where) as run:
            run.log({"policy/entropy": 1.0 + shard, **({"only/first": 5.0} if shard == 0 else {})}, step=4)
            run.commit(4)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        point = client.get("/api/runs/many/point?name=policy/entropy&step=4").json()
        assert [(r["rank"], r["value"]) for r in point["ranks"]] == [(0, 1.0), (1, 2.0), (2, 3.0)]
        assert point["value"] == 2.0
        assert client.get("/api/runs/many/point?name=only/first&step=4").json()["ranks"] == []


def test_a_crashed_run_shows_its_last_output(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="out of luck"),
        rs.init(project="p", name="x", id="x", dir=tmp_path, host=False) as run,
    ):
        run.log({"reward/mean": 1.0}, step=0)
        raise ValueError("out of luck")
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        detail = client.get("/api/runs/x").json()
        assert detail["run"]["state"] == "crashed" and detail["output"][-1] == "ValueError: out of luck"
        assert "raise ValueError" in "\n".join(detail["output"])


def test_sql_answers_and_only_reads(client: TestClient, store: Path) -> None:
    query = "SELECT step, avg(reward) AS mean, max(time_ns) AS at FROM samples GROUP BY step ORDER BY step"
    answer = client.post("/api/runs/a/sql", json={"query": query}).json()
    assert [c["name"] for c in answer["columns"]] == ["step", "mean", "at"]
    assert answer["total"] == STEPS == len(answer["rows"]) and answer["rows"][0][:2] == [0, 0.75]
    assert isinstance(answer["rows"][0][2], str)  # a browser's number cannot hold nanoseconds
    for query in (
        "DELETE FROM samples",
        f"COPY (SELECT 1) TO '{store}/x.csv'",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "SELECT * FROM read_csv('/etc/passwd')",
    ):
        reply = client.post("/api/runs/a/sql", json={"query": query})
        assert reply.status_code == 400 and len(reply.json()["says"]) > 20, query
    assert not (store / "x.csv").exists()


def test_a_long_answer_is_cut_and_counted(client: TestClient) -> None:
    query = "SELECT range AS n, repeat('x', 3000) AS t, 'NaN'::DOUBLE AS odd FROM range(6000)"
    answer = client.post("/api/runs/a/sql", json={"query": query}).json()
    assert answer["total"] == 6000 and len(answer["rows"]) == 5000
    assert answer["rows"][0][1].endswith("characters more") and answer["rows"][0][2] == "NaN"


def test_requests_for_two_runs_do_not_deadlock(client: TestClient) -> None:
    """A run's colour depends on the other runs: it must not be locked while they are read."""
    with ThreadPoolExecutor(8) as many:
        replies = [many.submit(client.get, f"/api/runs/{id}") for _ in range(40) for id in ("a", "b")]
        assert {reply.result(60).status_code for reply in replies} == {200}


def test_a_run_that_is_removed_while_it_is_open_is_not_found(tmp_path: Path) -> None:
    """Its folder was listed a moment ago, and its reader is open."""
    with rs.init(dir=tmp_path, id="gone", host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
    library = Library(str(tmp_path))
    with library.reading("gone"):
        pass
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(NotFound, match="no run 'gone' among 0 runs here"), library.reading("gone"):
        raise AssertionError("there is nothing to read")


def test_a_run_that_is_newer_than_the_list_is_found(tmp_path: Path) -> None:
    """Requests of one screen share a list of runs; a run that it lacks is looked for again."""
    library = Library(str(tmp_path))
    assert library.ids() == []
    rs.init(dir=tmp_path, id="new", host=False).finish()
    library._listed_at, library._entries = time.monotonic(), []  # as if the runs had just been listed
    with library.reading("new") as run:
        assert run.facts["id"] == "new"


def test_spans_come_by_step_or_by_stretch_with_as_much_more_as_asked_for(tmp_path: Path) -> None:
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        for step in range(6):
            run.log_span("update", (10 + step) * 10**9, (11 + step) * 10**9, "trainer/0", step=step)
            run.commit(step)
    with rs.init(id="empty", dir=tmp_path, host=False) as run:
        run.log({"a": 1.0}, step=0)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:

        def stretch(query: str, run: str = "r") -> tuple[float, float, int]:
            head, columns = unpack(client.get(f"/api/runs/{run}/timeline/spans?{query}").content)
            assert len(columns["start"]) == head["spans"]
            return head["lo"], head["hi"], head["spans"]

        assert stretch("step=2&margin=0") == (1, 4, 5), "of the spans, two only touch it"
        assert stretch("step=2&margin=1") == (-2, 7, 6)
        assert stretch("margin=0.5") == (3, 7, 4), "the last step, by default"
        assert stretch("lo=1.5&hi=1.75&margin=1") == (1.25, 2, 2)
        assert stretch("step=3&margin=1", "empty") == (0, 0, 0)
        assert client.get("/api/runs/r/timeline/spans?margin=-1").status_code == 400
