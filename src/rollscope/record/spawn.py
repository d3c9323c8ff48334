"""Helper processes: at the lowest priority, in their own session, without the trainer's terminal.

They start isolated: a file in the working folder never takes the place of a module.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

from rollscope import isolated

from . import rank


def spawn(
    module: str,
    *arguments: str,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Run a module of ours in a new Python, under `nice` where it exists. Raises OSError.

    Secrets go by `environment`: everyone on the machine can read the words of a command.
    """
    nice = shutil.which("nice")
    env = {key: value for key, value in isolated.environment().items() if key not in rank.NAMES}  # a helper is no rank
    return subprocess.Popen(
        [*([nice, "-n", "19"] if nice else []), *isolated.command(module, *arguments)],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
        env=env | {"CUDA_VISIBLE_DEVICES": "", **(environment or {})},
    )
