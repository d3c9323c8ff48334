"""Helper processes: at the lowest priority, in their own session, without the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK")  # a helper is not a rank of the training


def spawn(module: str, *arguments: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start `python -m module arguments`, under `nice` where it exists. Raises OSError."""
    nice = shutil.which("nice")
    command = [*([nice, "-n", "19"] if nice else []), sys.executable, "-m", module, *arguments]
    env = {key: value for key, value in os.environ.items() if key not in _LAUNCHER}
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "start_new_session": True,
        "text": True,
        "env": env | {"CUDA_VISIBLE_DEVICES": ""},
    }
    return subprocess.Popen(command, stdout=stdout, **options)
