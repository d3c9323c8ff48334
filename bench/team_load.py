"""Many runs recorded through one server at once, while many people read.

`.venvs/lake/bin/python bench/team_load.py [--runs 64] [--seconds 60] [--readers 200] [--dry]`
(`make team` makes that environment; the readers need `aiohttp` in it, which takes a fifteenth of
the processor time that httpx takes for 200 of them). The lake is in PostgreSQL and S3; with `--lake
postgres` its objects are in a folder, with `--lake embedded` all of it is. Processes record
`--of-a-process` runs each through one `rollscope serve --lake`, one step of 200 scalars a second
and run; every run has a shipper of its own, as `rs.init(lake=...)` starts it. Readers ask once in 5
seconds what pages ask: the list of runs, or the charts of a screen of one run. With
`--server-cores N`, the server and what it stands on have the first N cores to themselves, and
everybody else the others.

Said are: how long a `PUT` takes, how long a reader waits, how old the newest point is that a reader
gets, the processor time of the server, and points that the lake lacks in the end. Any ends the
program with an error. With `--dry`, the numbers are printed and not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import httpx
import numpy as np

import results
import rollscope as rs
from processor_time import of_parts
from rollscope.lake import making
from rollscope.lake.place import Place
from rollscope.server.packed import unpack
from team import team

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.lake.served import Server, serving
from tests.lake.servers import Postgres

SCALARS = 200
CHARTS = ["now", *(f"m{number}" for number in range(1, 12))]  # of a screen
READ_SECONDS, PUT_SECONDS = 5.0, 0.5
TOPS = ("PUT, p99", "a reader waits, p95", "seconds behind, p95")
FAILED = (aiohttp.ClientError, asyncio.TimeoutError)
PATIENCE = 300.0  # seconds after the last point that the lake has to get everything
RECORD = """
import os, sys, time
import rollscope as rs
folder, server, over, scalars, *ids = sys.argv[1:]
runs = [rs.init(id=id, dir=folder, project="load", lake=server, host=False) for id in ids]
began, step = time.monotonic(), 0
while not os.path.exists(over):
    for run in runs:
        run.log({"now": time.time(), **{f"m{i}": i * step / 7 for i in range(1, int(scalars))}}, step=step)
    step += 1
    time.sleep(max(0, began + step - time.monotonic()))
for run in runs:
    run.finish()
