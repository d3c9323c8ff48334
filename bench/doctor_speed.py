"""How long the doctor takes over a long run: cold, and after one more step.

`python bench/doctor_speed.py [SHARE] [--folder FOLDER] [--dry]`. The whole is 10,000 steps of 1,000
metrics and 1 M samples with text, sealed; a share of it has as many metrics and fewer steps. Cold
is a process that has read nothing of the run; the modules are loaded before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import results
import rollscope as rs
import store_run
from rollscope.diagnose import all_rules, diagnosis
from rollscope.store.log import block
from rollscope.store.run import Run
from rollscope.store.seal import compact, logs

STEPS, NAMES, SAMPLES = 10_000, 1_000, 100  # samples of a step
KNOWN = (  # what rules read; the rest has names of its own
    *("reward/generated/mean", "reward/generated/std", "policy/entropy", "policy/kl_ref_k3", "optimiser/grad_norm"),
    *("length/completion/generated/mean", "length/truncated/generated", "group/zero_spread", "policy/clip/region"),
    *("time/step", "time/generate", "time/waiting_for_data", "advantage/std", "optimiser/lr", "policy/loss"),
)
MORE = 5  # steps added one after the other


def keys() -> list[str]:
    return [*KNOWN, *(f"section{i // 50}/group{i // 10 % 5}/metric_{i}" for i in range(NAMES - len(KNOWN)))]


def build(folder: Path, steps: int) -> None:
    """A run that still goes on: everything but its last steps is sealed."""
    values = np.abs(store_run.realistic(np.random.default_rng(0), steps, NAMES))
    values[:, 0], values[:, 5] = np.linspace(0.2, 0.8, steps), 300
    writer = store_run.Writer(folder)
    for start in range(0, steps, 8):
        writer.append(_wide(values[start : start + 8], start))
    writer.close()
    store_run.samples(folder, steps, SAMPLES, text=400, writer="00000000000000bb")
    logs.seal(str(folder))
    compact.compact(str(folder), everything=True)


def _wide(values: np.ndarray, start: int) -> bytes:
    rows = np.zeros(len(values), block.row_type(NAMES))
    rows["step"] = np.arange(start, start + len(rows))
    rows["time_ns"] = store_run.T0 + 10**9 * rows["step"]
    rows["values"] = values
    return block.wide(keys(), None, rows.tobytes(), block.Labels())


def one_more(writer: store_run.Writer, step: int) -> None:
    """What a process that trains adds in a step."""
    writer.append(_wide(np.random.default_rng(step).random((1, NAMES)), step))
    writer.append(store_run.samples_of_step(step, SAMPLES))


def timed(run: Run) -> tuple[float, float]:
    """Seconds of the wall, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    diagnosis(run)
    return time.perf_counter() - wall, time.process_time() - cpu


def measured(folder: Path, steps: int) -> list[float]:
    """The first diagnosis of a process, and one after each of a few more steps."""
    all_rules()
    rs.explain("policy/entropy")  # loads the catalogue
    run = rs.open(str(folder.parent)).run(folder.name)
    found = [timed(run)]
    writer = store_run.Writer(folder, f"{time.time_ns():016x}")
    last = int(run.last_step or 0)
    for step in range(last + 1, last + 1 + MORE):
        one_more(writer, step)
        run.refresh()
        found.append(timed(run))
    writer.close()
    return [seconds for pair in found for seconds in pair]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("share", nargs="?", type=float, default=1.0)
    parser.add_argument("--folder", default="", help="where the run is kept for another time")
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    steps = int(STEPS * args.share)
    if args.measure:
        print(*measured(Path(args.measure), steps))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary) / f"doctor-{steps}"
        if not folder.exists():
            build(folder, steps)
        rows = _rows(folder, steps)
    results.show(rows)
    if not args.dry:
        results.append(rows)


def _rows(folder: Path, steps: int) -> list[dict[str, str]]:
    command = [sys.executable, __file__, str(steps / STEPS), "--measure", str(folder)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    wall, cpu = [float(word) for word in told[::2]], [float(word) for word in told[1::2]]
    size = f"{steps:,} steps x {NAMES:,} metrics x {steps * SAMPLES:,} samples"
    return [
        results.row(f"doctor, cold: {size}", "s", wall[:1]),
        results.row(f"doctor, cold, processor: {size}", "s", cpu[:1]),
        results.row(f"doctor, one more step: {size}", "ms", [1000 * seconds for seconds in wall[1:]]),
        results.row(f"doctor, one more step, processor: {size}", "ms", [1000 * seconds for seconds in cpu[1:]]),
    ]


if __name__ == "__main__":
    main()
