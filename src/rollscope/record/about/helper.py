"""Start a process that attends a run and outlives this one; say here what it says."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence

from rollscope.record.loss import Losses
from rollscope.record.spawn import spawn

LONGEST = 400  # characters of a line


def start(words: Sequence[str], who: str, losses: Losses, environment: Mapping[str, str] | None = None) -> None:
    """Run a command of ours. `who` begins what is said of it. Raises OSError."""
    process = spawn("rollscope", *words, stderr=subprocess.PIPE, environment=environment)
    threading.Thread(target=_listen, args=(process, who, losses), name="rollscope-helper", daemon=True).start()


def _listen(process: subprocess.Popen[str], who: str, losses: Losses) -> None:
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            losses.say(f"{who}: {line.strip()[:LONGEST]}")
    process.wait()
