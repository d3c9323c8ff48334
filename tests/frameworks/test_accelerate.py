"""`rollscope run` records both processes of `accelerate launch` in one run, without wandb."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope.store import store as rs

PYTHON = Path(__file__).parents[2] / ".venvs" / "trl" / "bin" / "python"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]
PROGRAM = """
import wandb
from accelerate import Accelerator

rank = Accelerator(cpu=True).process_index
wandb.init(project="p", name=f"rank{rank}", config={"lr": 0.1})
for i in range(3):
    wandb.log({f"loss/{rank}": float(i), "shared": float(rank)}, step=i)
wandb.finish()
"""


def test_both_processes_are_recorded_into_one_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    launch = [str(PYTHON), "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"]
    launch += ["--mixed_precision=no", "--dynamo_backend=no", "--main_process_ip=127.0.0.1", "--main_process_port=0"]
    launch += [str(tmp_path / "program.py")]
    command = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), "--", *launch]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(rs.open(tmp_path / "runs").runs()) == 1
    run = rs.open(tmp_path / "runs").run()
    for rank in range(2):
        assert run.series(f"loss/{rank}")["value"].tolist() == [0.0, 1.0, 2.0]
    assert run.series("shared")["value"].tolist() == [0.5] * 3 and run.config["lr"] == 0.1
