"""A run without a name is called after the script or module, not after what launches it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli._program_name import program_name

NAMES = {
    "python train.py": "train",
    "python3.12 -u src/train.py --config big.py": "train",
    "python -m pkg.train": "train",
    "python -m pkg.train --config big.py": "train",
    "python -m pkg.train.__main__": "train",
    "/opt/bin/python -X dev -m train": "train",
    "torchrun train.py": "train",
    "torchrun --nproc_per_node=2 --master_port 29500 train.py -m x": "train",
    "torchrun -m pkg.train": "train",
    "python -m torch.distributed.run --nproc_per_node 2 train.py": "train",
    "python -m torch.distributed.launch --module pkg.train": "train",
    "accelerate launch train.py": "train",
    "accelerate launch --config_file acc.yaml -m pkg.train": "train",
    "deepspeed --num_gpus 2 train.py --deepspeed ds.json": "train",
    "swift rlhf --external_plugins /x/plugin/__init__.py --callbacks rollscope": "swift",
    "swift rlhf --external_plugins mine.py --model m": "swift",
    "torchrun --standalone train.py": "train",
    "ray job submit -- python train.py": "train",
    "uv run train.py": "train",
    "uv run --with trl python train.py": "train",
    "uv run train --x": "train",
    "poetry run python -m pkg.train": "train",
    "env A=1 python train.py": "train",
    "env CONFIG=big.py python train.py": "train",
    "nice -n 10 srun -N 2 ./train --x": "train",
    "srun --ntasks=2 python train.py": "train",
    "bash run.sh": "run",
    "bash -x scripts/run.sh --config big.py": "run",
    "./run.sh": "run",
    'bash -c "python train.py --x"': "train",
    'bash -lc "cd /work && A=1 torchrun train.py 2>&1 | tee log.py"': "train",
    'sh -e -c "source env.sh; python -m pkg.train"': "train",
    'bash -c "set -e\npython prepare.py\npython train.py"': "prepare",
    'bash -c "python train.py>log"': "train",
    "bash -c \"bash -c 'uv run train.py'\"": "train",
    'bash -c "ulimit -n 100; ./train --x"': "train",
    'bash -c "python \'train.py"': "train",
    'bash -c "cd x"': "bash",
    "python -c 'print(1)'": "python",
    "python": "python",
    "/usr/bin/make": "make",
    "./train": "train",
    "env": "env",
}


@pytest.mark.parametrize("command", NAMES)
def test_the_name_is_that_of_what_is_trained(command: str) -> None:
    assert program_name(shlex.split(command)) == NAMES[command]


def test_the_run_of_a_shells_script_is_named_after_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    script = f"{shlex.quote(sys.executable)} train.py --x"
    command = [sys.executable, "-m", "rollscope", "run", "--dir", "runs", "--", "bash", "-c", script]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300).returncode == 0
    (about,) = rs.open(tmp_path / "runs").runs()
    assert about.name == "train"
