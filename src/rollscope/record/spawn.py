"""Processes of ours beside the training process: at the lowest priority, in a session of their own, and without its terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any


def spawn(module: str, *arguments: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """`python -m module arguments`, niced where that is possible. Raises OSError."""
    nice = shutil.which("nice")
    command = [*([nice, "-n", "19"] if nice else []), sys.executable, "-m", module, *arguments]
    env = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")} | {
        "CUDA_VISIBLE_DEVICES": ""
    }
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "start_new_session": True,
        "text": True,
        "env": env,
    }
    return subprocess.Popen(command, stdout=stdout, **options)