print(step * len(runs) * int(scalars))
"""


@dataclass(slots=True)
class Seen:
    """What clients saw."""

    puts: list[float] = field(default_factory=list)
    lists: list[float] = field(default_factory=list)
    charts: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)
    failed: int = 0

    @property
    def reads(self) -> list[float]:
        return self.lists + self.charts


async def read(client: aiohttp.ClientSession, number: int, ids: list[str], seen: Seen, until: float) -> None:
    """One reader: every second question is for charts, whose newest point tells how old it is."""
    await asyncio.sleep(READ_SECONDS * (number % 50) / 50)
    while time.monotonic() < until:
        began, number = time.monotonic(), number + 1
        charts = {"runs": [ids[number % len(ids)]], "names": CHARTS}
        asked = client.post("api/series", json=charts) if number % 2 else client.get("api/runs")
        try:
            status, content = await answered(asked)
        except FAILED:
            seen.failed += 1
        else:
            (seen.charts if number % 2 else seen.lists).append(time.monotonic() - began)
            seen.failed += status not in (200, 404)  # 404: the first ship is under way
            seen.behind += newest(content) if number % 2 and status == 200 else []
        await asyncio.sleep(max(0.0, began + READ_SECONDS - time.monotonic()))


async def answered(asked: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> tuple[int, bytes]:
    async with asked as answer:
        return answer.status, await answer.read()


def newest(charts: bytes) -> list[float]:
    """Seconds since the last point of `now`, a series of times, was logged."""
    head, columns = unpack(charts)
    series = [one["name"] for one in head["series"]].index("now")
    logged = columns["last"].reshape(-1, head["n"])[series]
    return [time.time() - float(logged[np.isfinite(logged)][-1])]


async def put(client: aiohttp.ClientSession, seen: Seen, until: float) -> None:
    """One who sends objects of 20 kB, as shippers do."""
    number = 0
    while time.monotonic() < until:
        data = (b"%016d" % number) * 1250
        words: dict[str, str | int] = {"project": "load", "name": "run.json", "kind": "whole", "start": 0}
        began, number = time.monotonic(), number + 1
        words["sha256"] = hashlib.sha256(data).hexdigest()
        try:
            status, _ = await answered(client.put("api/lake/runs/put/objects", params=words, data=data))
        except FAILED:
            seen.failed += 1
        else:
            seen.failed += status != 200
            seen.puts.append(time.monotonic() - began)
        await asyncio.sleep(PUT_SECONDS)


async def clients(url: str, ids: list[str], readers: int, seconds: float) -> Seen:
    seen, until = Seen(), time.monotonic() + seconds
    connector, timeout = aiohttp.TCPConnector(limit=readers + 1), aiohttp.ClientTimeout(60)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as client:
        reading = [read(client, number, ids, seen, until) for number in range(readers)]
        await asyncio.gather(put(client, seen, until), *reading)
    return seen


@contextmanager
def embedded(place: Path) -> Iterator[Place]:
    os.environ["ROLLSCOPE_CACHE"] = str(place / "cache")
    yield making.init(str(place / "lake"))


@contextmanager
def in_postgres(place: Path) -> Iterator[Place]:
    os.chmod(place, 0o755)
    postgres = Postgres(place / "pg", fsync="on")
    os.environ |= {"ROLLSCOPE_CACHE": str(place / "cache"), "PGPASSWORD": postgres.password}
    try:
        yield making.init(str(place / "lake"), postgres.url)
    finally:
        postgres.stop()


@contextmanager
def in_servers(place: Path) -> Iterator[Place]:
    with team(place, fsync="on") as (_, _, lake):
        yield lake


LAKES = {
    "embedded": ("embedded", embedded),
    "postgres": ("PostgreSQL and a folder", in_postgres),
    "team": ("PostgreSQL and S3", in_servers),
}


@contextmanager
def on_cores(first: int) -> Iterator[None]:
    """What is started inside has the first cores for itself; what comes later, the others."""
    if not first:
        yield
        return
    mine = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, mine[:first])
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine[first:])


def record(server: Server, place: Path, ids: list[str], of_a_process: int) -> list[subprocess.Popen[str]]:
    """Begin to record, and wait until the server shows every run."""
    groups = [ids[at : at + of_a_process] for at in range(0, len(ids), of_a_process)]
    words = [sys.executable, "-c", RECORD, str(place / "runs"), server.url, str(place / "over"), str(SCALARS)]
    recorders = [subprocess.Popen([*words, *group], stdout=subprocess.PIPE, text=True) for group in groups]
    try:
        _wait_for_all(server, len(ids))
    except BaseException:
        for recorder in recorders:
            recorder.kill()  # its shippers end with it: the run is over, and the server is gone
        raise
    return recorders


def _wait_for_all(server: Server, runs: int) -> None:
    until = time.monotonic() + PATIENCE
    while len(httpx.get(f"{server.url}api/runs", timeout=PATIENCE).json()["runs"]) < runs:
        if time.monotonic() > until:
            raise SystemExit(f"the server does not show {runs} runs after {PATIENCE:.0f} s")
        time.sleep(1)


def ended(recorders: list[subprocess.Popen[str]], place: Path) -> int:
    """Let them finish; return how many points they recorded."""
    (place / "over").touch()
    return sum(int(recorder.communicate(timeout=600)[0]) for recorder in recorders)


def marks(folder: Path) -> dict[str, str]:
    """What the command of each part has in it, and no other on this machine."""
    return {
        "trainers": f"{folder}/over",
        "shippers": f"push {folder}/runs",
        "server, shipping": f"serving.child {folder}",
        "server": f"serve --lake {folder}",
        "PostgreSQL": f"-D {folder}/pg",
        "S3": f"serve s3 {folder}",
        "readers": "bench/team_load.py",
    }


def lacking(folder: str, points: int) -> tuple[int, float]:
    """How many points the lake lacks, and how many seconds after the last one was recorded."""
    began, lacks = time.monotonic(), points
    while lacks and time.monotonic() - began < PATIENCE:
        rows = rs.open(folder).sql("SELECT count(*) AS n FROM metrics WHERE project = 'load'", seconds=PATIENCE)
        lacks = points - int(rows["n"][0])
        time.sleep(1)
    return lacks, time.monotonic() - began


def main(args: argparse.Namespace) -> None:
    ids = [f"load-{number}" for number in range(args.runs)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        with on_cores(args.server_cores):
            lake = stack.enter_context(LAKES[args.lake][1](place))
            server = stack.enter_context(serving(lake, place / "server"))
        recorders, parts = record(server, place, ids, args.of_a_process), marks(place)
        before = of_parts(parts)
        print(f"every run is shown; {args.readers} readers begin", flush=True)
        seen = asyncio.run(clients(server.url, ids, args.readers, args.seconds))
        busy = {part: seconds - before[part] for part, seconds in of_parts(parts).items()}
        size = _report(args, seen, before, busy)
        points = ended(recorders, place)
        lacks, late = lacking(lake.folder, points)
    print(f"{points} points were recorded; the lake lacks {lacks} of them, {late:.0f} s after the last one")
    if lacks:
        raise SystemExit(f"the lake lacks {lacks} points")
    if not args.dry:
        named = (("PUT", seen.puts), ("a reader waits", seen.reads), ("seconds behind", seen.behind))
        rows = [results.row(f"lake: {size}: {name}", "s", values) for name, values in named]
        tops = [[float(np.percentile(values, at))] for (_, values), at in zip(named, (99, 95, 95), strict=True)]
        rows += [results.row(f"lake: {size}: {name}", "s", top) for name, top in zip(TOPS, tops, strict=True)]
        results.append([*rows, results.row(f"lake: {size}: points lost", "points", [lacks])])


def _report(args: argparse.Namespace, seen: Seen, before: dict[str, float], busy: dict[str, float]) -> str:
    """Print what clients saw; return how large the load was."""
    size = f"{args.runs} runs x {SCALARS} scalars/s, {args.readers} readers, {args.seconds} s"
    size += f", {LAKES[args.lake][0]}"
    size += f", {args.of_a_process} of a process" if args.of_a_process > 1 else ""
    size += f", server on {args.server_cores} cores" if args.server_cores else ""
    print(f"{size}; load of the machine {os.getloadavg()[0]:.1f}")
    waits = ("PUT", seen.puts), ("a reader waits", seen.reads), ("for the list", seen.lists)
    for name, values in (*waits, ("for charts", seen.charts), ("behind", seen.behind)):
        p50, p95, p99 = np.percentile(values or [np.nan], [50, 95, 99])
        print(f"{name}: n {len(values)}, p50 {p50:.2f} s, p95 {p95:.2f}, p99 {p99:.2f}")
    print(f"requests that failed: {seen.failed}")
    for when, parts in (("to begin", before), ("meanwhile", busy)):
        said = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in parts.items())
        print(f"processor time {when}: {said}", flush=True)
    return size


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    numbers = {"--runs": 64, "--seconds": 60, "--readers": 200, "--of-a-process": 1, "--server-cores": 0}
    for name, number in numbers.items():
        parser.add_argument(name, type=int, default=number)
    parser.add_argument("--lake", choices=LAKES, default="team")
    parser.add_argument("--dry", action="store_true")
    main(parser.parse_args())
