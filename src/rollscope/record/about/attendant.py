"""`rs.init(doctor=...)`: a doctor in a process of its own tells people and asks for a stop.

It outlives this process: it reads how the run ended, tells that too, and ends by itself. What it
says while this process lives is said here.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from rollscope.record.loss import Losses
from rollscope.record.settings import DoctorSettings
from rollscope.record.spawn import spawn

VARIABLE = "ROLLSCOPE_NOTIFY_"


def attend(folder: Path, doctor: DoctorSettings, losses: Losses) -> None:
    """Start the doctor of a run. Raises OSError."""
    secret = {f"{VARIABLE}{i}": text for i, text in enumerate(doctor.notify) if not text.startswith("env:")}
    named = [*(f"env:{name}" for name in secret), *(text for text in doctor.notify if text.startswith("env:"))]
    words = [word for text in named for word in ("--notify", text)]
    words += [word for rule in doctor.stop for word in ("--stop", rule)]
    follow = ("doctor", folder.name, "--dir", str(folder.parent), "--follow", "--json", *words)
    process = spawn("rollscope", *follow, stderr=subprocess.PIPE, environment=secret)
    threading.Thread(target=_listen, args=(process, losses), name="rollscope-attendant", daemon=True).start()


def _listen(process: subprocess.Popen[str], losses: Losses) -> None:
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            losses.say(f"the doctor says: {line.strip()[:300]}")
    process.wait()
