"""The same points through the servers of Rollscope, MLflow and Trackio, one after the other.

`.venvs/lake/bin/python bench/team_rivals.py PYTHON [--runs 8] [--seconds 20] [--dry]`, where PYTHON
is of an environment with `mlflow` and `trackio`. Processes record one step of 200 scalars a second
each: through `rollscope serve --lake` over an embedded lake, through `mlflow server` over SQLite,
and through `trackio show`, each as its documentation says. A training that has not made its steps
in twice the time ends there. Said are: how long a training waits in `log`, how many seconds behind
the clock the slowest training ended, the steps that were not made, the processor time of the
server, and points that are lacking a minute after the end. A short run before it is not measured:
servers import what they need when they are first asked. With `--server-cores N`, a server has the
first N cores to itself, and trainings the others. With `--dry`, the numbers are printed and not
kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import results
import rollscope as rs
from rollscope.lake import making
from team_load import on_cores

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.lake.served import serving
from tests.ports import free_port

SCALARS, PATIENCE = 200, 60.0
BEGIN = {
    "rollscope": """
import rollscope as rs
run = rs.init(id=id, dir=folder, project="load", lake=server, host=False)
log, finish = run.log, run.finish
""",
    "mlflow": """
import mlflow
mlflow.set_tracking_uri(server)
mlflow.start_run(run_name=id)
log, finish = mlflow.log_metrics, mlflow.end_run
""",
    "trackio": """
import trackio
run = trackio.init(project="load", name=id, server_url=server, embed=False)
log, finish = run.log, trackio.finish
""",
}
RECORD = """
import json, sys, time
folder, server, seconds, scalars, id = sys.argv[1:]
%s
took, began = [], time.monotonic()
for step in range(int(seconds)):
    if time.monotonic() - began > 2 * int(seconds):
        break
    values = {f"m{i}": i * step / 7 for i in range(int(scalars))}
    before = time.perf_counter()
    log(values, step=step)
    took.append(time.perf_counter() - before)
    time.sleep(max(0, began + step + 1 - time.monotonic()))
late = time.monotonic() - began - int(seconds)
finish()
print("said", json.dumps([took, late]))
"""


@dataclass(frozen=True, slots=True)
class Served:
    """A server: where it is, its process, and how many points it has."""

    url: str
    pid: int
    points: Callable[[], int]


@contextlib.contextmanager
def rollscope(place: Path, _: str) -> Iterator[Served]:
    lake = making.init(str(place / "lake"))
    with serving(lake, place / "server") as server:
        count = "SELECT count(*) AS n FROM metrics"
        yield Served(server.url, server.process.pid, lambda: int(rs.open(lake.folder).sql(count)["n"][0]))


@contextlib.contextmanager
def mlflow(place: Path, python: str) -> Iterator[Served]:
    port, file = free_port(), place / "mlflow.db"
    words = ["-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{file}", "--port", str(port)]
    with started([python, *words, "--default-artifact-root", str(place)], place, {}) as process:
        wait_for(port, process, place)
        yield Served(f"http://127.0.0.1:{port}", process.pid, lambda: counted(file, "SELECT count(*) FROM metrics"))


@contextlib.contextmanager
def trackio(place: Path, python: str) -> Iterator[Served]:
    port = free_port()
    env = {"GRADIO_SERVER_PORT": str(port), "TRACKIO_DIR": str(place / "tracked"), "BROWSER": "true"}
    program = str(Path(python).parent / "trackio")
    with started([program, "show", "--host", "127.0.0.1"], place, env) as process:
        wait_for(port, process, place)
        url = address_of(process, place)
        rows = "SELECT count(*) FROM metrics"
        yield Served(url, process.pid, lambda: SCALARS * counted(place / "tracked" / "load.db", rows))


def wait_for(port: int, process: subprocess.Popen[bytes], place: Path) -> None:
    """Wait until a server listens, which may take minutes: some import much and make tables."""
    for _ in looks(process, place, f"nothing listens on port {port}"):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return


def address_of(process: subprocess.Popen[bytes], place: Path) -> str:
    """The address of Trackio's server with its token, which it says once it listens."""
    for _ in looks(process, place, "Trackio says no address"):
        found = re.search(r"http://\S+write_token=\S+", (place / "said").read_text())
        if found:
            break
    return found[0] if found else ""


