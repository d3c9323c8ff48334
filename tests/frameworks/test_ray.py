"""Ray: `rollscope run` records what actors log, and scanners run on its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope
from rollscope.store import store as rs

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venvs" / "verl" / "bin" / "python"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


def test_actors_are_recorded_into_one_run(tmp_path: Path) -> None:
    record = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), "--"]
    command = [*record, str(PYTHON), str(HERE / "ray_run.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and "[0, 1]" in done.stdout, done.stderr[-3000:]
    assert len(rs.open(tmp_path / "runs").runs()) == 1
    run = rs.open(tmp_path / "runs").run()
    for rank in range(2):
        assert run.series(f"worker_{rank}/loss")["value"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert run.series("shared")["value"].tolist() == [0.5] * 5 and run.config["workers"] == 2


def asked(folder: Path, *words: str) -> str:
    """Run Python where Ray is, with our own packages behind; what it said as errors."""
    source = Path(rollscope.__file__).parents[1]
    packages = os.pathsep.join([str(source), *(path for path in sys.path if path.endswith("site-packages"))])
    environment = {**os.environ, "PYTHONPATH": packages}
    done = subprocess.run(
        [str(PYTHON), *words], capture_output=True, text=True, timeout=500, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stderr


SCANNER = """
import os
from rollscope.scan import scanner

@scanner(needs=["reward"])
def worker(samples):
    return [{"pid": os.getpid(), "twice": 2 * sample["reward"]} for sample in samples]
"""


def test_scanners_run_on_ray(tmp_path: Path) -> None:
    with rollscope.init(dir=str(tmp_path / "runs"), id="r", host=False) as run:
        for step in range(6):
            run.log_samples(step=step, samples=[{"id": f"{step}-{i}", "reward": float(i)} for i in range(1000)])
    (tmp_path / "mine.py").write_text(SCANNER)
    asked(tmp_path, "-m", "rollscope", "scan", "mine.py", "r", "--dir", "runs", "--ray", "here", "--json")
    reader = rs.open(tmp_path / "runs").run()
    counts = "count(*) as n, count(distinct sample) as samples, sum(value) as s"
    rows = reader.sql(f"select {counts} from scans where name = 'worker/twice'")
    assert (rows["n"][0], rows["samples"][0], rows["s"][0]) == (6000, 6000, 6 * 999 * 1000)
    workers = reader.sql("select distinct value as pid from scans where name = 'worker/pid'")["pid"]
    assert os.getpid() not in workers.tolist()


CONFIG = HERE.parents[1] / "examples" / "grpo.toml"
TRAINING = [
    *("run.steps=4", "run.threads=1", "warmup.steps=5", "evaluation.every=0", "environment.train_tasks=8"),
    *("rollout.groups_per_step=4", "rollout.repeats=4", "rollout.max_completion_tokens=6", "rollout.workers=2"),
    *("rollout.ray=here", "rollout.discard_group_zero_advantage=false"),
    "rollout.max_async=0",  # a step waits for both workers, however late one of them starts
]


def test_rollout_workers_are_actors_and_the_training_is_one_run(tmp_path: Path) -> None:
    sets = [word for text in TRAINING for word in ("--set", text)]
    asked(tmp_path, "-m", "rollscope", "train", str(CONFIG), "--dir", "runs", *sets)
    (record,) = rs.open(tmp_path / "runs").runs()
    assert (record["state"], record["step"]) == ("finished", 3)
    run = rs.open(tmp_path / "runs").run()
    lanes = set(run.sql("select distinct lane from spans where lane like 'inference/%'")["lane"])
    assert {"inference/0", "inference/1"} <= lanes
    played = run.sql("select step, count(*) as n from samples where trained group by step order by step")
    assert played["step"].tolist() == [0, 1, 2, 3] and (played["n"] > 0).all()


def test_workers_that_get_no_cpu_are_named_once(tmp_path: Path) -> None:
    said = asked(tmp_path, str(HERE / "few_cpus_run.py"), str(CONFIG))
    (line,) = [line for line in said.splitlines() if "rollout workers" in line]
    assert line.startswith("rollscope: 1 of 2 rollout workers have not begun")
    assert "a CPU of Ray's, which has 1 in all" in line and "set rollout.workers lower" in line
