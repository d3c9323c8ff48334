"""`rs.init(doctor=...)`: a doctor in a process of its own tells people and asks for a stop.

It outlives this process: it reads how the run ended, tells that too, and ends by itself.
"""

from __future__ import annotations

from pathlib import Path

from rollscope.record.loss import Losses
from rollscope.record.settings import DoctorSettings

from . import helper

VARIABLE = "ROLLSCOPE_NOTIFY_"


def attend(folder: Path, doctor: DoctorSettings, losses: Losses) -> None:
    """Start the doctor of a run. Raises OSError."""
    secret = {f"{VARIABLE}{i}": text for i, text in enumerate(doctor.notify) if not text.startswith("env:")}
    named = [*(f"env:{name}" for name in secret), *(text for text in doctor.notify if text.startswith("env:"))]
    words = [word for text in named for word in ("--notify", text)]
    words += [word for rule in doctor.stop for word in ("--stop", rule)]
    follow = ("doctor", folder.name, "--dir", str(folder.parent), "--follow", "--json", *words)
    helper.start(follow, "the doctor says", losses, secret)
