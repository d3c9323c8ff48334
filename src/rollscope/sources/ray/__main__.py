"""The process beside a training that records what Ray's workers did.

    python -m rollscope.sources.ray ADDRESS JOB WORKER RUN FOLDER

It works until its standard input ends, which is when the training closes it or is gone, and then
looks once more: Ray's workers report in intervals.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from rollscope.record.start import join
from rollscope.sources.live.quiet import print_once
from rollscope.visible import visible

from .cluster import Cluster
from .follow import Follow
from .steps import Steps

REST = 50  # times as long as a look took of CPU
SHORTEST, LONGEST = 2.0, 60.0  # seconds of rest
PATIENCE = 30.0  # seconds for the last look: a question to a cluster that is gone waits for ever


def main(address: str, job: str, worker: str, run: str, folder: str) -> None:
    ended = threading.Event()
    threading.Thread(target=_listen, args=(ended,), daemon=True).start()
    cluster, steps = Cluster(address, job), Steps(Path(folder) / run)
    with join(run, folder) as recorded:
        follow = Follow(recorded, steps, worker)
        rest = SHORTEST
        while not ended.wait(rest):
            rest = _look(cluster, steps, follow)
        time.sleep(_interval() + 0.5)
        _look(cluster, steps, follow, is_last=True)


def _listen(ended: threading.Event) -> None:
    """Wait for the end of the training; then end this process, if it does not end by itself."""
    sys.stdin.buffer.read()
    ended.set()
    time.sleep(PATIENCE)
    os._exit(1)


def _look(cluster: Cluster, steps: Steps, follow: Follow, is_last: bool = False) -> float:
    """Ask Ray, and record; tells how long to rest, by the CPU that it took."""
    before = time.process_time()
    try:
        now = time.time_ns()
        if follow.learn(cluster.tasks()):
            follow.name(cluster.actor_names(), cluster.nodes())
        steps.look()
        follow.record(now, is_last)
    except Exception as error:  # the service may be busy; the next look asks again
        print_once(visible(f"{type(error).__name__}: {error}"))
    return min(LONGEST, max(SHORTEST, REST * (time.process_time() - before)))


def _interval() -> float:
    """Seconds between two reports of a worker, as the training set it for its workers and us."""
    told = os.environ.get("RAY_task_events_report_interval_ms")  # noqa: SIM112 - Ray's spelling
    return float(told or 1000) / 1000


if __name__ == "__main__":
    try:
        main(*sys.argv[1:6])
    except Exception as error:
        sys.exit(visible(f"{type(error).__name__}: {error}"))