def looks(process: subprocess.Popen[bytes], place: Path, lacking: str) -> Iterator[None]:
    """Yield ten times a second; end the program when a server is dead, or after five minutes."""
    until = time.monotonic() + 5 * PATIENCE
    while True:
        yield
        if process.poll() is not None or time.monotonic() > until:
            last = (place / "said").read_text(errors="replace")[-1000:]
            raise SystemExit(
                f"{lacking}; the server {'lives' if process.poll() is None else 'is dead'} and said: {last}"
            )
        time.sleep(0.1)


SERVERS = {"rollscope": rollscope, "trackio": trackio, "mlflow": mlflow}


@contextlib.contextmanager
def started(command: list[str], place: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (place / "said").open("wb") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, **env}, cwd=place, start_new_session=True
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # it is dead
            os.killpg(process.pid, 9)
        process.wait(60)


def counted(file: Path, query: str) -> int:
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as connection:
            return int(connection.execute(query).fetchone()[0])
    except sqlite3.OperationalError:  # not there yet
        return 0


def processor_seconds(pid: int) -> float:
    """Of a process and of those that it started."""
    spent, parents = dict[int, float](), dict[int, int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        one = int(path.parent.name)
        parents[one] = int(fields[1])
        spent[one] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return sum(seconds for one, seconds in spent.items() if _is_below(one, pid, parents))


def _is_below(one: int, pid: int, parents: dict[int, int]) -> bool:
    while one not in (pid, 0):
        one = parents.get(one, 0)
    return one == pid


def measured(name: str, args: argparse.Namespace) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["ROLLSCOPE_CACHE"] = str(place / "cache")
        with contextlib.ExitStack() as stack:
            with on_cores(args.server_cores):
                server = stack.enter_context(SERVERS[name](place, args.python))
            recorded(name, server.url, place, args, ["warm"], 1)
            lacking(server, SCALARS)
            began = processor_seconds(server.pid)
            said = recorded(name, server.url, place, args, [f"load-{i}" for i in range(args.runs)], args.seconds)
            lacks = lacking(server, (sum(len(took) for took, _ in said) + 1) * SCALARS)
            busy = processor_seconds(server.pid) - began
    return rows(name, args, said, busy, lacks)


def recorded(
    name: str, url: str, place: Path, args: argparse.Namespace, ids: list[str], seconds: int
) -> list[tuple[list[float], float]]:
    """Record runs at the same time, and wait for them; what each says in the end."""
    python = sys.executable if name == "rollscope" else args.python
    words = [python, "-c", RECORD % BEGIN[name], str(place / "runs"), url, str(seconds), str(SCALARS)]
    env, quiet = {**os.environ, "TRACKIO_DIR": str(place / "mine")}, subprocess.DEVNULL
    recorders = [subprocess.Popen([*words, id], stdout=subprocess.PIPE, stderr=quiet, text=True, env=env) for id in ids]
    said = [recorder.communicate(timeout=600)[0] for recorder in recorders]
    return [json.loads(text.rpartition("said")[2]) for text in said]


def lacking(server: Served, wanted: int) -> int:
    until = time.monotonic() + PATIENCE
    while (lacks := wanted - server.points()) and time.monotonic() < until:
        time.sleep(0.5)
    return lacks


def rows(
    name: str, args: argparse.Namespace, said: list[tuple[list[float], float]], busy: float, lacks: int
) -> list[dict[str, str]]:
    took, late = [one for times, _ in said for one in times], [late for _, late in said]
    left = args.runs * args.seconds - len(took)
    size = f"{name}: {args.runs} runs x {SCALARS} scalars/s through its server, {args.seconds} s"
    size += f", server on {args.server_cores} cores" if args.server_cores else ""
    print(
        f"{size}: log() p50 {1e3 * np.median(took):.2f} ms, p99 {1e3 * np.percentile(took, 99):.1f} ms; the slowest"
        f" training ended {max(late):.1f} s late; {left:,} of {left + len(took):,} steps not made; processor time"
        f" of the server {busy:.1f} s; {lacks:,} of {len(took) * SCALARS:,} points lacking; load"
        f" {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return [
        results.row(f"{size}: a training waits in log()", "s", took),
        results.row(f"{size}: the slowest training is late", "s", [max(late)]),
        results.row(f"{size}: steps not made in twice the time", "steps", [left]),
        results.row(f"{size}: processor time of the server", "s", [busy]),
        results.row(f"{size}: points lacking a minute later", "points", [lacks]),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    for option, number in (("--runs", 8), ("--seconds", 20), ("--server-cores", 0)):
        parser.add_argument(option, type=int, default=number)
    parser.add_argument("--dry", action="store_true")
    words = parser.parse_args()
    for name in SERVERS:
        found = measured(name, words)
        if not words.dry:
            results.append(found)
