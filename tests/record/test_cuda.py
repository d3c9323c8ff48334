"""Tensors on a device keep the values they had at the call, and no call waits for the device."""

import time

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

CYCLES = 2_000_000_000  # about a second of an H200


def test_log_does_not_wait_for_the_device_and_keeps_the_value_at_the_call(init, recorded):
    run = init()
    torch.cuda.synchronize()
    value, integer = torch.ones((), device="cuda"), torch.tensor(7, device="cuda")
    half = torch.tensor([0.5], device="cuda", dtype=torch.bfloat16)
    # Kernels are loaded on first use, which waits for the device.
    run.log({f"m/{i}": value + 0 for i in range(200)} | {"integer": integer, "half": half}, step=0)
    value += 0
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES)
    value += 1
    began = time.perf_counter()
    run.log({f"m/{i}": value for i in range(200)} | {"plain": 0.5, "integer": integer, "half": half}, step=1)
    took = time.perf_counter() - began
    value.zero_()
    assert took < 0.2 and not torch.cuda.current_stream().query(), "the call returned while the device was still busy"
    run.finish()
    got = recorded(run).values
    assert got["m/0", 1] == got["m/199", 1] == [2.0]
    assert (got["plain", 1], got["integer", 1], got["half", 1]) == ([0.5], [7.0], [0.5])


def test_joined_calls_on_the_device_are_one_batch_and_leave_nothing_there(init, recorded):
    tokens = {"logp": -torch.rand(8, 600, device="cuda"), "action_mask": torch.ones(8, 600, device="cuda")}
    rewards = {"reward": torch.arange(8.0, device="cuda"), "advantages": torch.ones(8, device="cuda")}
    ids = [f"s{i}" for i in range(8)]
    run = init()
    run.log_batch(tokens | rewards, step=0)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    run.log_batch(tokens | {"sample": ids}, step=1)
    run.log_batch({name: x.flip(0) for name, x in rewards.items()} | {"sample": ids[::-1]}, step=1)
    assert run.flush()
    run.finish()
    got = recorded(run).values
    names = {name for name, step in got if step == 0 and not name.startswith("counter/")}
    assert len(names) > 20 and got["samples/generated", 1] == [8.0]
    for name in names:
        assert got[name, 1] == pytest.approx(got[name, 0], rel=1e-5, nan_ok=True), name
    assert torch.cuda.memory_allocated() - before < 4096, "arrays of computed calls are let go"


def test_batches_and_samples_on_the_device(init, recorded):
    run = init()
    batch = {
        "logp": -torch.rand(8, 6, device="cuda"),
        "action_mask": torch.ones(8, 6, device="cuda"),
        "reward": torch.arange(8.0, device="cuda"),
    }
    expected = -batch["logp"].mean().item()
    run.log_batch(batch, step=0)  # kernels are loaded on first use, which waits
    run.log_samples([{"id": "warm", "logp": batch["logp"][0], "reward": batch["reward"][3]}], step=0)
    run.flush()
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES // 10)
    began = time.perf_counter()
    run.log_batch(batch, step=1)
    run.log_samples([{"id": "a", "logp": batch["logp"][0], "reward": batch["reward"][3]}], step=1)
    took = time.perf_counter() - began
    assert took < 0.05, f"handing over waited {took:.3f} s"
    first = batch["logp"][0].tolist()
    batch["logp"].zero_()
    batch["reward"].zero_()
    run.finish()
    got = recorded(run)
    assert got.values["policy/entropy_sampled", 1] == [pytest.approx(expected, rel=1e-5)]
    assert got.values["reward/max", 1] == [7.0]
    assert got.rows["samples"][1]["logp"].tolist() == pytest.approx(first) and got.rows["samples"][1]["reward"] == 3.0


def test_device_spans_measure_the_device(init, recorded):
    run = init()
    torch.cuda.synchronize()
    began = time.time_ns()
    with run.span("kernel", device=True):
        torch.cuda._sleep(CYCLES // 4)
    left = time.time_ns()
    torch.cuda.synchronize()
    ended = time.time_ns()
    run.finish()
    (span,) = recorded(run).rows["spans"]
    assert left - began < 50_000_000, "leaving the span did not wait"
    assert abs(span["end_ns"] - ended) < 20_000_000 and abs(span["start_ns"] - began) < 20_000_000


def test_logits_too_large_to_copy_are_read_in_the_call_without_waiting(init, recorded, monkeypatch):
    monkeypatch.setattr("rollscope.record.caller.batch.MOST_BYTES", 10_000_000)
    logits = torch.randn(4, 64, 32_000, device="cuda", dtype=torch.bfloat16)  # 16 MB
    given = {"logits": logits, "action_mask": torch.ones(4, 64, device="cuda"), "temperature": 0.7}
    log_softmax = (logits.double() / 0.7).log_softmax(-1)
    expected = -(log_softmax.exp() * log_softmax).sum(-1).mean().item()
    run = init()
    run.log_batch(given, step=0)  # kernels are compiled on first use
    run.flush()
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES // 10)
    began = time.perf_counter()
    run.log_batch(given, step=1)
    took = time.perf_counter() - began
    logits.zero_()
    assert took < 0.05, f"handing over waited {took:.3f} s"
    run.finish()
    assert recorded(run).values["policy/entropy", 1] == [pytest.approx(expected, rel=1e-5)] and not run.losses
