"""Many patients on many cores: each run is made, judged by every doctor, and dropped.

`python bench/doctor_fleet.py FILE [--seconds 380] [--workers N] [--seeds 801,802] [--healthy 821]
[--generated 811]`. It trains our failures with `seeds`, the healthy kinds with `healthy`, and has
the other doctors' generators make theirs with `generated`. It needs numpy, torch, pyarrow and
scipy, and the environment that ROLLSCOPE_RIVALS names. Every line of FILE is what was said of one
run; what is there is not made again, and no run begins after `seconds`. `bench/doctor.py --told
FILE` writes the table from it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import zip_longest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import doctor
import doctor_runs
import doctor_trainings
import doctor_verdicts
from doctor_faults import RIGHT
from doctor_trainings import HEALTHY, Training

Generated = tuple[str, int]  # fault, seed
Job = Training | Generated


def jobs(seeds: list[int], healthy: list[int], generated: list[int]) -> Iterator[Job]:
    """Every run that is wanted: seed by seed, so that a fleet that stops early knows all faults."""
    sick = [[t for t in doctor_trainings.trainings([seed]) if t.fault not in HEALTHY] for seed in seeds]
    well = [[Training(kind, seed) for kind in HEALTHY] for seed in healthy]
    made = [[(fault, seed) for fault in RIGHT if fault.startswith(("rldoctor/", "rlprobe/"))] for seed in generated]
    per = max(1, round(len(well) / max(1, len(sick))))
    calm = [[job for some in well[i : i + per] for job in some] for i in range(0, len(well), per)]
    for parts in zip_longest(made, sick, calm, fillvalue=[]):
        for part in parts:
            yield from part


def name(job: Job) -> str:
    return job.name if isinstance(job, Training) else f"{job[0]}-{job[1]}"


def said(job: Job, python: str) -> dict[str, Any]:
    """Make one run, and hear what every doctor says of it."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch:
        folder = Path(scratch)
        if isinstance(job, Training):
            doctor_trainings.train(job, scratch, "cpu")
            patients = [*doctor_runs.trained(folder)]
        else:
            patients = [*doctor_runs.generated(folder, [job[0]], [job[1]], python)]
        patient = patients[0]
        ours = {"rules": doctor_verdicts.code(), **doctor_verdicts.judged(patient)}
        rivals = doctor.ask([patient], folder, python)[patient.id] if python else {}
    about = {"job": name(job), "fault": patient.fault, "id": patient.id, "start": patient.start}
    return {**about, "ours": ours, "rivals": rivals}


def main() -> None:
    args = _arguments()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    file, python = Path(args.file), os.environ.get("ROLLSCOPE_RIVALS", "")
    there = {json.loads(line)["job"] for line in file.read_text().splitlines()} if file.exists() else set()
    lists = [[int(word) for word in given.split(",") if word] for given in (args.seeds, args.healthy, args.generated)]
    wanted = [job for job in jobs(*lists) if name(job) not in there]
    with ProcessPoolExecutor(args.workers, max_tasks_per_child=1) as pool, file.open("a") as lines:
        for done, line in enumerate(_results(pool, wanted, python, args.seconds, args.workers)):
            lines.write(json.dumps(line) + "\n")
            lines.flush()
            print(f"{done + 1}/{len(wanted)} {line['job']}: {line.get('ours', line)}", flush=True)


def _results(
    pool: ProcessPoolExecutor, wanted: list[Job], python: str, seconds: float, workers: int
) -> Iterator[dict[str, Any]]:
    """What was said of each run, as it comes. Only as many run as there are workers."""
    ends, left, running = time.monotonic() + seconds, iter(wanted), dict[Future[dict[str, Any]], Job]()
    while True:
        while len(running) < workers and time.monotonic() < ends and (job := next(left, None)) is not None:
            running[pool.submit(said, job, python)] = job
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            job = running.pop(future)
            if (error := future.exception()) is not None:
                print(f"{name(job)} was not judged: {type(error).__name__}: {error}", flush=True)
            else:
                yield future.result()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="where a line is added for every run")
    parser.add_argument("--seconds", type=float, default=380.0, help="no run begins later than this")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--seeds", default="", help="of our trainer's failures")
    parser.add_argument("--healthy", default="", help="of our trainer's healthy runs, four of each")
    parser.add_argument("--generated", default="", help="of the other doctors' generators")
    return parser.parse_args()


if __name__ == "__main__":
    main()
