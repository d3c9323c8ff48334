"""What recording costs with tensors on a device. Run `python bench/record_cuda.py` with CUDA.

Calls that give work to the device are measured a few at a time, with the device idle at the start:
a busy device makes the caller wait, and then the device is measured. `bare` is the same without
Rollscope: with new events for each use, with reused events, and with the stream looked up before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import rollscope as rs

sys.path.insert(0, str(Path(__file__).parent))
import results

FEW = 50  # calls between two waits for the device: two events each are far from filling its queue


def measure(what: str, call: Callable[[], Any], n: int = 300, few: int = FEW) -> dict[str, str]:
    for _ in range(20):
        call()
    took: list[float] = []
    while len(took) < n:
        torch.cuda.synchronize()
        time.sleep(0.12)  # the drain takes what came before
        for _ in range(few):
            began = time.perf_counter_ns()
            call()
            took.append((time.perf_counter_ns() - began) / 1e3)
    return results.row(f"cuda: {what}", "us", took)


def _spans(run: Any) -> list[dict[str, str]]:
    def span(device: bool) -> None:
        with run.span("x", lane="gpu/0", device=device):
            pass

    def fresh() -> None:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        end.record()

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream = torch.cuda.current_stream()
    return [
        measure("bare, two events made and recorded", fresh, 1_000),
        measure("bare, two events used again", lambda: (begin.record(), end.record()), 1_000),
        measure(
            "bare, two events used again on a stream that is known",
            lambda: (begin.record(stream), end.record(stream)),
            1_000,
        ),
        measure("span", lambda: span(False), 1_000),
        measure("span(device=True)", lambda: span(True), 1_000),
        measure("span(device=True), the device kept busy with them", lambda: span(True), 2_000, few=2_000),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="do not append to results.csv")
    dry = parser.parse_args().dry
    run = rs.init(name="cuda", dir=tempfile.mkdtemp(), host=False)
    floats = {f"m/{i}": float(i) for i in range(200)}
    scalars = {name: torch.rand((), device="cuda") for name in floats}
    cpu = {name: torch.rand(()) for name in floats}
    logp = -torch.rand(64, 1024, device="cuda")
    batch = {
        "logp": logp,
        "old_logp": logp.clone(),
        "action_mask": torch.ones_like(logp),
        "advantages": torch.randn(64, device="cuda"),
    }
    rows = _spans(run)
    rows += [
        measure("log 200 floats", lambda: run.log(floats, step=1)),
        measure("log 200 CPU tensors", lambda: run.log(cpu, step=1)),
        measure("log 200 CUDA tensors", lambda: run.log(scalars, step=1), few=10),
        measure("bare, 200 CUDA tensors read with .item()", lambda: [x.item() for x in scalars.values()], few=10),
        measure("log_batch 64 x 1024 on CUDA, handed over", lambda: run.log_batch(batch, step=1), 30, few=3),
    ]
    run.finish()
    results.show(rows)
    print("losses:", run.losses)
    if not dry:
        results.append(rows, f"{results.hardware()}, {torch.cuda.get_device_name()}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
