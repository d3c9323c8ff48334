"""Traces of Trackio are samples, from its database and from calls that are recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.store import store as rs

LOGS = """
def trace(i, *more):
    known = {"reward": i / 2, "rewards/format": float(i), "advantage": -0.5, "group_id": 7, "model_version": 3}
    said = [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": f"a{i}"}, *more]
    return trackio.Trace(messages=said, metadata={**known, "completion_tokens": 4, "seed": 11})
trackio.init(project="p", name="n")
tool = [{"role": "tool", "content": "9"}, {"role": "assistant", "content": "so 9"}]
trackio.log({"rollouts": [trace(0), trace(1, *tool)], "loss": 1.0}, step=5)
trackio.log({"one": trace(2)}, step=6)
trackio.finish()
"""
COLUMNS = ["step", "prompt", "completion", "reward", "advantage", "group", "policy_version_min", "completion_tokens"]


@pytest.mark.parametrize("how", ["trackio", "rollscope.trackio", "rollscope run"])
def test_traces_are_samples_with_rewards_groups_and_versions(how: str, tmp_path: Path, imported: Any) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TRACKIO", "ROLLSCOPE"))}
    runs, database = tmp_path / "runs", tmp_path / "trackio"
    env = {**clean, "HOME": str(tmp_path), "TRACKIO_DIR": str(database), "HF_HUB_OFFLINE": "1"}
    (tmp_path / "train.py").write_text(f"import {how if '.' in how else 'trackio'} as trackio\n{LOGS}")
    before = ["-m", "rollscope", "run", "--dir", str(runs), "--", sys.executable] if how == "rollscope run" else []
    words = [sys.executable, *before, "train.py"]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    if how == "trackio":
        for rows in (3, 0):  # what was imported is not imported again
            (about,) = imported.take(database / "p.db").runs.values()
            assert about["rows"] == rows
    run = rs.open(runs).run()
    found = run.samples(columns=[*COLUMNS, "rewards", "extra", "messages"])
    assert sorted(zip(*(found[name].tolist() for name in COLUMNS), strict=True)) == [
        (5, "q0", "a0", 0.0, -0.5, "7", 3, 4),
        (5, "q1", "a1\n9\nso 9", 0.5, -0.5, "7", 3, 4),
        (6, "q2", "a2", 1.0, -0.5, "7", 3, 4),
    ]
    assert {value["format"] for value in found["rewards"]} == {0.0, 1.0, 2.0}
    assert all(value == {"seed": 11} for value in found["extra"])
    assert sorted(len(value) for value in found["messages"]) == [2, 2, 4]
    assert run.series("loss")["value"].tolist() == [1.0]
