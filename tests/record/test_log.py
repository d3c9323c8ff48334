"""`run.log` stores numbers bit for bit, whatever they come as."""

import asyncio
import gc
import math
import struct
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import rollscope as rs
from rollscope.catalog.partials.moments import Moments, Std
from rollscope.catalog.partials.partial import Mean


def bits(value):
    return struct.pack("<d", value)


def test_numbers_come_back_bit_for_bit(init, recorded):
    values = {"nan": math.nan, "inf": math.inf, "minus": -math.inf, "zero": -0.0, "small": 5e-324, "third": 1 / 3}
    run = init()
    run.log(values, step=3)
    run.finish()
    got = {name: bits(recorded(run).values[name, 3][0]) for name in values}
    assert got == {name: bits(value) for name, value in values.items()}


@pytest.mark.parametrize("value", [2**53 + 1, -(2**62) - 3, 2**63 - 1, -(2**63), np.int64(2**60 + 7)])
def test_integers_beyond_a_double_are_exact(init, recorded, value):
    run = init()
    run.log({"n": value, "x": 0.5}, step=1)
    run.finish()
    ((kind, (high, low)),) = [s for s in recorded(run).states("n") if s[0] == "int"]
    assert kind == "int" and (int(high) << 32) + int(low) == int(value)


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param(True, 1.0, id="bool"),
        pytest.param(7, 7.0, id="int"),
        pytest.param(np.float32(0.1), float(np.float32(0.1)), id="float32"),
        pytest.param(np.array(2.5), 2.5, id="0-d array"),
        pytest.param(np.array([2.5]), 2.5, id="array of one"),
        pytest.param(torch.tensor(1.5, requires_grad=True), 1.5, id="tensor with a graph"),
        pytest.param(torch.tensor([3], dtype=torch.int64), 3.0, id="tensor of one"),
        pytest.param(torch.tensor(0.5, dtype=torch.bfloat16), 0.5, id="bfloat16"),
        pytest.param(10**400, math.inf, id="more than a double holds"),
    ],
)
def test_any_value_that_is_one_number_is_recorded(init, recorded, value, expected):
    run = init()
    run.log({"x": value}, step=0)
    run.finish()
    assert recorded(run).values["x", 0] == [expected] and not run.losses


@pytest.mark.parametrize("value", ["a word", [1, 2], np.zeros(3), torch.zeros(2), object()])
def test_a_value_that_is_not_a_number_is_counted_and_the_rest_is_kept(init, recorded, capfd, value):
    run = init()
    run.log({"good": 1.0, "bad": value}, step=0)
    run.finish()
    got = recorded(run)
    assert got.values["good", 0] == [1.0] and ("bad", 0) not in got.values
    assert got.losses == {"values": 1} and "'bad'" in capfd.readouterr().err


def test_nested_mappings_become_paths_and_none_is_ignored(init, recorded):
    run = init()
    run.log({"loss": {"policy": 1.0, "value": {"clipped": 2.0}}, "absent": None}, step=0)
    run.finish()
    assert {name for name, _ in recorded(run).values} == {"loss/policy", "loss/value/clipped"} and not run.losses


def test_partials_keep_their_state(init, recorded):
    run = init()
    run.log({"m": Mean(6.0, 4.0), "s": Moments.of([1.0, 2.0, 4.0]), "x": 1.0}, step=0)
    run.log({"m": Mean(2.0, 1.0), "s": Moments.of([]), "x": 2.0}, step=0)
    run.finish()
    got = recorded(run)
    assert got.states("m") == [("mean", [6.0, 4.0]), ("mean", [2.0, 1.0])]
    assert got.states("s")[0] == ("moments", list(Moments.of([1.0, 2.0, 4.0]).state()))
    (block,) = got.metrics
    assert block.weights[:, 0].tolist() == [4.0, 1.0] and block.weights[1, 1] == 0 and math.isnan(block.values[1, 1])


def test_a_change_in_place_after_the_call_changes_nothing(init, recorded):
    run = init()
    tensor, array, metrics = torch.ones(()), np.ones(()), {"dict": 1.0}
    metrics |= {"tensor": tensor, "array": array}
    run.log(metrics, step=0)
    tensor.zero_()
    array[...] = 0
    metrics["dict"] = 0.0
    run.finish()
    assert [recorded(run).values[name, 0] for name in ("dict", "tensor", "array")] == [[1.0]] * 3


