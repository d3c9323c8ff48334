"""Record a large store to measure: `python bench/web/large_run.py FOLDER [--runs 20] [--full]`.

The first run has 1,000 metrics over 10,000 steps, with gaps, NaN, infinities, a spike and a
constant, and it crashed. The other runs have 60 metrics over 10,000 steps (with --full: 1,000),
enough for twelve visible charts of twenty runs. Finished runs are sealed, as they usually are when
someone looks at them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import rollscope as rs

STEPS = 10_000


def names(count: int) -> list[str]:
    sections = ["reward", "policy", "optimiser", "length", "group", "time", "perf", "custom"]
    return [f"{sections[i % 8]}/{'abcdefgh'[(i // 8) % 8]}/metric_{i:04d}" for i in range(count)]


def values(count: int, seed: int) -> np.ndarray:
    """Random walks with a trend and noise, like training curves."""
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(0, 0.01, (STEPS, count)), 0)
    noise = rng.normal(0, 0.05, (STEPS, count))
    walk = drift + noise + np.linspace(0, 1, STEPS)[:, None] ** 0.5
    walk[4321, ::7] = 25.0
    walk[::977, ::11] = np.nan
    walk[5000, ::13] = np.inf
    walk[:, 5] = 0.25
    return walk


def record(folder: Path, name: str, count: int, seed: int, crash: bool) -> None:
    listed, table = names(count), values(count, seed)
    run = rs.init(
        project="large",
        name=name,
        id=name,
        dir=folder,
        algorithm="grpo",
        config={"seed": seed},
        steps=STEPS,
        host=False,
    )
    try:
        for step in range(STEPS):
            row = dict(zip(listed, table[step].tolist(), strict=True))
            if 3000 <= step < 3400:  # a gap in every fifth metric
                row = {n: v for i, (n, v) in enumerate(row.items()) if i % 5}
            run.log(row, step=step)
            if step % 200 == 0:
                time.sleep(0.02)  # no trainer is this fast, and this does not measure the recorder's queue
        if crash:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        run.finish()
    except RuntimeError as error:
        run.__exit__(type(error), error, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for i in range(args.runs):
        name = f"run-{i:02d}"
        if (args.folder / name).exists():
            continue
        record(args.folder, name, 1000 if args.full or i == 0 else 60, i, crash=i == 0)
        subprocess.run([sys.executable, "-m", "rollscope.store.seal", str(args.folder / name)], check=True)
        print(
            name,
            f"{sum(f.stat().st_size for f in (args.folder / name).rglob('*') if f.is_file()) / 1e6:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
