"""Hostile days in a row: the small tests of what must never happen, many rounds beside busy cores.

`python bench/hostile.py [NAME ...] [--rounds 3]`. A test that holds by luck of timing fails here:
each round runs beside one busy process per core. The table says in how many rounds all of a kind
held; what did not is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import results

ROOT = Path(__file__).parent.parent
KINDS = {  # what is tried -> the tests that try it
    "poison": "tests/record/test_poison.py",
    "odd blocks": "tests/store/test_odd_blocks.py",
    "two namespaces": "tests/record/test_namespaces.py",
    "two jobs": "tests/record/test_jobs.py",
    "secrets": "tests/record/test_secret.py",
    "dead handles": "tests/record/test_dead_handle.py",
    "faults": "tests/record/test_faults.py",
    "power": "tests/record/test_power.py",
    "killed sealers": "tests/store/test_kill.py",
    "liveness": "tests/store/test_liveness.py",
    "bad folders": "tests/server/test_bad_folders.py",
    "bombs": "tests/sources/test_bombs.py",
}


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def held(path: str) -> bool:
    """True if every test of a file passes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-3000:], file=sys.stderr)
    return not done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*KINDS, []], help="only these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    table = []
    with busy_cores():
        for name in args.names or KINDS:
            share = 100 * sum(held(KINDS[name]) for _ in range(args.rounds)) / args.rounds
            table.append(
                results.row(f"rollscope: {name}, rounds that held beside busy cores", "%", [share], args.rounds)
            )
    results.show(table)
    if not args.dry:
        results.append(table)


if __name__ == "__main__":
    main()
