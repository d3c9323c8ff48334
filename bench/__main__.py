"""`python -m bench [NAME ...]`:
run the benchmarks one after the other, alone on the machine; without names, all of them.

Each file is a program of its own: it measures side by side in one run, prints a table, and appends
to `results.csv`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PARTS = {
    "results",
    "peers",
    "kills",
    "store_run",
    "doctor_faults",
    "doctor_fleet",
    "doctor_rivals",
    "doctor_runs",
    "doctor_trainings",
    "repeats",
    "doctor_verdicts",
    "large_run",
    "large_rollouts",
    "our_threads",
    "processor_time",
    "nfs_machines",
    "doctor_trl",
    "__main__",
    "__init__",
}  # what benchmarks are made of
# These need a GPU, or an environment of their own. Each says at its top how it is run.
ELSEWHERE = {
    "kernels",
    "record_cuda",
    "team",
    "team_load",
    "team_rivals",
    "lake_live",
    "lake_scale",
    "nfs",
    "scan_ray",
    "trl_cost",
    "verl_cost",
}


def programs() -> dict[str, Path]:
    found = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in PARTS}
    return found | {f"web/{path.stem}": path for path in sorted((HERE / "web").glob("*.py")) if path.stem not in PARTS}


def main(names: list[str]) -> int:
    known = programs()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [
        name
        for name in names or [n for n in known if n not in ELSEWHERE]
        if subprocess.run([sys.executable, str(known[name])], cwd=HERE.parent).returncode
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
