"""`rollscope demo --no-serve` trains three runs for real and ends by itself; without torch it says what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.cli import demo


def test_the_demo_ends_by_itself_and_leaves_three_finished_runs(tmp_path):
    words = [
        "demo",
        "--no-serve",
        "--json",
        "--dir",
        str(tmp_path),
        "--seconds",
        "1",
        "--set",
        "warmup.steps=20",
        "--set",
        "rollout.discard_group_zero_advantage=false",
    ]
    done = subprocess.run([sys.executable, "-m", "rollscope", *words], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["runs"]
    store = rs.open(tmp_path)
    assert len(made) == len(demo.RUNS) == 3
    assert [store.run(id).facts["algorithm"] for id in made] == ["grpo", "ppo", "dpo"]
    assert {record["state"] for record in store.runs()} == {"finished"}


def test_without_torch_it_says_what_to_install(tmp_path):
    program = f"import sys; sys.modules['torch'] = None; from rollscope.cli import main; sys.exit(main(['demo', '--no-serve', '--dir', {str(tmp_path)!r}]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "training needs the package 'torch'" in done.stderr and 'pip install "rollscope[train]"' in done.stderr
    assert not list(tmp_path.iterdir())
