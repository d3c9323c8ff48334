"""`rollscope run` records what Ray actors log to wandb, without wandb installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "[0, 1]" in done.stdout, done.stderr[-3000:]
    assert len(rs.open(tmp_path / "runs").runs()) == 1
    run = rs.open(tmp_path / "runs").run()
    for rank in range(2):
        assert run.series(f"worker_{rank}/loss")["value"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert run.series("shared")["value"].tolist() == [0.5] * 5 and run.config["workers"] == 2
