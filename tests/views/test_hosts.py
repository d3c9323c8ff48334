"""The machines of a run as a table: the worst first, memory carried on to its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.views.host_lanes import told
from rollscope.views.hosts import full_in, hosts

S = 10**9


def measured(world: Any, readings: dict[tuple[str, str, str], list[float]]) -> dict[str, Any]:
    w = world.writer()
    for (host, device, name), values in readings.items():
        common = {"host": host, "device": device, "name": name}
        w.rows("host", [{**common, "time_ns": i * S, "value": value} for i, value in enumerate(values)])
    return hosts(rs.open(world.root).run())


def test_a_host_whose_memory_fills_comes_first_and_says_when(world: Any) -> None:
    steady, growing = [40.0] * 240, [40 + i / 10 for i in range(240)]
    got = measured(
        world,
        {
            ("calm", "gpu0", "host/gpu_memory_used"): steady,
            ("calm", "gpu0", "host/gpu_memory_share"): [v / 80 for v in steady],
            ("full", "gpu0", "host/gpu_memory_used"): steady,
            ("full", "gpu1", "host/gpu_memory_used"): growing,
            ("full", "gpu1", "host/gpu_memory_share"): [v / 80 for v in growing],
        },
    )
    first, second = got["hosts"]
    assert (first["host"], first["status"], second["status"]) == ("full", "bad", "none")
    (cell,) = first["cells"]
    assert cell["limit"] == pytest.approx(80) and cell["full_in_s"] == pytest.approx(160, rel=0.05)
    assert cell["last"] == pytest.approx(63.9, abs=0.2), "the fullest GPU is shown"
    assert "memory" in first["says"] and [d["device"] for d in first["devices"]] == ["gpu0", "gpu1"]


def test_a_busy_cpu_is_worth_a_look_and_engines_have_their_columns(world: Any) -> None:
    got = measured(
        world,
        {
            ("env", "cpu", "host/cpu_utilisation"): [0.99] * 30,
            ("gpu", "engine/a:8000", "vllm:num_requests_waiting"): [4.0] * 30,
            ("gpu", "engine/b:8000", "vllm:num_requests_waiting"): [5.0] * 30,
        },
    )
    assert [c["title"] for c in got["columns"]] == ["CPU", "Waiting"]
    env, gpu = got["hosts"]
    assert env["devices"] == [] and [d["device"] for d in gpu["devices"]] == ["engine/a:8000", "engine/b:8000"]
    assert env["status"] == "watch" and env["cells"][0]["is_high"] and env["cells"][1] is None
    assert gpu["status"] == "none" and gpu["cells"][1]["last"] == 9, "requests of all engines"


def test_what_was_not_measured_is_missing_and_not_zero(world: Any) -> None:
    got = measured(world, {("a", "cpu", "host/cpu_utilisation"): [0.5, float("nan"), 0.5, 0.5]})
    values = got["hosts"][0]["cells"][0]["values"]
    assert None in values and 0 not in values


def test_a_late_reading_leaves_no_gap_and_a_long_silence_does(world: Any) -> None:
    w, row = world.writer(), {"host": "a", "device": "cpu", "name": "host/cpu_utilisation"}
    times = [*range(10), 12, 13, *range(30, 40)]
    w.rows("host", [{**row, "time_ns": t * S, "value": t / 100} for t in times])
    values = hosts(rs.open(world.root).run())["hosts"][0]["cells"][0]["values"]
    gaps = "".join("." if value is None else "x" for value in values).strip("x")
    assert set(gaps) == {"."} and len(gaps) >= 5, "one gap, where nothing was read for long"


def test_memory_that_is_steady_or_only_noisy_is_not_carried_on() -> None:
    noise = 40 + np.random.default_rng(0).normal(0, 0.5, 120)
    assert full_in(np.full(120, 40.0), 80, 1.0) is None and full_in(noise, 80, 1.0) is None


def test_a_run_without_machines_has_an_empty_table(world: Any) -> None:
    world.writer().rows("notes", [{"text": "hello"}])
    assert hosts(rs.open(world.root).run())["hosts"] == []


def test_a_host_says_which_lanes_its_processes_recorded(world: Any) -> None:
    reading = {"device": "cpu", "name": "host/cpu_utilisation", "time_ns": S, "value": 0.5}
    for number, (host, lanes) in enumerate(
        [("a", ["trainer/0", "trainer/1", "trainer/2"]), ("b", ["inference/0/3", "inference/4"])]
    ):
        w = world.writer(number + 1)
        w.rows("host", [{**reading, "host": host}])
        w.rows(
            "spans", [{"id": i, "name": "x", "lane": lane, "start_ns": S, "end_ns": S} for i, lane in enumerate(lanes)]
        )
    world.writer(3).rows("host", [{**reading, "host": "idle"}])
    found = {row["host"]: row["does"] for row in hosts(rs.open(world.root).run())["hosts"]}
    assert found == {"a": "trainer/0 to 2", "b": "inference/0 and 4", "idle": ""}


@pytest.mark.parametrize(
    ("units", "words"),
    [
        (["trainer/0"], "trainer/0"),
        (["inference/9", "inference/2", "judge", "inference/4"], "inference/2, 4 and 9, judge"),
        ([f"env/{i}" for i in (1, 3, 5, 7, 30)], "env/1 to 30, 5 of them"),
        (["", "main"], "main"),
    ],
)
def test_lanes_are_told_in_few_words(units: list[str], words: str) -> None:
    assert told(units) == words
