"""How fresh a live run is in a lake, and how many bytes a lake holds for a run.

`.venvs/lake/bin/python bench/lake_live.py [SECONDS] [--dry]` (`make team` makes that environment)
records a run with `rs.init(lake=...)`, twice a second, while another process opens the lake and
reads it, and measures how long after it was logged a row was first read. Then the run is sealed,
pushed and tidied, and the bytes of the lake are held against those of the run's folder. With
`--dry`, the numbers are printed and not kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import results
import rollscope as rs
from rollscope.errors import RollscopeError
from rollscope.lake import making, tidy
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher
from rollscope.store.seal import compact, logs

RECORD = """
import sys, time
import rollscope as rs
with rs.init(id="live", dir=sys.argv[1], lake=sys.argv[2], host=False) as run:
    for step in range(2 * int(sys.argv[3])):
        began = time.perf_counter()
        texts = [f"an answer of step {step}: {(step * i) % 97} and some more words" for i in range(64)]
        samples = [{"id": f"{step}-{i}", "reward": i / 64, "completion": texts[i]} for i in range(64)]
        run.log_samples(step=step, samples=samples)
        run.log({"now": time.time(), **{f"m{i}": i * step / 7 for i in range(200)}}, step=step)
        time.sleep(max(0, 0.5 - (time.perf_counter() - began)))
"""


def watched(lake: Place, recorder: subprocess.Popen[bytes]) -> list[float]:
    """For each row, the seconds between the time it was logged and the time it was first read."""
    seen, fresh = 0, list[float]()
    while recorder.poll() is None:
        try:
            logged = rs.open(lake.folder).run("live").series("now")["value"]
        except RollscopeError:  # not there yet
            logged = np.empty(0)
        now = time.time()
        fresh += [now - value for value in logged[seen:].tolist()]
        seen = max(seen, len(logged))
        time.sleep(0.2)
    return fresh


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(seconds: int, dry: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["ROLLSCOPE_CACHE"] = str(Path(place) / "cache")
        lake = making.init(str(Path(place) / "lake"))
        runs = Path(place) / "runs"
        recorder = subprocess.Popen([sys.executable, "-c", RECORD, str(runs), lake.folder, str(seconds)])
        fresh = watched(lake, recorder)
        logs.seal(str(runs / "live"), force=True)
        compact.compact(str(runs / "live"), everything=True)
        Pusher(lake, str(runs / "live")).push()
        tidy.tidy(lake, 0)
        objects, tables = (size_of(Path(lake.folder, "data", name)) for name in ("runs", "tables"))
        catalogue, spool = os.path.getsize(lake.catalog_path()), size_of(runs / "live")
    ratio = (objects + tables) / spool
    print(f"{len(fresh)} rows: p50 {np.median(fresh):.1f} s, p95 {np.quantile(fresh, 0.95):.1f}, max {max(fresh):.1f}")
    shares = f"objects {objects / spool:.2f}, tables {tables / spool:.2f}"
    print(f"spool {spool:,} bytes; the lake has {ratio:.2f} times as many ({shares}), and {catalogue:,} of catalogue")
    rows = [
        results.row("lake: seconds from log() to readable by another process, a row each 0.5 s", "s", fresh),
        results.row("lake: bytes of objects and tables per byte of the run's folder, tidied", "ratio", [ratio]),
    ]
    if not dry:
        results.append(rows)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--dry"]
    main(int(words[0]) if words else 60, "--dry" in sys.argv)
