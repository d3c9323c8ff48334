"""Thousands of runs: the time of `ls`, the Runs page and news; the server's memory and handles.

`python bench/many_runs.py [--runs 2000 10000]`. One small run is recorded and its folder copied
under other ids, with other names and times. A cold list has no index beside the runs, a warm one
has. With `--src DIR` another version's code runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

import results
from rollscope.store.sealed import manifest
from soak import resident, server

HERE = Path(__file__).parent
DAY = 86_400
RECORD = """
import random, sys
import rollscope as rs
config = {"lr": 1e-6, "model": {"name": "qwen", "layers": 24}, "algorithm": {"name": "grpo", "clip": [0.2, 0.28]}}
with rs.init(project="p", id="first", config=config, dir=sys.argv[1], algorithm="grpo", host=False) as run:
    for step in range(20):
        run.log({"reward/mean": random.random(), "policy/entropy": 1.0, "optimizer/lr": 1e-6}, step=step)
        sample = {"group": "g", "reward": 1.0, "prompt": "2+2", "completion": "4"}
        run.log_samples(step=step, samples=[{"id": f"{step}.{i}", **sample} for i in range(4)])
        run.commit(step)
"""
LIVING = """
import sys, time
import rollscope as rs
run = rs.init(project="p", name="living", id="living", dir=sys.argv[1], host=False)
for step in range(10**9):
    run.log({"reward/mean": float(step)}, step=step)
    run.commit(step)
    if step == 0:
        run.flush()
        print("began", flush=True)
    sys.stdin.readline()
"""


def environment(src: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(src)}


def make(root: Path, count: int, src: Path) -> None:
    """A folder of `count` runs that are over, an hour apart, the last one a day old."""
    subprocess.run([sys.executable, "-c", RECORD, str(root)], env=environment(src), check=True, cwd="/")
    first = root / "first"
    deadline = time.monotonic() + 60
    while any(first.glob("*.log")) and time.monotonic() < deadline:
        time.sleep(0.2)  # its sealer works
    facts = json.loads((first / "run.json").read_text())
    for i in range(count - 1):
        _copy(
            first, root / f"run-{i:05d}", {**facts, "id": f"run-{i:05d}", "name": f"run {i}", "project": f"p{i % 7}"}, i
        )


def _copy(first: Path, target: Path, facts: dict[str, Any], i: int) -> None:
    """Files of sets are links to those of the first run, so that the disk stays small."""
    shutil.copytree(first, target, copy_function=os.link, ignore=shutil.ignore_patterns("run.json", "manifest*"))
    earlier = (DAY + i * 3600) * 10**9
    (target / "run.json").write_text(json.dumps({**facts, "started_ns": facts["started_ns"] - earlier}))
    for path in first.glob("*/manifest*"):
        _move_manifest(path, target / path.relative_to(first), earlier)
    at = time.time() - earlier / 1e9
    for path in (*target.glob("*.sealed"), target / "run.json", target):
        os.utime(path, (at, at))


def _move_manifest(path: Path, target: Path, earlier: int) -> None:
    """The manifest of a set whose rows are all earlier, as far as a list of runs reads them."""
    facts = manifest.parse(path.read_bytes())
    moved = {name: facts["extent"][name] - earlier for name in ("lo_ns", "hi_ns")}
    body = json.dumps({**facts, "extent": {**facts["extent"], **moved}}, separators=(",", ":"))
    target.write_bytes(manifest.frame(body.encode()))


def timed(call: Callable[[], Any], repeats: int = 1) -> list[float]:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return seconds


def ls(root: Path, src: Path, *more: str) -> Callable[[], Any]:
    command = [sys.executable, "-m", "rollscope", "ls", "--dir", str(root), *more]
    return lambda: subprocess.run(command, env=environment(src), check=True, stdout=subprocess.DEVNULL, cwd="/")


def forget_index(root: Path) -> None:
    shutil.rmtree(root / ".rollscope", ignore_errors=True)


def listing(root: Path, src: Path, warm_repeats: int) -> dict[str, tuple[list[float], str]]:
    forget_index(root)
    limited = timed(ls(root, src, "--limit", "10"))
    forget_index(root)
    return {
        "ls --limit 10, cold": (limited, "s"),
        "ls, cold": (timed(ls(root, src)), "s"),
        "ls, warm": (timed(ls(root, src), warm_repeats), "s"),
        "ls --limit 10, warm": (timed(ls(root, src, "--limit", "10"), warm_repeats), "s"),
    }


def handles(pid: int) -> float:
    return float(len(os.listdir(f"/proc/{pid}/fd")))


def page(url: str) -> tuple[float, dict[str, Any]]:
    """Seconds until the Runs page's answer is here, and the answer."""
    began = time.perf_counter()
    answer = httpx.get(url + "api/runs", timeout=900)
    return time.perf_counter() - began, answer.json()