def test_no_graph_is_kept_alive(init):
    run = init()
    activations = torch.ones(1000, requires_grad=True)
    alive = weakref.ref(activations)
    run.log({"loss": (activations * 2).sum()}, step=0)
    del activations
    gc.collect()
    assert alive() is None


def test_steps_may_come_late_twice_and_backwards(init, recorded):
    run = init()
    for step, value in ((5, 1.0), (3, 2.0), (5, 3.0), (-2, 4.0), (1, 5.0)):
        run.log({"x": value}, step=step)
    run.finish()
    got = recorded(run)
    assert got.values["x", 5] == [1.0, 3.0] and got.values["x", 3] == [2.0] and got.values["x", -2] == [4.0]
    assert {row["step"] for row in got.rows["steps"]} == {5, 3, -2, 1}


def test_a_call_without_a_step_logs_to_the_current_one(init, recorded):
    run = init()
    run.log({"a": 1.0}, step=4)
    run.log({"b": 2.0})
    run.commit(4, tokens=100, wall=3)
    run.log({"c": 3.0})
    run.finish()
    got = recorded(run)
    assert got.values["b", 4] and got.values["c", 5]
    assert [row["tokens"] for row in got.rows["steps"] if row["step"] == 4] == [100]
    assert got.losses == {"clocks": 1}


def test_environment_split_and_clock_stand_beside_the_values(init, recorded):
    run = init()
    run.log({"x": 1.0}, step=0, env="maths")
    run.log({"x": 2.0}, step=0, split="eval")
    run.log({"x": 3.0}, step=0, clock="explore_step")
    run.finish()
    assert {(b.labels.env, b.labels.split, b.labels.clock): b.values.tolist() for b in recorded(run).metrics} == {
        ("maths", "train", None): [1.0],
        (None, "eval", None): [2.0],
        (None, "train", "explore_step"): [3.0],
    }


def test_a_million_names_survive(init, recorded):
    run = init()
    run.log({f"name/{i}": float(i) for i in range(500_000)}, step=0)
    for i in range(500_000, 1_000_000, 50):
        run.log({f"name/{j}": float(j) for j in range(i, i + 50)}, step=1)
    for i in range(2_000):
        run.log({f"single/{i}": float(i)}, step=2)
    assert run.flush(120)
    run.finish()
    got = recorded(run)
    assert len({name for block in got.metrics for name in block.names}) == got.numbers == 1_002_000
    assert not got.damage and not run.losses
    last = next(block for block in got.metrics if "name/999999" in block.names)
    assert last.values.ravel()[last.names.index("name/999999")] == 999999.0


def test_calls_with_values_of_every_kind_mix(init, recorded):
    run = init()
    given = [
        {"x": 1.0},
        {"x": 2},
        {"x": torch.tensor(3.0)},
        {"x": np.float64(4.0), "y": 2**60},
        {"x": 5.0, "y": 1},
        {},
        {"x": True, "y": np.int8(3)},
    ]
    for step, metrics in enumerate(given):
        run.log(metrics, step=step)
    run.finish()
    got = recorded(run)
    assert [got.values["x", step] for step in (0, 1, 2, 3, 4, 6)] == [[1.0], [2.0], [3.0], [4.0], [5.0], [1.0]]
    assert not run.losses
    assert [got.values["y", step] for step in (3, 4, 6)] == [[2.0**60], [1.0], [3.0]]


def test_odd_names_are_kept(init, recorded):
    names = ["", "with space", "é/日本", "lone \ud800", "nul \0", "x" * 10_000]
    run = init()
    run.log(dict.fromkeys(names, 1.0), step=0)
    run.finish()
    assert {name for name, _ in recorded(run).values} == set(names)


def test_a_flood_is_packed_by_the_caller_and_nothing_is_lost(init, recorded):
    run = init()
    metrics = {f"m/{i}": float(i) for i in range(500)}
    for step in range(2_400):
        run.log(metrics, step=step)
    assert run.flush(120)
    run.finish()
    got = recorded(run)
    assert got.numbers == 1_200_000 and not run.losses
    assert sorted(step for block in got.metrics for step in block.step.tolist()) == list(range(2_400))


