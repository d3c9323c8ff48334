"""Ranks in containers:

PID namespaces of their own under one host name, sealing beside each other's living logs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rollscope as rs

ROWS = 300
RANK = """
import sys, time
import rollscope as rs
from rollscope.record.write import log_files
log_files.ROTATE = 4_000  # several logs a rank, so that there is something to seal meanwhile
folder, rank = sys.argv[1], int(sys.argv[2])
run = rs.init(id="both", dir=folder, host=False, shard=rank, shards=2)
for step in range({rows}):
    run.log({{f"rank{{rank}}": float(step)}}, step=step)
    if step % 10 == 0:
        assert run.flush(60)
assert run.flush(60)
print("written", flush=True)
sys.stdin.readline()
run.log({{f"rank{{rank}}": -1.0}}, step={rows})
run.finish()
"""


def in_namespace(*command: str) -> list[str]:
    return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *command]


@pytest.fixture(scope="module", autouse=True)
def unshare() -> None:
    """Namespaces need a right that not every machine gives; CI has it."""
    if shutil.which("unshare") is None or subprocess.run(in_namespace("true"), capture_output=True).returncode:
        pytest.skip("PID namespaces cannot be made here: run as root to try this")


def start(folder: Path, rank: int) -> subprocess.Popen[str]:
    command = in_namespace(sys.executable, "-c", RANK.format(rows=ROWS), str(folder), str(rank))
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rollscope(*arguments: str, inside: bool = True) -> None:
    command = [sys.executable, "-m", "rollscope", *arguments]
    subprocess.run(in_namespace(*command) if inside else command, check=True, capture_output=True)


@pytest.mark.parametrize("force", [False, True], ids=["compact", "compact --force"])
def test_compacting_from_another_namespace_loses_no_row_of_a_living_rank(tmp_path: Path, force: bool) -> None:
    ranks = [start(tmp_path, rank) for rank in range(2)]
    try:
        for rank in ranks:
            assert rank.stdout is not None and rank.stdout.readline() == "written\n"
        for inside in (True, False):
            rollscope("compact", "--dir", str(tmp_path), *(["--force"] if force else []), inside=inside)
        for rank in ranks:
            rank.communicate("\n", timeout=60)
            assert rank.returncode == 0
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    rollscope("compact", "--dir", str(tmp_path))
    run = rs.open(tmp_path).run("both")
    for name in ("rank0", "rank1"):
        series = run.series(name)
        assert series["value"].tolist() == [*map(float, range(ROWS)), -1.0], name
    assert run.damage == [] and run.state == "finished"


def test_a_rank_killed_in_its_namespace_is_sealed_from_another(tmp_path: Path) -> None:
    """Its lock ends with it, so a sealer on the same kernel knows, without waiting for a lease."""
    rank = start(tmp_path, 0)
    assert rank.stdout is not None and rank.stdout.readline() == "written\n"
    rank.kill()  # unshare --kill-child takes the rank with it
    rank.wait()
    until = time.monotonic() + 60
    while list((tmp_path / "both").glob("*.log")) and time.monotonic() < until:  # the kernel ends the child soon
        rollscope("compact", "--dir", str(tmp_path), inside=False)
    rank.communicate()
    assert not list((tmp_path / "both").glob("*.log"))
    assert rs.open(tmp_path).run("both").series("rank0")["value"].tolist() == [*map(float, range(ROWS))]


def test_both_namespaces_have_the_host_name_that_used_to_deceive(tmp_path: Path) -> None:
    code = "from rollscope.store.log import process; import json; print(json.dumps(process.here()))"
    said = subprocess.run(in_namespace(sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout
    assert f'"host": "{os.uname().nodename}"' in said and str(os.stat("/proc/self/ns/pid").st_ino) not in said
