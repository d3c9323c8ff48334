"""How much faster a scan on Ray is with two workers than with one.

`python bench/scan_ray.py [SAMPLES] [--dry]`, in an environment with Ray (`make test-frameworks`
makes `.venvs/verl`). A scanner that looks for repeated words reads every sample of a run, on a Ray
of one and of two CPUs in turns. The start of Ray is not counted. With `--dry`, the numbers are
printed and not kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import ray

import results
import rollscope as rs
from rollscope.scan import work
from rollscope.scan.scanner import scanners
from rollscope.store import store

TURNS = 3
OF_A_STEP = 500
SCANNER = """
from collections import Counter
from rollscope.scan import scanner

@scanner(needs=["completion"])
def repeats(samples):
    found = []
    for sample in samples:
        words = sample["completion"].split()
        triples = Counter(zip(words, words[1:], words[2:]))
        found.append(max(triples.values(), default=0) / max(1, len(words)))
    return found
"""


def record(root: str, samples: int) -> None:
    with rs.init(dir=root, id="r", host=False) as run:
        for step in range(samples // OF_A_STEP):
            texts = [" ".join(f"w{(i * k * step) % 97}" for k in range(400)) for i in range(OF_A_STEP)]
            named = [{"id": f"{step}-{i}", "completion": text} for i, text in enumerate(texts)]
            run.log_samples(step=step, samples=named)


def seconds(root: str, file: Path, cpus: int) -> float:
    """Scan everything again on a Ray of so many CPUs."""
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    warm = ray.remote(lambda: __import__("rollscope.scan.one_block"))
    ray.get([warm.remote() for _ in range(2 * cpus)])
    run, source = store.open(root).run("r"), file.read_text()
    began = time.perf_counter()
    done = work.scan(run, source, str(file), scanners(source, str(file)), work.Places(ray="here"), again=True)
    took = time.perf_counter() - began
    ray.shutdown()
    if done.failed:
        raise SystemExit(f"{done.failed} samples were not scanned: {done.why}")
    return took


def main(samples: int, dry: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "repeats.py"
        file.write_text(SCANNER)
        record(f"{place}/runs", samples)
        took = [(seconds(f"{place}/runs", file, 1), seconds(f"{place}/runs", file, 2)) for _ in range(TURNS)]
    one, two = zip(*took, strict=True)
    size = f"scan of {samples:,} samples on Ray"
    rows = [results.row(f"{size}: {n} workers", "s", values) for n, values in ((1, one), (2, two))]
    rows.append(results.row(f"{size}: 1 worker / 2 workers", "ratio", [a / b for a, b in took]))
    results.show(rows)
    print(f"load of the machine {os.getloadavg()[0]:.1f}")
    if not dry:
        results.append(rows)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--dry"]
    main(int(words[0]) if words else 60_000, "--dry" in sys.argv)
