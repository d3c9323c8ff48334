"""Ranks of one job find each other; ranks of two jobs do not, whatever they have in common."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import rollscope as rs
from rollscope.record import launch
from rollscope.record.identity import RunRequest
from rollscope.record.rank import NAMES, launched
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
log_files.BEAT_SECONDS = float(os.environ.get("BEAT_SECONDS", "0.2"))
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
    for begun in Rank.begun:
        begun.kill()
        with contextlib.suppress(ValueError):  # its pipes were read already
            begun.communicate()
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


@pytest.mark.parametrize("rank", [1, 2])  # the one of the dead writer's host, which sees it, and another
def test_a_launch_after_one_without_rank_0_does_not_split(tmp_path: Path, rank: int) -> None:
    """The note of the dead launch is seconds old, and its writer was on another host."""
    job = {"SLURM_JOB_ID": "7", "WAIT_SECONDS": "0.2"}
    early = Rank("b", tmp_path, job, 1, 3.0, name="grpo", shards="3")
    began = early.id()
    early.process.kill()
    early.process.communicate(timeout=60)
    again = Rank("bc"[rank - 1], tmp_path, job | {"WAIT_SECONDS": "60"}, rank, 1.0, name="grpo", shards="3")
    late = Rank("a", tmp_path, job, 0, 1.0, name="grpo", shards="3")
    assert again.id() == late.id() != began
    for process_ in (again, late):
        process_.end()


def test_a_rank_on_a_third_host_joins_the_living_run_of_a_rank_that_had_waited(tmp_path: Path) -> None:
    job = {"SLURM_JOB_ID": "7", "WAIT_SECONDS": "0.2"}
    early = Rank("b", tmp_path, job, 1, 3.0, name="grpo", shards="3")
    began = early.id()
    later = Rank("c", tmp_path, job | {"WAIT_SECONDS": "60"}, 2, 1.0, name="grpo", shards="3")
    assert later.id() == began
    early.end()
    later.end()


def test_a_rank_joins_a_rank_0_on_another_host_that_has_fallen_silent(tmp_path: Path) -> None:
    """Loading and compiling may hold a process for a minute: its lock says that it lives."""
    job = {"SLURM_JOB_ID": "7", "MASTER_ADDR": "node-17", "MASTER_PORT": "29500", "BEAT_SECONDS": "3600"}
    first = Rank("a", tmp_path, job, 0, 1.0, name="grpo")
    began = first.id()
    until = time.monotonic() + 60
    while not list((tmp_path / began).glob("*.log")):  # until it holds a lock
        assert time.monotonic() < until
        time.sleep(0.01)
    again = Rank("b", tmp_path, job, 1, 3.0, name="grpo")
    assert again.id() == began
    first.end()
    again.end()
    assert rs.open(tmp_path).run(began).series("value")["value"].tolist() == [2.0]


@pytest.mark.parametrize("how", [{"name": "seed-3"}, {"id": "seed-3"}, {"shards": 1}])
def test_an_experiment_of_its_own_under_srun_is_a_whole_run(tmp_path: Path, how: dict[str, Any]) -> None:
    code = f"""
import rollscope as rs
from rollscope.record import launch
launch.WAIT_SECONDS = 0.2
run = rs.init(dir={str(tmp_path)!r}, host=False, **{how!r})
run.log({{"loss": 1.0}}, step=1)
run.finish()
"""
    clean = {name: text for name, text in os.environ.items() if name not in LAUNCHER}
    done = subprocess.run([sys.executable, "-c", code], env=clean | SRUN, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    (run,) = rs.open(tmp_path).runs()
    assert run.state == "finished"


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
        pytest.param({"SLURM_JOB_ID": "\udcfe"}, {"SLURM_JOB_ID": "\udcff"}, id="ids that are no Unicode"),
        pytest.param({"SLURM_JOB_ID": "9" * 99_999}, {"SLURM_JOB_ID": "9" * 99_998}, id="huge ids"),
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


@pytest.mark.parametrize("word", ["", "  ", "None", "null", "N/A", "-1", "0", "unknown", "undefined", "False"])
@pytest.mark.parametrize("name", ["SLURM_JOB_ID", "RAY_JOB_ID", "KUBERNETES_JOB_NAME"])
def test_a_job_id_that_says_nothing_does_not_stand_for_a_job(
    name: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines, one shared folder, torchrun's defaults; and two programs on one machine."""
    for known in LAUNCHER:
        monkeypatch.delenv(known, raising=False)
    for known, text in (TORCHRUN | {name: word}).items():
        monkeypatch.setenv(known, text)
    keys = set()
    for host, program in (("a", "train.py"), ("b", "train.py"), ("b", "other.py")):
        monkeypatch.setattr(process, "boot_id", lambda host=host: host)
        monkeypatch.setattr(sys, "argv", [program])
        keys.add(launch.launch_key(RunRequest(tmp_path, name="x", shards=2)))
    assert len(keys) == 3


ODD = ["", " ", "-1", "9" * 400, "9" * 5000, "1e3", "None", "\u0663", "\udcff", "x" * 100_000, "1 2", "0x1", "\n"]


@pytest.mark.parametrize("word", ODD, ids=lambda word: ascii(word[:12]))
def test_odd_variables_of_launchers_never_stop_a_training(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {*NAMES, *launch._SCHEDULERS, *launch._RENDEZVOUS}:
        monkeypatch.setenv(name, word)
    with rs.init(name="x", dir=tmp_path, host=False) as run:
        run.log({"a": 1.0}, step=1)
    assert rs.open(tmp_path).run(run.id).series("a")["value"].tolist() == [1.0]


SRUN = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, (0, 1), id="no launcher"),
        pytest.param(SRUN, (3, 4), id="srun"),
        pytest.param(SRUN | {"WORLD_SIZE": "8"}, (3, 4), id="srun, and a script that sets the size"),
        pytest.param(SRUN | {"RANK": "5", "WORLD_SIZE": "8"}, (5, 8), id="torchrun under srun"),
        pytest.param({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (0, 1), id="a batch script, which is one process"),
        pytest.param(SRUN | {"RAY_JOB_ID": "01000000"}, (0, 1), id="a worker of Ray that srun started"),
        pytest.param({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2), id="mpirun of Open MPI"),
        pytest.param({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2), id="mpirun of MPICH"),
        pytest.param({"RANK": "3", "WORLD_SIZE": "2"}, (0, 1), id="a rank that cannot be"),
    ],
)
def test_the_rank_is_what_the_launcher_says(
    variables: dict[str, str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {*NAMES, *LAUNCHER}:
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert launched(lambda _: None) == expected


def test_a_boot_that_could_not_be_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without free handles gets an empty answer, which must not stay."""
    boot = tmp_path / "boot_id"
    monkeypatch.setattr(process, "BOOT", str(boot))
    process._boot_id.cache_clear()
    try:
        assert process.boot_id() == ""
        boot.write_text("one\n")
        assert process.boot_id() == "one"
        boot.unlink()
        assert process.boot_id() == "one"
    finally:
        process._boot_id.cache_clear()


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
