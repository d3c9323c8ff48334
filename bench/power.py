"""Power losses at random instants: which rows are lost, and how old is the oldest of them?

`python bench/power.py [--losses 200] [--seconds 20]`. One process records 200 rows a second into a
run, with logs that end after 256 kB and are sealed at once, and a journal notes every write, sync
and rename. Then disks are made as a power loss may leave them after any entry of the journal: what
was not synced is there page by page or not, by chance (`tests/record/power.py` says how). Each
disk is read as a person would read it. A row that was synced and is gone, a row that is there twice
or with another value, and a disk that cannot be read end the program.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import results

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["ROLLSCOPE_SEAL"] = "0"  # this program seals, so that its journal sees it
import rollscope as rs
from rollscope.record.write import log_files
from rollscope.store.seal import compact, logs
from tests.record.power import Journal, after_power_loss, steps_on_disk, surely_on_disk

PERIOD = 0.005  # seconds between two rows
NUMBERS = 40  # in a row


def record(journal: Journal, folder: Path, seconds: float) -> None:
    """Record, and seal what is complete four times a second."""
    with journal:
        run = rs.init(id="r", dir=folder, host=False)
        begin = time.monotonic()
        for step in range(int(seconds / PERIOD)):
            run.log({f"m{i}": float(step) for i in range(NUMBERS)}, step=step)
            journal.say(str(step))
            if step % 50 == 49:
                logs.seal(str(folder / "r"))
            if step % 500 == 499:
                compact.compact(str(folder / "r"), everything=True)
            time.sleep(max(0.0, begin + (step + 1) * PERIOD - time.monotonic()))
        run.finish()


def lose(journal: Journal, count: int, folder: Path, dice: random.Random) -> tuple[float, float]:
    """Rows that are lost with the power after `count` entries, and the age of the oldest, in ms."""
    after_power_loss(journal, count, folder / "disk", dice)
    found = steps_on_disk(folder / "disk" / "r")
    gone = surely_on_disk(journal, count, folder) - found
    if gone:
        raise SystemExit(f"{len(gone)} synced rows are lost after entry {count}: {sorted(gone)[:10]}")
    entries = journal.entries[:count]
    missing = [entry.time_ns for entry in entries if entry.what == "say" and int(entry.data) not in found]
    return float(len(missing)), (entries[-1].time_ns - min(missing)) / 1e6 if missing else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the process records")
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    log_files.ROTATE = 256 << 10
    dice, rows = random.Random(1), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as name:
        journal = Journal(Path(name, "runs"))
        record(journal, Path(name, "runs"), args.seconds)
        for _ in range(args.losses):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(lose(journal, dice.randint(1, len(journal.entries)), Path(folder), dice))
    lost, ages = zip(*rows, strict=True)
    table = [
        results.row("rollscope: rows lost with the power at 200 rows/s", "rows", lost),
        results.row("rollscope: age of the oldest row lost with the power", "ms", ages),
        results.row("rollscope: the same, worst", "ms", [max(ages)], len(ages)),
        results.row("rollscope: synced rows lost with the power", "rows", [0.0], len(ages)),
    ]
    results.show(table)
    if not args.dry:
        results.append(table)


if __name__ == "__main__":
    main()
