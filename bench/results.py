"""Where benchmarks leave their numbers:
`bench/results.csv`, one row per measurement, with the commit and the machine it was taken on.
"""

from __future__ import annotations

import csv
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("results.csv")
COLUMNS = ("time", "commit", "hardware", "what", "unit", "n", "p20", "p50", "p80")


def hardware() -> str:
    """Processor and how many of it, e.g. `2 x Intel(R) Xeon(R) Processor @ 2.10GHz`."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    return f"{os.cpu_count()} x {name}"


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=FILE.parent, check=False
    )
    return done.stdout.strip() or "unknown"


def row(what: str, unit: str, values: Sequence[float], n: int | None = None) -> dict[str, str]:
    """A measurement: 20th, 50th and 80th percentile of `values`; one value is all three."""
    p20, p50, p80 = np.percentile(values, [20, 50, 80])
    return {
        "what": what,
        "unit": unit,
        "n": str(n or len(values)),
        "p20": f"{p20:.4g}",
        "p50": f"{p50:.4g}",
        "p80": f"{p80:.4g}",
    }


def append(rows: Sequence[dict[str, str]], machine: str | None = None) -> None:
    about = {
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "commit": commit(),
        "hardware": machine or hardware(),
    }
    fresh = not FILE.exists()
    with open(FILE, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if fresh:
            writer.writeheader()
        writer.writerows({**about, **r} for r in rows)


def show(rows: Sequence[dict[str, str]]) -> None:
    width = max((len(r["what"]) for r in rows), default=4)
    print(f"{'what':<{width}}  {'n':>9}  {'p20':>9}  {'p50':>9}  {'p80':>9}  unit")
    for r in rows:
        print(f"{r['what']:<{width}}  {r['n']:>9}  {r['p20']:>9}  {r['p50']:>9}  {r['p80']:>9}  {r['unit']}")
