"""The README's ten lines record a run that can be read."""

import subprocess
import sys
from pathlib import Path

import rollscope as rs

EXAMPLE = Path(__file__).parents[2] / "examples" / "01_ten_lines.py"


def test_the_run_of_the_ten_lines_can_be_read(tmp_path):
    done = subprocess.run([sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True)
    (facts,) = rs.open(tmp_path / "runs").runs()
    assert facts["id"] in done.stdout and done.stderr == ""
    run = rs.open(tmp_path / "runs").run(facts["id"])
    reward = run.series("reward/mean")["value"]
    assert len(reward) == 120 and reward[-20:].mean() > 0.6 > 0.3 > reward[:5].mean(), "it learns"
    assert len(run.samples(step=5)["id"]) == 32 and {"generate", "update"} == set(run.spans(step=5)["name"])
