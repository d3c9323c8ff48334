"""`rs.init(lake=...)`: a process of its own ships the run to a lake while it is recorded.

It outlives this process: it ships how the run ended, and ends by itself when the lake has
everything. What it says while this process lives is said here.
"""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from rollscope.record.loss import Losses
from rollscope.record.spawn import spawn


def ship(folder: Path, lake: str, losses: Losses) -> None:
    """Start the shipper of a run. Raises OSError."""
    words = ("push", str(folder), "--to", os.path.abspath(lake), "--follow")
    process = spawn("rollscope", *words, stderr=subprocess.PIPE)
    threading.Thread(target=_listen, args=(process, losses), name="rollscope-shipper", daemon=True).start()


def _listen(process: subprocess.Popen[str], losses: Losses) -> None:
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            losses.say(f"the lake: {line.strip()[:400]}")
    process.wait()