def wait_for_rows(url: str, count: int) -> float:
    """Seconds until every run is in the answer."""
    began = time.perf_counter()
    while len(page(url)[1]["runs"]) < count:
        time.sleep(0.5)
    return time.perf_counter() - began


@contextlib.contextmanager
def living(root: Path, src: Path) -> Iterator[Callable[[], None]]:
    """A run that lives; call to log its next step."""
    command = [sys.executable, "-c", LIVING, str(root)]
    child = subprocess.Popen(
        command, env=environment(src), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    )
    assert child.stdin is not None and child.stdout is not None

    def step() -> None:
        child.stdin.write("\n")
        child.stdin.flush()

    try:
        child.stdout.readline()
        yield step
    finally:
        child.kill()
        child.wait()
        shutil.rmtree(root / "living", ignore_errors=True)


class Ear:
    """Listens to the event stream and says when an event came."""

    def __init__(self, url: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.heard = threading.Condition()
        threading.Thread(target=self._listen, args=(url,), daemon=True).start()
        self.wait(lambda event: event["kind"] == "hello")

    def _listen(self, url: str) -> None:
        with contextlib.suppress(httpx.HTTPError), httpx.stream("GET", url + "api/live", timeout=900) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    with self.heard:
                        self.events.append(json.loads(line[6:]))
                        self.heard.notify_all()

    def wait(self, fits: Callable[[dict[str, Any]], bool], since: int = 0) -> float:
        began = time.perf_counter()
        with self.heard:
            self.heard.wait_for(lambda: any(map(fits, self.events[since:])), timeout=600)
        return time.perf_counter() - began


def news(url: str, root: Path, src: Path, changes: int) -> tuple[list[float], list[float]]:
    """Seconds until a new run is told, and until each new step of a living run is."""
    ear = Ear(url)
    new_run = []
    for i in range(min(3, changes)):
        heard = len(ear.events)
        shutil.copytree(root / "first", root / f"new-{i}")
        new_run.append(ear.wait(lambda event: event["kind"] == "runs", heard))
    with living(root, src) as step:
        ear.wait(lambda event: event.get("run") == "living" and event.get("step") == 0)
        steps = []
        for i in range(1, changes + 1):
            time.sleep(1.0)
            step()
            steps.append(ear.wait(lambda event, at=i: event.get("run") == "living" and event.get("step") == at))
    for i in range(min(3, changes)):
        shutil.rmtree(root / f"new-{i}")
    return new_run, steps


def serving(root: Path, src: Path, count: int, changes: int) -> dict[str, tuple[list[float], str]]:
    figures: dict[str, tuple[list[float], str]] = {}
    forget_index(root)
    with server(str(root), src) as (pid, url):
        _ready(url)
        figures["Runs page, cold: first answer"] = [page(url)[0]], "s"
        figures["Runs page, cold: every run in the answer"] = [wait_for_rows(url, count)], "s"
    with server(str(root), src) as (pid, url):
        _ready(url)
        figures["Runs page, warm: first answer"] = [page(url)[0]], "s"
        wait_for_rows(url, count)
        figures["Runs page, warm"] = [page(url)[0] for _ in range(5)], "s"
        figures["a new run told"], figures["a new step told"] = (
            (seconds, "s") for seconds in news(url, root, src, changes)
        )
        time.sleep(2)
        figures["server's memory, idle"], figures["server's handles"] = (
            ([resident(pid)], "MB"),
            ([handles(pid)], "handles"),
        )
        figures["server's CPU while it listens"] = [_busy(pid, url)], "% of a core"
    return figures


def _busy(pid: int, url: str, seconds: float = 10.0) -> float:
    """Share of a core that the server uses while one tab listens and nothing happens."""
    Ear(url)
    began = _cpu(pid)
    time.sleep(seconds)
    return 100 * (_cpu(pid) - began) / seconds


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ready(url: str) -> None:
    while True:
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(url + "api/health", timeout=60)
            return
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", type=int, default=[2_000, 10_000])
    parser.add_argument("--src", type=Path, default=HERE.parent / "src", help="the code to run")
    parser.add_argument("--label", default="rollscope", help="whose figures these are")
    parser.add_argument("--changes", type=int, default=10, help="steps of the living run")
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    for count in args.runs:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            root = Path(name, "runs")
            make(root, count, args.src)
            figures = listing(root, args.src, 3) | serving(root, args.src, count, args.changes)
        rows = [
            results.row(f"{args.label}: {count:,} runs: {what}", unit, values)
            for what, (values, unit) in figures.items()
        ]
        results.show(rows)
        print(f"median of ls, warm: {statistics.median(figures['ls, warm'][0]):.2f} s", flush=True)
        if not args.dry:
            results.append(rows)


if __name__ == "__main__":
    main()
