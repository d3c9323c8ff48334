"""A table of rollouts that is logged again with more rows: each row is one sample, at its step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources.intake.grown import Grown
from rollscope.store import store as rs

GROWS = """
options = {"mode": "offline", "settings": wandb.Settings(silent=True, console="off")}
run = wandb.init(project="p", name="n", **options)
table = wandb.Table(columns=["step", "input_1", "output_1", "score_1", "input_2", "output_2", "score_2"])
rows = []
for step in range(4):  # as veRL and OpenRLHF do: a new table with what the last one had
    table = wandb.Table(columns=table.columns, data=table.data)
    table.add_data(step, "1+1", "2", 1.0, "1+2", "3" if step else "4", float(step > 0))
    rows.append(["p", f"answer {step}"])
    wandb.log({"val/generations": table, "plain": wandb.Table(columns=["prompt", "completion"], data=rows)}, step=step)
for step in range(4, 6):
    same = wandb.Table(columns=["prompt", "completion"], data=[["q", "the same answer"]])
    wandb.log({"greedy": same}, step=step)
wandb.finish()
"""


def recorded(runs: Path) -> list[tuple[int, str, str]]:
    found = rs.open(runs).run().samples(columns=["id", "step", "completion"])
    names = [id.split("/")[0] for id in found["id"]]
    return sorted(zip(map(int, found["step"]), names, found["completion"], strict=True))


EXPECTED = sorted(
    [(step, "val", "2") for step in range(4)]
    + [(step, "val", "3" if step else "4") for step in range(4)]
    + [(step, "plain", f"answer {step}") for step in range(4)]
    + [(step, "greedy", "the same answer") for step in (4, 5)]
)


@pytest.mark.parametrize("module", ["wandb", "rollscope.wandb"])
def test_each_row_of_a_growing_table_is_one_sample_at_its_step(module: str, tmp_path: Path, imported: Any) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("WANDB", "ROLLSCOPE"))}
    words = [sys.executable, "-c", f"import {module} as wandb\n{GROWS}"]
    environment = {**clean, "HOME": str(tmp_path), "WANDB__SERVICE_WAIT": "300"}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    if module == "wandb":
        imported.take(next(tmp_path.rglob("*.wandb")))
    assert recorded(tmp_path / "runs") == EXPECTED


def test_what_is_known_of_a_table_goes_on_in_another_process() -> None:
    columns, rows = ["prompt", "completion"], [["a", "b"], ["c", "d"]]
    first = Grown()
    assert first.first_new("t", columns, rows) == 0
    second = Grown()
    second.restore(json.loads(json.dumps(first.state)))
    assert second.first_new("t", columns, [*rows, ["e", "f"]]) == 2
    assert second.first_new("t", columns, [["x", "b"], *rows, ["e", "f"]]) == 0, "another table"
    assert second.first_new("other", columns, rows) == 0
    assert second.first_new("t", ["a", "b"], rows) == 0 and second.first_new("t", ["a", "b"], [*rows, rows[0]]) == 0
