"""Long runs and wide runs: the time to record, open, read a series, and fill a page.

`python bench/shapes.py [--shapes 1000000x20 2000x5000]`. One process logs every step as a training
loop would and finishes; another one reads, each question in a new process. With `--src DIR` both
run another version's code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import results

HERE = Path(__file__).parent
RECORD = """
import json, os, subprocess, sys, time
import rollscope as rs
folder, steps, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = [f"m/{i}" for i in range(width)]
began = time.perf_counter()
run = rs.init(id="r", dir=folder, host=False)
for step in range(steps):
    run.log({name: step * 0.5 for name in names}, step=step)
run.finish()
took = time.perf_counter() - began
began = time.perf_counter()
subprocess.run([sys.executable, "-m", "rollscope.store.seal", folder + "/r"], check=True)
size = sum(os.path.getsize(os.path.join(at, name)) for at, _, some in os.walk(folder) for name in some)
print(json.dumps({"record": took, "seal": time.perf_counter() - began, "bytes": size, "losses": str(run.losses)}))
"""
READ = {
    "open and list its names": "run.metrics()",
    "open and read a series": "run.series('m/7')",
    "open and read a series in 500 buckets": "run.series('m/7', points=500)",
    "open and fill a page of 20 charts": "run.buckets([f'm/{i}' for i in range(20)], 0, STEPS, 500)",
}


def python(code: str, src: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(src), "ROLLSCOPE_SEAL": "0"}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True, cwd="/").stdout


def question(ask: str, src: Path, folder: str, steps: int) -> list[float]:
    """Milliseconds of a question in a new process that has imported what it needs, three times."""
    code = (
        f"import sys, time, rollscope as rs; STEPS = {steps}; rs.open; began = time.perf_counter();"
        f"run = rs.open(sys.argv[1]).run('r'); {ask}; print((time.perf_counter() - began) * 1e3)"
    )
    return [float(python(code, src, folder)) for _ in range(3)]


def measure(steps: int, width: int, src: Path, label: str) -> list[dict[str, str]]:
    what = f"{label}: {steps:,} steps x {width:,} metrics"
    with tempfile.TemporaryDirectory() as folder:
        said = json.loads(python(RECORD, src, folder, str(steps), str(width)).splitlines()[-1])
        if said["losses"] != "{}":
            raise SystemExit(f"{what}: {said['losses']}")
        rate = steps * width / said["record"] / 1e6
        rows = [
            results.row(f"{what}: record until durable", "M points/s", [rate]),
            results.row(f"{what}: seal", "s", [said["seal"]]),
            results.row(f"{what}: bytes a point, sealed", "B", [said["bytes"] / steps / width]),
        ]
        for name, ask in READ.items():
            rows.append(results.row(f"{what}: {name}", "ms", question(ask, src, folder, steps)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["1000000x20", "2000x5000"], help="steps x metrics")
    parser.add_argument("--src", type=Path, default=HERE.parent / "src", help="the code to run")
    parser.add_argument("--label", default="rollscope", help="whose figures these are")
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    for shape in args.shapes:
        steps, width = map(int, shape.split("x"))
        rows = measure(steps, width, args.src, args.label)
        results.show(rows)
        if not args.dry:
            results.append(rows)


if __name__ == "__main__":
    main()
