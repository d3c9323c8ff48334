"""Ranks of one job find each other; ranks of two jobs do not, whatever they have in common."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

import rollscope as rs
from rollscope.record import launch
from rollscope.record.identity import RunRequest
from rollscope.store.log import process

LAUNCHER = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "RAY_JOB_ID", "RANK", "WORLD_SIZE")
TORCHRUN = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
RANK = """
import json, os, sys
import rollscope as rs
from rollscope.store.log import process
process.boot_id = lambda: os.environ["HOST_OF_RANK"]
process.namespace = lambda: 7
from rollscope.record import launch
from rollscope.record.write import log_files
log_files.BEAT_SECONDS = 0.2
launch.WAIT_SECONDS = float(os.environ.get("WAIT_SECONDS", "60"))
run = rs.init(dir=sys.argv[1], host=False, **json.loads(sys.argv[2]))
print(run.id, flush=True)
sys.stdin.readline()
run.log({"value": float(os.environ["VALUE"])}, step=1)
run.flush(60)
run.finish()
"""


@pytest.fixture(autouse=True)
def _no_rank_stays() -> Iterator[None]:
    yield
    for rank in Rank.begun:
        rank.kill()
        with contextlib.suppress(ValueError):  # its pipes were read already
            rank.communicate()
    Rank.begun.clear()


class Rank:
    begun: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, host: str, folder: Path, job: dict[str, str], rank: int, value: float, **more: str) -> None:
        clean = {name: text for name, text in os.environ.items() if name not in LAUNCHER}
        mine = {"RANK": str(rank), "WORLD_SIZE": "2", "HOST_OF_RANK": host, "VALUE": str(value)}
        command = [sys.executable, "-c", RANK, str(folder), json.dumps(more)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=clean | job | mine, text=True, **pipes)  # type: ignore[call-overload]
        self.begun.append(self.process)

    def id(self) -> str:
        return str(self.process.stdout.readline().strip())

    def end(self) -> str:
        said = self.process.communicate("\n", timeout=60)[1]
        assert self.process.returncode == 0, said
        return str(said)


def test_two_jobs_of_one_script_on_two_hosts_do_not_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torchrun's defaults are the same everywhere: only the machine tells the two apart."""
    ranks = [Rank(host, tmp_path, TORCHRUN, rank, value, name="grpo") for host, rank, value in (
        ("host-a", 0, 60.0), ("host-b", 0, 64.0), ("host-a", 1, 61.0), ("host-b", 1, 66.0))]  # fmt: skip
    ids = [rank.id() for rank in ranks]
    for rank in ranks:
        rank.end()
    assert ids[0] == ids[2] and ids[1] == ids[3] and ids[0] != ids[1]
    means = {id: rs.open(tmp_path).run(id).series("value")["value"].tolist() for id in ids}
    assert means == {ids[0]: [60.5], ids[1]: [65.0]}


def test_ranks_of_one_job_on_two_hosts_join(tmp_path: Path) -> None:
    job = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "node-17", "MASTER_PORT": "29500"}
    ranks = [
        Rank(host, tmp_path, job, rank, value, name="grpo") for host, rank, value in (("a", 0, 1.0), ("b", 1, 3.0))
    ]
    ids = {rank.id() for rank in ranks}
    for rank in ranks:
        rank.end()
    assert len(ids) == 1 and rs.open(tmp_path).run(ids.pop()).series("value")["value"].tolist() == [2.0]


@pytest.mark.parametrize("host", ["a", "b"])
def test_shard_0_joins_the_run_that_a_shard_began_which_had_waited_for_it(tmp_path: Path, host: str) -> None:
    """On a busy cluster shard 0 comes minutes later, and must not split the run."""
    job = {"SLURM_JOB_ID": "7", "WAIT_SECONDS": "0.2"}
    early = Rank("a", tmp_path, job, 1, 3.0, name="grpo")
    began = early.id()
    patient = job | {"WAIT_SECONDS": "60"}  # the early shard touches its log within this time
    late = Rank(host, tmp_path, patient, 0, 1.0, name="grpo")
    assert late.id() == began
    later = Rank(host, tmp_path, job, 1, 5.0, name="grpo", shards="3")
    assert later.id() != began, "another number of shards is another launch"
    assert "shard 0 has not begun" in early.end() and "shard 0" not in late.end()
    later.end()
    facts = json.loads((tmp_path / began / "run.json").read_text())
    assert facts["process"]["shard"] == 0 and len(facts["attempts"]) == 1
    run = rs.open(tmp_path).run(began)
    assert run.series("value")["value"].tolist() == [2.0] and run.state == "finished"


