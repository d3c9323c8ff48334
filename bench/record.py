"""What recording costs: the same work for Rollscope and for every peer, each in its own process.

    python bench/record.py             # makes bench/.venv with the peers from PyPI and measures all
    python bench/record.py --python .venv/bin/python --only rollscope trackio
    python bench/record.py --kills 200 # kill -9 at random instants, eight processes at a time

It prints a table and appends it to bench/results.csv. Compare only rows of one run: they come from
one machine. `bare` does the same steps without a recorder: it copies the dict, or reads the
tensors. No recorder can be faster than that. A case prints one JSON object, and this file gathers
them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import results
from peers import PACKAGES, PEERS

HERE = Path(__file__).parent
NAMES = [f"section/group/metric_{i}" for i in range(200)]


def floats() -> dict[str, float]:
    return {name: random.random() for name in NAMES}


def times(call: Callable[[int], Any], n: int, between: Callable[[], Any] = lambda: None) -> list[float]:
    """Microseconds of each call."""
    took = []
    for i in range(n):
        began = time.perf_counter_ns()
        call(i)
        took.append((time.perf_counter_ns() - began) / 1e3)
        between()
    return took


# Cases: each gets an open recorder and its folder.


def hot(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    """200 floats a call, as fast as possible, with new floats each time."""
    rows, log = [floats() for _ in range(50)], peer.log
    times(lambda i: log(rows[i % 50], i), 20)
    took = times(lambda i: log(rows[i % 50], 20 + i), 5_000 if ours else 60)
    return {"log 200 floats, hot (us)": took, "log 200 floats, hot, p99 (us)": [float(np.percentile(took, 99))]}


def cold(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    """Ten calls a second with 8 MB touched in between, as in a training loop.

    Once the process sleeps right before the call, once it works right before the call.
    """
    memory, rows, log = np.zeros(1 << 20), [floats() for _ in range(50)], peer.log

    def work() -> None:
        memory[:] += 1.0

    def asleep() -> None:
        work()
        time.sleep(0.1)

    def awake() -> None:
        time.sleep(0.1)
        work()

    n = 45 if ours else 25
    return {
        "log 200 floats, 10 a second (us)": times(lambda i: log(rows[i % 50], i), n, asleep)[5:],
        "log 200 floats, 10 a second, awake (us)": times(lambda i: log(rows[i % 50], n + i), n, awake)[5:],
    }


def durable(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    """From the first call to the end of the last write, with new random doubles each time.

    Rollscope logs as fast as possible for thirty seconds, a peer for five.
    """
    rows, log, calls = [floats() for _ in range(50)], peer.log, 0
    before = _size(folder)
    began = time.perf_counter()
    while time.perf_counter() - began < (30 if ours else 5):
        log(rows[calls % 50], calls)
        calls += 1
    if ours:
        peer.run.flush(60)
    else:
        peer.finish()
    took = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    out = {"until durable (M points/s)": [calls * 200 / took / 1e6], "peak memory while saturated (MB)": [memory]}
    if not ours:
        out["bytes per scalar on disk, random doubles (B)"] = [(_size(folder) - before) / (calls * 200)]
    return out


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def tensors(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    import torch

    torch.set_num_threads(1)
    row, log = {name: torch.rand(()) for name in NAMES}, peer.log
    return {"log 200 torch scalars, hot (us)": times(lambda i: log(row, i), 1_000 if ours else 40)[10:]}


def samples(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    if not ours:
        return {}
    batch = [_sample(i) for i in range(10_000)]
    log = getattr(peer, "log_samples", None) or peer.run.log_samples
    took = times(lambda i: log(batch, step=i), 7, lambda: time.sleep(1.2))
    return {"log_samples, per sample of 10,000 (us)": [t / 10_000 for t in took]}


def _sample(i: int) -> dict[str, Any]:
    return {
        "id": f"s{i}",
        "group": str(i // 8),
        "task": str(i // 8),
        "env": "maths",
        "prompt": "p" * 500,
        "completion": "c" * 4_000,
        "reward": 0.5,
        "rewards": {"format": 1.0, "answer": 0.5},
        "completion_tokens": 300,
        "stop_reason": "stop",
    }


def spans(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    if not ours:
        return {}

    def one(i: int) -> None:
        with peer.run.span("generate", lane="inference/0", microbatch=i):
            pass

    return {"span (us)": times(one, 20_000)}


def sealed(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    """Bytes per scalar after sealing: of random doubles, and of random walks, like real series."""
    if not ours:
        return {}
    run, dice = peer.run, np.random.default_rng(0)
    walks = np.cumsum(dice.standard_normal((10_000, 100)) * 0.01, axis=0).astype(np.float32).astype(float) + 1.0
    for step in range(10_000):
        run.log({f"random/{i}": float(v) for i, v in enumerate(dice.random(100))}, step=step)
    size = _sealed_size(run)
    import rollscope as rs

    real = rs.init(name="real", dir=folder, host=False)
    for step in range(10_000):
        real.log({f"walk/{i}": v for i, v in enumerate(walks[step].tolist())}, step=step)
    return {
        "bytes per scalar on disk, random doubles (B)": [size / 1e6],
        "bytes per scalar on disk, walks (B)": [_sealed_size(real) / 1e6],
    }


def _sealed_size(run: Any) -> int:
    run.finish()
    subprocess.run([sys.executable, "-m", "rollscope.store.seal", str(run.folder)], check=True)
    return sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file() and path.name != "run.json")


def cost(peer: Any, folder: str, ours: bool) -> dict[str, list[float]]:
    """A real torch loop: pairs of steps with and without recording, as the difference in percent.

    For Rollscope also the CPU time of recording a step.
    """
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
    rows = [floats() for _ in range(50)]
    optimiser, x = torch.optim.SGD(model.parameters(), lr=1e-3), torch.randn(256, 256)

    def step(i: int, record: bool) -> float:
        began = time.perf_counter()
        for _ in range(10):
            loss = (model(x) - x).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if record:
            peer.log(rows[i % 50], i)
        return time.perf_counter() - began

    for i in range(20):
        step(i, True)
    pairs = []
    for i in range(250 if ours else 50):
        first = bool(i % 2)
        one, two = step(2 * i, first), step(2 * i + 1, not first)
        pairs.append(((one - two) if first else (two - one)) / min(one, two) * 100)
    out = {
        "slow-down of a torch loop, median of pairs (%)": pairs,
        "the same, half-width of its 95 % interval (%)": [_half_width(pairs)],
    }
    if ours:
        drain = peer.run._recorder._drain
        before, began = drain.busy, time.process_time()
        for i in range(100):
            peer.log(rows[i % 50], i)
            time.sleep(0.02)
        out["CPU of recording a step of 200 floats (us)"] = [(drain.busy - before) / 100 * 1e6]
        out["CPU of the whole process meanwhile (us)"] = [(time.process_time() - began) / 100 * 1e6]
    return out


def _half_width(pairs: list[float]) -> float:
    dice = np.random.default_rng(0)
    medians = [np.median(dice.choice(pairs, len(pairs))) for _ in range(1_000)]
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(high - low) / 2


OURS = ("rollscope", "bare")
BARE = ("hot", "cold", "tensors", "samples")  # cases that need no recorder
CASES: dict[str, Callable[[Any, str, bool], dict[str, list[float]]]] = {
    "hot": hot,
    "cold": cold,
    "tensors": tensors,
    "durable": durable,
    "samples": samples,
    "spans": spans,
    "sealed": sealed,
    "cost": cost,
}


def child(peer: str, case: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        recorder = PEERS[peer](folder)
        took = CASES[case](recorder, folder, peer in OURS)
        print("RESULT " + json.dumps(took), flush=True)
        recorder.finish()


def measured(python: str, peer: str, case: str) -> dict[str, list[float]]:
    env = {**os.environ, "ROLLSCOPE_SEAL": "0", "WANDB_SILENT": "true", "PYTHONPATH": str(HERE.parent / "src")}
    command = [python, __file__, "--child", peer, case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        print(f"{peer}: {case} took more than 90 s", file=sys.stderr)
        return {}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        print(f"{peer}: {case} failed\n{done.stderr[-800:]}", file=sys.stderr)
        return {}
    took: dict[str, list[float]] = json.loads(lines[0].removeprefix("RESULT "))
    return took


def _row(peer: str, what: str, values: list[float]) -> dict[str, str]:
    name, _, unit = what.rpartition(" (")
    return results.row(f"{peer}: {name}", unit.rstrip(")"), values)


def interpreter(wanted: str | None) -> str:
    """The given interpreter, else one with the peers, in an environment made on first use."""
    if wanted:
        return wanted
    venv = HERE / ".venv"
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        packages = ["numpy", "pyarrow", "duckdb", "torch==2.13.0", *" ".join(PACKAGES.values()).split()]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


def compare(args: argparse.Namespace) -> list[dict[str, str]]:
    """Every case, for every peer."""
    import kills  # here: the process of a peer must not load Rollscope

    rows: list[dict[str, str]] = []
    python, until = interpreter(args.python), time.monotonic() + args.seconds
    for case, peer in itertools.product(args.cases, args.only):
        if time.monotonic() > until:
            print(f"{peer}: {case} left out, {args.seconds:.0f} s are over", file=sys.stderr)
        elif case == "kill":
            rows += kills.beside(python, peer, 3)
        elif peer != "bare" or case in BARE:
            rows += [_row(peer, what, values) for what, values in measured(python, peer, case).items()]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="an interpreter that has the peers")
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--cases", nargs="*", choices=[*CASES, "kill"], default=[*CASES, "kill"])
    parser.add_argument("--kills", type=int, default=0, help="kill this many processes and count the lost rows")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no new case after this time")
    parser.add_argument("--dry", action="store_true", help="do not append to results.csv")
    parser.add_argument("--child", nargs=2, metavar=("PEER", "CASE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    if args.kills:
        import kills

        rows = kills.measure(args.kills)
    else:
        rows = compare(args)
    results.show(rows)
    if not args.dry:
        results.append(rows)


if __name__ == "__main__":
    main()
