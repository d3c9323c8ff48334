"""What recording costs where tensors live on a device: `python bench/record_cuda.py` on a machine with CUDA. Prints one row per line: what, p20, p50, p80 in microseconds."""

from __future__ import annotations

import tempfile
import time

import numpy as np
import torch

import rollscope as rs


def measure(what, call, n=300, pause=0.0):
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    took = []
    for _ in range(n):
        began = time.perf_counter_ns()
        call()
        took.append((time.perf_counter_ns() - began) / 1e3)
        if pause:
            time.sleep(pause)
    torch.cuda.synchronize()
    print(f"{what},{n}," + ",".join(f"{p:.1f}" for p in np.percentile(took, [20, 50, 80])), flush=True)


def main():
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}")
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
        "reward": torch.rand(64, device="cuda"),
    }
    measure("log 200 floats", lambda: run.log(floats, step=1))
    measure("log 200 CPU tensors", lambda: run.log(cpu, step=1))
    measure("log 200 CUDA tensors", lambda: run.log(scalars, step=1))
    measure("200 x .item() (what a loop without it does)", lambda: [x.item() for x in scalars.values()])
    measure("log_batch 64 x 1024 on CUDA, handed over", lambda: run.log_batch(batch, step=1), n=30)

    def span(device):
        with run.span("x", lane="gpu/0", device=device):
            pass

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    measure("two bare cuda events recorded", lambda: (begin.record(), end.record()), n=2000)
    measure("span", lambda: span(False), n=2000)
    measure("span(device=True)", lambda: span(True), n=2000)
    measure("span(device=True), 500 a second", lambda: span(True), n=1000, pause=0.002)
    run.finish()
    print("# losses:", run.losses)


if __name__ == "__main__":
    main()