def test_threads_lose_nothing(init, recorded):
    run = init()

    def work(number):
        for step in range(500):
            run.log({f"thread/{number}": float(step), "shared": 1.0}, step=step)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.finish()
    got = recorded(run)
    assert all(got.values[f"thread/{i}", step] == [float(step)] for i in range(8) for step in range(500))
    assert sum(len(got.values["shared", step]) for step in range(500)) == 4_000


def test_it_can_be_used_from_asyncio(init, recorded):
    run = init()

    async def task(number):
        async with run.span("rollout", lane=f"slot/{number}"):
            await asyncio.sleep(0)
            with run.span("tool"):
                await asyncio.sleep(0)
            run.log({f"task/{number}": 1.0}, step=0)

    async def everything():
        await asyncio.gather(*(task(i) for i in range(20)))

    with ThreadPoolExecutor(1) as thread:  # its own event loop, whatever runs in this thread
        thread.submit(lambda: asyncio.run(everything())).result()
    run.finish()
    got = recorded(run)
    spans = {row["id"]: row for row in got.rows["spans"]}
    assert len(spans) == 40 and len([name for name, _ in got.values]) == 20
    tools = [row for row in spans.values() if row["name"] == "tool"]
    assert all(spans[row["parent"]]["lane"] == row["lane"] for row in tools)


def test_log_never_raises(init):
    run = init()
    for odd in (None, 5, "text", [("a", 1)], {"a": 1, 2: 3}):
        run.log(odd, step=0)
        run.log_samples(odd, step=0)
        run.log_batch(odd, step=0)
        run.log_eval("set", odd, step=0)
    run.log({"a": 1.0}, step="no number")
    run.finish()
    assert run.losses
    run.log({"late": 1.0}, step=9)
    assert any("finished already" in loss for loss in run.losses)


def test_a_training_process_imports_nothing_heavy(tmp_path):
    code = f"""
import sys
import rollscope as rs
with rs.init(name="x", dir={str(tmp_path)!r}) as run:
    run.log({{"a": 1.0, "b": 2}}, step=0)
    run.log_samples([{{"id": "s", "prompt": "p", "reward": 1.0}}], step=0)
    with run.span("generate"):
        pass
print([m for m in ("duckdb", "pyarrow", "pandas", "fastapi", "torch", "uvicorn", "rich") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]" and done.stderr == ""


def test_an_undefined_statistic_is_no_data_and_a_logged_nan_is_a_value(tmp_path) -> None:
    with rs.init(dir=str(tmp_path), host=False) as run:
        run.log({"one/std": Std.of([3.0]), "bad/mean": Mean(math.nan, 4.0), "plain": math.nan}, step=0)
    reader = rs.open(tmp_path).run(run.id)
    weights = {name: reader.series(name)["weight"][0] for name in ("one/std", "bad/mean", "plain")}
    assert weights["one/std"] == 0 and weights["bad/mean"] == 4 and math.isnan(weights["plain"])


@pytest.mark.parametrize(
    "odd",
    [torch.zeros((), device="meta"), torch.tensor(1j), torch.zeros(3), torch.tensor([])],
    ids=["meta", "complex", "three", "empty"],
)
def test_one_tensor_that_is_not_a_number_does_not_lose_the_others(init, recorded, odd):
    run = init()
    run.log({"a": torch.tensor(1.5), "odd": odd, "b": torch.tensor(2), "c": 3.0}, step=0)
    run.finish()
    got = recorded(run)
    assert (got.values["a", 0], got.values["b", 0], got.values["c", 0]) == ([1.5], [2.0], [3.0])
    assert ("odd", 0) not in got.values and got.losses == {"values": 1}


class Last:
    """A sink that keeps its metrics rows."""

    def __init__(self):
        self.rows = []

    def write(self, rows):
        self.rows += [row for row in rows if row.table == "metrics"]

    def close(self):
        pass


def test_the_later_of_two_numbers_of_a_step_counts_whatever_they_come_as(init):
    sink = Last()
    run = init(sinks=[sink])
    run.log({"a": torch.tensor(1.0), "b": 1.0}, step=0)
    run.log({"a": 2.0}, step=0)
    run.log({"b": torch.tensor(2.0)}, step=0)
    run.log({"b": torch.tensor(3), "c": np.float32(4)}, step=0)
    run.finish()
    assert [dict(row.data) for row in sink.rows] == [{"a": 2.0, "b": 3, "c": 4.0}]
