"""One rank of a training, on a machine of its own: five rows a second until it is told to stop."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import rollscope as rs

SHARE = Path("/share")
PERIOD = 0.2  # seconds between two rows


def main() -> None:
    rank = os.environ["RANK"]
    run = rs.init(project="nfs", name="shared", dir="/mnt/nfs/runs", host=False)
    said = os.open(SHARE / f"said{rank}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    step, calls = 0, list[float]()
    (SHARE / f"begun{rank}").write_text(run.id)
    while not (SHARE / "stop").exists():
        begin = time.perf_counter()
        run.log({f"custom/rank{rank}": float(step)}, step=step)
        run.log_samples(step=step, samples=[{"id": f"{rank}-{step}", "completion": "x" * 100, "reward": 1.0}])
        calls.append(time.perf_counter() - begin)
        os.write(said, f"{step} {time.time()}\n".encode())
        step += 1
        time.sleep(PERIOD)
    flushed = run.flush(120)
    run.finish()
    answer = {"run": run.id, "rows": step, "flushed": flushed, "losses": str(run.losses), "calls": calls}
    (SHARE / f"recorded{rank}.json").write_text(json.dumps(answer))
    (SHARE / f"done{rank}").touch()


if __name__ == "__main__":
    main()
