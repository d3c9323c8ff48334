"""`rollscope demo --no-serve` trains three runs and ends; without torch it says what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.cli import demo


def test_the_demo_ends_by_itself_and_leaves_three_finished_runs(tmp_path):
    short = ["--seconds", "1", "--set", "warmup.steps=20", "--set", "rollout.discard_group_zero_advantage=false"]
    command = [sys.executable, "-m", "rollscope", "demo", "--no-serve", "--json", "--dir", str(tmp_path), *short]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    ids = json.loads(done.stdout)["runs"]
    store = rs.open(tmp_path)
    assert len(ids) == len(demo.RUNS) == 3
    assert [store.run(id).facts["algorithm"] for id in ids] == ["grpo", "ppo", "dpo"]
    assert {record["state"] for record in store.runs()} == {"finished"}


def test_without_torch_it_says_what_to_install(tmp_path):
    call = f"main(['demo', '--no-serve', '--dir', {str(tmp_path)!r}])"
    program = f"import sys; sys.modules['torch'] = None; from rollscope.cli import main; sys.exit({call})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "training needs the package 'torch'" in done.stderr and 'pip install "rollscope[train]"' in done.stderr
    assert not list(tmp_path.iterdir())
