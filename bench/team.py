"""Faults of a team's lake: what is lost, what is there twice, and how long catching up takes.

`.venvs/lake/bin/python bench/team.py [KILLS] [--dry]` (`make team` makes that environment). A run
grows, is sealed, merged and resumed while its shipper is killed at random instants, PostgreSQL is
stopped at once and started, S3 is killed and started, and a network before S3 cuts connections,
answers 500 and is slow. In the end every row and every byte of the lake is held against the run's
folder; any difference ends the program with an error. With `--dry`, the numbers are printed and not
kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import results

sys.path.insert(0, str(Path(__file__).parents[1]))

from rollscope.lake import making
from rollscope.lake.check import check
from rollscope.lake.engine import LakeUnreachable
from rollscope.lake.place import Place
from tests.lake.bad_network import MODES, BadNetwork
from tests.lake.life import Life, check_same, pushed
from tests.lake.servers import KEY, S3, SECRET, Postgres

ROUNDS = 20  # growths of the run
LONGEST = 3.0  # seconds that a push lives before it is killed
KILLED_PUSH = Path(__file__).parents[1] / "tests" / "lake" / "killed_push.py"


@contextmanager
def team(folder: Path, fsync: str = "off") -> Iterator[tuple[Postgres, S3, Place]]:
    """A lake in a PostgreSQL and an S3 server of its own."""
    os.chmod(folder, 0o755)
    postgres, s3 = Postgres(folder / "pg", fsync), S3(folder / "s3")
    try:
        said = {"PGPASSWORD": postgres.password, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        os.environ |= {**said, "AWS_ENDPOINT_URL": s3.url, "ROLLSCOPE_CACHE": str(folder / "cache")}
        yield postgres, s3, making.init(str(folder / "lake"), postgres.url, "s3://team/lake")
    finally:
        s3.stop()
        postgres.stop()


def kill(lake: Place, life: Life, times: int, seed: int) -> int:
    """Begin a push so many times and kill it; return how often it was in the middle."""
    command = [sys.executable, KILLED_PUSH, lake.folder, life.path, times, seed, LONGEST]
    return int(subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout)


def refused(lake: Place, life: Life) -> float:
    """Seconds until a push says that a server is down."""
    began = time.perf_counter()
    try:
        pushed(lake, life)
    except LakeUnreachable:
        return time.perf_counter() - began
    raise SystemExit("a push to a server that is down did not say so")


def caught_up(lake: Place, life: Life) -> float:
    began = time.perf_counter()
    pushed(lake, life)
    return time.perf_counter() - began


def main(kills: int, dry: bool) -> None:
    with tempfile.TemporaryDirectory() as place, team(Path(place)) as (postgres, s3, lake):
        life, killed, after = Life(Path(place) / "runs", seed=1), 0, []
        for seed in range(ROUNDS):
            life.happen()
            killed += kill(lake, life, kills // ROUNDS, seed)
            after.append(caught_up(lake, life))
        check_same(lake, life)
        down = []
        for server in (postgres, s3):
            life.happen()
            server.stop()
            down.append(refused(lake, life))
            server.start()
            after.append(caught_up(lake, life))
        check_same(lake, life)
        spoiled = bad_network(lake, life, s3)
        check_same(lake, life)
        problems = check(lake).problems
    if problems:
        raise SystemExit(f"the lake is damaged: {problems[:3]}")
    _report(killed, down, after, spoiled, dry)


def bad_network(lake: Place, life: Life, s3: S3) -> list[float]:
    """Push through each kind of bad network, and again once it is good; how long each push took."""
    network, took = BadNetwork(s3.port), []
    os.environ["AWS_ENDPOINT_URL"] = network.url
    for mode in MODES[1:] * 3:
        life.happen()
        network.mode, began = mode, time.perf_counter()
        with suppress(LakeUnreachable):
            pushed(lake, life)
        took.append(time.perf_counter() - began)
        network.mode = "good"
        pushed(lake, life)
    network.close()
    os.environ["AWS_ENDPOINT_URL"] = s3.url
    return took


def _report(killed: int, down: list[float], after: list[float], spoiled: list[float], dry: bool) -> None:
    rows = [
        results.row(f"lake: push after its shipper was killed ({killed} kills, 0 rows lost, 0 twice)", "s", after),
        results.row("lake: a push says that PostgreSQL or S3 is down after", "s", down),
        results.row("lake: a push through a network that is slow, cuts or answers 500 (0 rows lost)", "s", spoiled),
    ]
    for row in rows:
        print(row)
    if not dry:
        results.append(rows)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--dry"]
    main(int(words[0]) if words else 200, "--dry" in sys.argv)
