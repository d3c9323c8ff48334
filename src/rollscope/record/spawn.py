"""Helper processes: at a low priority, in their own session, without the trainer's terminal.

They start isolated: a file in the working folder never takes the place of a module.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

from rollscope import isolated

from . import rank

# Where autogroup is on, Linux shares a core between sessions, and `nice` counts inside one alone: a
# helper would take half of a busy core from the training. With 10 its session gets a tenth, so it
# still seals, ships and diagnoses beside a training that keeps every core busy.
# Linux takes ten such changes a second from all people of a machine: a rank among many tries again.
LOW = """
for try in 1 2 3 4 5 6 7 8; do
  { echo 10 > /proc/self/autogroup; } 2> /dev/null && break
  [ -w /proc/self/autogroup ] || break
  sleep 0.1$(($$ % 10))
done
exec nice -n 19 "$@"
"""


def spawn(
    module: str,
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Run a module of ours in a new Python, under `nice` where it exists. Raises OSError.

    Secrets go by `environment`: everyone on the machine can read the words of a command.
    """
    shell = shutil.which("sh") if shutil.which("nice") else None
    env = {key: value for key, value in isolated.environment().items() if key not in rank.NAMES}  # a helper is no rank
    return subprocess.Popen(
        [*([shell, "-c", LOW, "sh"] if shell else []), *isolated.command(module, *arguments)],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
        env=env | {"CUDA_VISIBLE_DEVICES": "", **(environment or {})},
    )
