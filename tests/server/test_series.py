"""Series for a screen: one grid, no spike lost, and NaN, infinities and no data kept apart."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.server.library import Library
from rollscope.server.packed import pack, unpack
from rollscope.server.routes.metrics import series as series_route
from rollscope.server.routes.metrics.series import Ask, answer
from tests.server.conftest import STEPS


def ask(client: TestClient, names: list[str], **more: Any) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    reply = client.post("/api/series", json={"runs": ["a"], "names": names, **more})
    assert reply.status_code == 200, reply.text
    head, columns = unpack(reply.content)
    n = head["n"]
    return head, {k: v.reshape(-1, n) if k != "x" else v for k, v in columns.items()}


def test_every_step_has_a_bucket_of_its_own_where_they_fit(client: TestClient) -> None:
    head, columns = ask(client, ["reward/mean"])
    assert head["n"] == STEPS and head["width"] == 1
    assert columns["x"].tolist() == list(range(STEPS))
    assert columns["last"][0] == pytest.approx([0.5 + s / 100 for s in range(STEPS)])


def test_buckets_hold_whole_steps_and_lose_no_spike(client: TestClient) -> None:
    head, columns = ask(client, ["reward/mean"], points=7)
    assert head["width"] == 9 and head["n"] == 7
    assert columns["max"][0].max() == pytest.approx(0.5 + (STEPS - 1) / 100)
    assert int(columns["count"].sum()) == STEPS


def test_a_gap_is_no_data_and_not_zero(client: TestClient) -> None:
    head, columns = ask(client, ["policy/entropy"])
    assert np.isnan(columns["mean"][0][20:25]).all() and (columns["count"][0][20:25] == 0).all()
    assert head["series"][0]["nan"] == []


def test_nan_and_infinities_are_counted_apart_from_the_numbers(client: TestClient) -> None:
    head, columns = ask(client, ["critic/loss"])
    series = head["series"][0]
    assert (series["nan"], series["up"], series["down"]) == ([[7, 1]], [[8, 1]], [[9, 1]])
    assert np.nanmax(columns["max"][0]) == 1.0


def test_each_name_has_its_own_values_in_any_order(client: TestClient, store: Path) -> None:
    """A sealed run stores its names in another order."""
    subprocess.run([sys.executable, "-m", "rollscope.store.seal", str(store / "b")], check=True)
    expected = {"reward/mean": 0.5 + 59 / 100, "policy/entropy": 1 - 59 / 100, "counter/tokens": 59000.0}
    for names in (["reward/mean", "counter/tokens", "policy/entropy"], [*expected]):
        head, columns = ask(client, names, runs=["b"])
        last = {s["name"]: columns["last"][i][-1] for i, s in enumerate(head["series"])}
        assert last == pytest.approx(expected)


def test_runs_share_one_grid(client: TestClient) -> None:
    head, columns = ask(client, ["reward/mean"], runs=["a", "b"])
    assert [s["run"] for s in head["series"]] == ["a", "b"] and columns["mean"].shape == (2, STEPS)


def test_a_range_and_a_from_step_leave_out_the_rest(client: TestClient) -> None:
    head, _ = ask(client, ["reward/mean"], lo=10, hi=19)
    assert (head["lo"], head["hi"], head["n"]) == (10, 19, 10)
    head, columns = ask(client, ["reward/mean"], **{"from": 50})
    assert head["lo"] == 50 and columns["count"].sum() == STEPS - 50


@pytest.mark.parametrize("x", ["time", "relative"])
def test_other_clocks_give_every_point(client: TestClient, x: str) -> None:
    _, columns = ask(client, ["reward/mean"], x=x)
    assert columns["count"].sum() == STEPS and np.all(np.diff(columns["x"]) > 0)


def test_a_metric_that_no_run_has_is_left_out(client: TestClient) -> None:
    head, _ = ask(client, ["not/logged"])
    assert head["series"] == []


def test_series_beside_an_earlier_answer_keep_its_grid_if_they_lie_within(client: TestClient) -> None:
    head, alone = ask(client, ["reward/mean"], lo=10, hi=49, points=8)
    for at in ([head["lo"], head["hi"]], [head["hi"], head["lo"]]):
        beside, columns = ask(client, ["reward/mean"], runs=["b"], lo=20, hi=29, points=8, grid=at)
        assert [beside[key] for key in ("lo", "hi", "width", "n")] == [head[key] for key in ("lo", "hi", "width", "n")]
        assert columns["x"].tolist() == alone["x"].tolist()
    wider, _ = ask(client, ["reward/mean"], runs=["b"], points=8, grid=[head["lo"], head["hi"]])
    assert (wider["lo"], wider["hi"]) != (head["lo"], head["hi"]) and wider["hi"] >= STEPS - 1


def test_reading_stops_once_the_browser_is_gone(store: Path) -> None:
    looks = iter([False] * 3)  # the browser gives up at the fourth look
    reply = answer(Library(str(store)), Ask(runs=["a", "b"], names=["reward/mean"]), lambda: next(looks, True))
    assert reply.status_code == 499 and not reply.body


def test_a_browser_that_goes_away_is_noticed_while_its_series_are_read(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(library: Library, ask: Ask, gone: Callable[[], bool]) -> Any:
        """Read when the browser is known to be gone."""
        until = time.monotonic() + 60
        while not gone() and time.monotonic() < until:
            time.sleep(0.01)
        return answer(library, ask, gone)

    monkeypatch.setattr(series_route, "answer", held)
    body = json.dumps({"runs": ["a", "b"] * 32, "names": ["reward/mean", "policy/entropy", "critic/loss"]}).encode()
    headers = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/series",
        "raw_path": b"/api/series",
        "query_string": b"",
        "headers": headers,
        "scheme": "http",
    }
    messages, sent = iter([{"type": "http.request", "body": body, "more_body": False}]), []

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(create(str(store))(scope, receive, send))
    assert sent[0]["status"] == 499


def test_packed_columns_come_back_as_they_went() -> None:
    columns = {"a": np.array([1.5, np.nan, np.inf]), "b": np.arange(5, dtype=np.uint32), "c": np.array([], np.float32)}
    head, unpacked = unpack(pack({"word": "ü"}, columns))
    assert head["word"] == "ü"
    for name, column in columns.items():
        np.testing.assert_array_equal(unpacked[name], column)
    assert all(c["at"] % 8 == 0 for c in head["columns"])


def test_an_environment_has_its_own_series_and_a_step_metric_stays(tmp_path: Path) -> None:
    with rs.init(project="p", id="a", dir=tmp_path, host=False) as run:
        for step in range(3):
            batch = {"reward": np.array([0.0, 1.0, 1.0, 1.0]), "env": ["x", "x", "y", "y"]}
            run.log_batch(batch, step=step)
            run.log({"optimiser/lr": 0.25}, step=step)
            rows = [{"id": f"{step} {i}", "env": "xy"[i], "reward": float(i)} for i in range(2)]
            run.log_samples(step=step, samples=rows)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        means = {}
        for env in ("", "x", "y", "nowhere"):
            head, columns = ask(client, ["reward/mean", "optimiser/lr"], env=env)
            names = [one["name"] for one in head["series"]]
            means[env] = dict(zip(names, columns["mean"][:, 0].tolist(), strict=True))
        widest = {}
        for env in ("", "y"):
            heat = client.get("/api/runs/a/heat", params={"name": "reward/mean", "env": env, "lo": 0, "hi": 2})
            widest[env] = unpack(heat.content)[1]["share"].reshape(3, -1).max(1).tolist()
    assert widest == {"": [0.5] * 3, "y": [1.0] * 3}, "all samples of y have the same reward"
    assert [means[env]["reward/mean"] for env in means] == [0.75, 0.5, 1.0, 0.75]
    assert {one["optimiser/lr"] for one in means.values()} == {0.25}