@pytest.mark.parametrize("host", ["a", "b"])  # where the dead one can be seen, and where it cannot
def test_shard_0_does_not_join_the_dead_run_of_a_shard_that_had_waited(tmp_path: Path, host: str) -> None:
    job = {"SLURM_JOB_ID": "7", "WAIT_SECONDS": "0.2"}
    early = Rank("a", tmp_path, job, 1, 3.0, name="grpo")
    began = early.id()
    early.process.kill()
    early.process.communicate(timeout=60)
    late = Rank(host, tmp_path, job, 0, 1.0, name="grpo")
    assert late.id() not in ("", began)
    late.end()


def test_a_job_refuses_to_record_into_the_living_run_of_another(tmp_path: Path) -> None:
    """Both were given the same id by one configuration file.

    The second says so and records beside it.
    """
    first = Rank("a", tmp_path, {"SLURM_JOB_ID": "1"}, 0, 60.0, id="exp")
    assert first.id() == "exp"
    second = Rank("b", tmp_path, {"SLURM_JOB_ID": "2"}, 0, 70.0, id="exp")
    beside = second.id()
    assert beside.startswith("exp-rank0-") and "is being recorded by another job" in second.end()
    first.end()
    assert rs.open(tmp_path).run("exp").series("value")["value"].tolist() == [60.0]
    assert rs.open(tmp_path).run(beside).series("value")["value"].tolist() == [70.0]


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        pytest.param(["t.py", "--local_rank=3", "--lr", "1e-6"], ["t.py", "--lr", "1e-6"], id="DeepSpeed's"),
        pytest.param(["t.py", "--local-rank", "3", "x"], ["t.py", "x"], id="with its value behind it"),
        pytest.param(["t.py", "--node_rank", "1"], ["t.py"], id="of a node"),
        pytest.param(["t.py", "3", "out"], ["t.py", "out"], id="a script that takes its rank first"),
        pytest.param(["t.py", "--ranking", "a"], ["t.py", "--ranking", "a"], id="another word"),
    ],
)
def test_arguments_that_differ_between_ranks_are_left_out(arguments: list[str], kept: list[str]) -> None:
    assert launch.without_ranks(arguments) == kept


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"SLURM_JOB_ID": "1"}, {"SLURM_JOB_ID": "2"}, id="Slurm jobs"),
        pytest.param({"RAY_JOB_ID": "1"}, {"RAY_JOB_ID": "2"}, id="Ray jobs"),
        pytest.param(TORCHRUN, TORCHRUN | {"MASTER_PORT": "29501"}, id="ports"),
        pytest.param({"MASTER_ADDR": "n1"}, {"MASTER_ADDR": "n2"}, id="master addresses"),
        pytest.param({"TORCHELASTIC_RUN_ID": "a"}, {"TORCHELASTIC_RUN_ID": "b"}, id="rendezvous ids"),
    ],
)
def test_jobs_are_told_apart_by(
    one: dict[str, str], other: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for job in (one, other):
        for name in LAUNCHER:
            monkeypatch.delenv(name, raising=False)
        for name, text in job.items():
            monkeypatch.setenv(name, text)
        keys.append((launch.job_key(), launch.launch_key(RunRequest(tmp_path, name="x", shards=2))))
    assert keys[0][0] != keys[1][0] and keys[0][1] != keys[1][1]


def test_a_crashed_run_whose_pid_is_used_again_gets_a_new_attempt(tmp_path: Path) -> None:
    """Its number lives on in another process, which is not the one that recorded."""
    run = rs.init(id="again", dir=tmp_path, host=False)
    run.log({"a": 1.0}, step=1)
    assert run.flush(60)  # a busy disk may take longer than `finish` waits
    run.finish()
    facts = json.loads((tmp_path / "again" / "run.json").read_text())
    facts["process"] |= {"pid": os.getppid(), "start_ticks": -1}  # the first process of a machine may start at 1
    assert process.is_alive(facts["process"]) is False
    (tmp_path / "again" / "run.json").write_text(json.dumps(facts | {"state": "running"}))
    again = rs.init(id="again", dir=tmp_path, host=False)
    again.log({"a": 5.0}, step=1)
    assert again.flush(60)
    again.finish()
    assert rs.open(tmp_path).run("again").series("a")["value"].tolist() == [5.0]
