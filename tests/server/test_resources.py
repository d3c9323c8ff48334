"""What the resources answer about a recorded run."""

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
    assert (a["project"], a["algorithm"], a["state"], a["step"], a["steps_planned"], a["tags"]) == (
        "p",
        "grpo",
        "finished",
        STEPS - 1,
        100,
        ["t"],
    )
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


def test_the_overview_speaks(client: TestClient) -> None:
    found = client.get("/api/runs/a/overview").json()
    assert found["verdict"] and found["context"]
    titles = [v["title"] for v in found["vitals"]]
    assert "Reward" in titles and any(t.startswith("Eval, gsm8k") for t in titles)
    assert [p["label"] for p in found["samples"]] == ["Best", "Median", "Worst"]
    assert all(v["reading"] for v in found["vitals"])


def test_samples_come_as_text(client: TestClient) -> None:
    rows = client.get("/api/runs/a/samples?step=3&order=best").json()
    assert rows["total"] == 4 and rows["samples"][0]["reward"] == 2
    assert client.get("/api/runs/a/samples/3.0").json()["completion"] == "<script>4</script>"


def test_the_glossary_answers_any_frameworks_name(client: TestClient) -> None:
    found = client.get("/api/glossary/entry?name=actor/ppo_kl&dialect=verl").json()
    assert found["entry"]["name"].startswith("policy/kl_update") and found["via"]["key"] == "actor/ppo_kl"
    index = client.get("/api/glossary").json()
    assert len(index["entries"]) > 100 and index["scenarios"] and index["symptoms"]


def test_half_a_character_travels_as_its_escape(tmp_path: Path) -> None:
    """A lone surrogate is not UTF-8; no answer may fail for it."""
    with rs.init(
        project="p", name="half \ud800", id="half", config={"note": "\udfff"}, dir=tmp_path, host=False
    ) as run:
        run.log({"reward/mean": 1.0}, step=0)
        run.log_samples(step=0, samples=[{"id": "s", "reward": 1.0, "prompt": "p", "completion": "cut \ud83d"}])
        run.commit(0)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        for path in (
            "runs",
            "runs/half",
            "runs/half/names",
            "runs/half/tape",
            "runs/half/overview",
            "runs/half/samples",
            "runs/half/samples/s",
            "runs/half/findings",
        ):
            reply = client.get(f"/api/{path}")
            assert reply.status_code == 200, (path, reply.text)
            reply.json()


def test_series_made_of_samples_are_drawn_like_logged_ones(client: TestClient) -> None:
    """A run that logs no statistic of its samples still has them: every name in the list has points."""
    names = [m["name"] for m in client.get("/api/runs/a/names").json()["names"]]
    assert "length/completion/mean" in names
    head, columns = unpack(client.post("/api/series", json={"runs": ["a"], "names": names}).content)
    count = columns["count"].reshape(len(head["series"]), head["n"]).sum(1)
    assert {s["name"] for s in head["series"]} == set(names) and (count > 0).all()
    assert client.get("/api/runs/a/point?name=length/completion/mean&step=3").json()["value"] == 6.5


def test_a_point_has_the_value_of_every_rank(tmp_path: Path) -> None:
    for shard in range(3):
        with rs.init(
            project="p", name="many", id="many", dir=tmp_path, host=False, shard=shard, shards=3, resume="allow"
        ) as run:
            run.log(
                {"policy/entropy": 1.0 + shard, "only/first": 5.0} if shard == 0 else {"policy/entropy": 1.0 + shard},
                step=4,
            )
            run.commit(4)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        point = client.get("/api/runs/many/point?name=policy/entropy&step=4").json()
        assert [(r["rank"], r["value"]) for r in point["ranks"]] == [(0, 1.0), (1, 2.0), (2, 3.0)] and point[
            "value"
        ] == 2.0
        assert client.get("/api/runs/many/point?name=only/first&step=4").json()["ranks"] == []


def test_a_crash_leaves_its_last_words(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="out of luck"),
        rs.init(project="p", name="x", id="x", dir=tmp_path, host=False) as run,
    ):
        run.log({"reward/mean": 1.0}, step=0)
        raise ValueError("out of luck")
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        found = client.get("/api/runs/x").json()
        assert (
            found["run"]["state"] == "crashed"
            and found["output"][-1] == "ValueError: out of luck"
            and "raise ValueError" in "\n".join(found["output"])
        )


def test_sql_answers_and_only_reads(client: TestClient, store: Path) -> None:
    asked = client.post(
        "/api/runs/a/sql",
        json={"query": "SELECT step, avg(reward) AS mean, max(time_ns) AS at FROM samples GROUP BY step ORDER BY step"},
    ).json()
    assert [c["name"] for c in asked["columns"]] == ["step", "mean", "at"] and asked["total"] == STEPS == len(
        asked["rows"]
    )
    assert asked["rows"][0][:2] == [0, 0.75] and isinstance(
        asked["rows"][0][2], str
    )  # nanoseconds do not fit a browser's number
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
    asked = client.post(
        "/api/runs/a/sql",
        json={"query": "SELECT range AS n, repeat('x', 3000) AS t, 'NaN'::DOUBLE AS odd FROM range(6000)"},
    ).json()
    assert asked["total"] == 6000 and len(asked["rows"]) == 5000
    assert asked["rows"][0][1].endswith("characters more") and asked["rows"][0][2] == "NaN"


def test_two_runs_asked_about_at_once_do_not_wait_for_each_other_for_ever(client: TestClient) -> None:
    """A run's answer looks at the other runs too (for its colour): it must not hold itself meanwhile."""
    with ThreadPoolExecutor(8) as many:
        found = [many.submit(client.get, f"/api/runs/{id}") for _ in range(40) for id in ("a", "b")]
        assert {one.result(60).status_code for one in found} == {200}


def test_a_run_that_is_removed_while_it_is_looked_at_is_no_longer_there(tmp_path: Path) -> None:
    """Not a fault of ours: the folder was listed a moment ago, and its reader is open."""
    with rs.init(dir=tmp_path, id="gone", host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
    library = Library(str(tmp_path))
    with library.reading("gone"):
        pass
    shutil.rmtree(tmp_path / "gone")
    library._refreshed.clear()  # as after half a second: the reader looks at the files again
    with pytest.raises(NotFound, match="no run 'gone' among 0 runs here"), library.reading("gone"):
        raise AssertionError("there is nothing to read")


def test_a_run_that_came_since_the_last_look_is_found(tmp_path: Path) -> None:
    """Questions of one screen share a look at the folder, but nobody is told that a run is missing from a look that is older than it."""
    library = Library(str(tmp_path))
    assert library.ids() == []
    rs.init(dir=tmp_path, id="new", host=False).finish()
    library._listed_at, library._ids = time.monotonic(), []  # as if the runs had just been listed
    with library.reading("new") as run:
        assert run.facts["id"] == "new"
