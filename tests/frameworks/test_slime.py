"""slime's log functions in an actor of Ray: samples are in the run of the driver's numbers."""

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


@pytest.mark.parametrize("words", [[], ["hidden"]], ids=["told by the environment", "told by Ray"])
def test_an_actor_records_into_the_run_of_its_driver(words: list[str], tmp_path: Path) -> None:
    record = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), "--"]
    command = [*record, str(PYTHON), str(HERE / "slime_run.py"), str(tmp_path / "returned"), *words]
    paths = [str(Path(rollscope.__file__).parents[1]), str(HERE.parent / "sources")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "returned").read_text().split() == ["false"] * 3
    (about,) = rs.open(tmp_path / "runs").runs()
    run = rs.open(tmp_path / "runs").run(about.id)
    assert run.series("train/loss")["step"].tolist() == [3, 4] and about.framework == "slime"
    found = run.sql("SELECT step, split, count(*) AS n FROM samples GROUP BY ALL ORDER BY ALL")
    assert [*zip(found["step"].tolist(), found["split"].tolist(), found["n"].tolist(), strict=True)] == [
        *[(3, "train", 4), (4, "eval", 4), (4, "train", 4)]
    ]
