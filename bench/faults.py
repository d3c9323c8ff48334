"""Eight writers on a disk that fails in spells, for as long as one likes: is each row there once?

`python bench/faults.py [seconds]` (60 by default). Each process records beside the others into one
run, and its own writes, opens and syncs fail by chance with EIO, ENOSPC, ESTALE or EMFILE, fall
short, are interrupted or hang (`tests/record/faults.py`). Then the weather clears, every process
flushes, and the run is read.
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
import rollscope as rs

ROOT = Path(__file__).parent.parent
WRITERS = 8
RECORD = """
import json, sys, time
sys.path.insert(0, sys.argv[4])
import rollscope as rs
from rollscope.record.write import log_files
from tests.record.faults import Weather
log_files.ROTATE = 200_000
folder, rank, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
run = rs.init(id="r", dir=folder, host=False, shard=rank, shards=8)
steps, until = 0, time.monotonic() + seconds
with Weather(folder, seed=rank) as weather:
    while time.monotonic() < until:
        run.log({f"rank{rank}": float(steps)}, step=steps)
        steps += 1
        time.sleep(0.005)
settled = run.flush(120)
run.finish()
print(json.dumps({"steps": steps, "settled": settled, "losses": str(run.losses), "met": weather.met}))
"""


def recorded(folder: str, seconds: float) -> list[dict[str, object]]:
    """What each writer says when it is done."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "ROLLSCOPE_SEAL": "0"}
    command = [sys.executable, "-c", RECORD, folder]
    writers = [
        subprocess.Popen([*command, str(rank), str(seconds), str(ROOT)], env=env, stdout=subprocess.PIPE, text=True)
        for rank in range(WRITERS)
    ]
    return [json.loads(writer.communicate(timeout=seconds + 600)[0]) for writer in writers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    missing = twice = rows = 0
    with tempfile.TemporaryDirectory() as folder:
        said = recorded(folder, args.seconds)
        run = rs.open(folder).run("r")
        for rank, writer in enumerate(said):
            found = run.sql(f"select step, value from metrics where name = 'rank{rank}'")["step"].tolist()
            expected = set(range(int(str(writer["steps"]))))
            missing, twice = missing + len(expected - {*found}), twice + len(found) - len({*found})
            rows += len(expected)
    faults = {name: sum(w["met"][name] for w in said) for name in said[0]["met"]}  # type: ignore[index, attr-defined]
    print(f"{rows:,} rows, faults met: {faults}; unsettled writers: {sum(not w['settled'] for w in said)}")
    table = [
        results.row(f"rollscope: rows lost on a failing disk, {WRITERS} writers", "rows", [float(missing)], rows),
        results.row(f"rollscope: rows twice on a failing disk, {WRITERS} writers", "rows", [float(twice)], rows),
        results.row("rollscope: calls that failed meanwhile", "calls", [float(sum(faults.values()))]),
    ]
    results.show(table)
    if not args.dry:
        results.append(table)


if __name__ == "__main__":
    main()
