"""A request to stop an attempt of a run: one small file beside its logs, replaced as a whole.

It names its attempt, so a resumed run does not stop again. A training process reads it; a reader
of the run writes it.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass

from rollscope.store import regular_file

FILE = "stop.json"
MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class StopRequest:
    attempt: int
    why: str
    by: str  # who asked: a person, or a rule of the doctor
    time_ns: int


def write(run: str, request: StopRequest) -> None:
    """Put a request beside the logs. Raises OSError."""
    aside = os.path.join(run, f".stop.{secrets.token_hex(4)}")
    try:
        with open(aside, "x", encoding="utf-8") as file:
            json.dump(asdict(request), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, os.path.join(run, FILE))
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


def read(run: str) -> StopRequest | None:
    """The last request; None if there is none that can be read."""
    try:
        row = regular_file.read_json(os.path.join(run, FILE), MOST_BYTES)
        return StopRequest(int(row["attempt"]), str(row["why"]), str(row["by"]), int(row["time_ns"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
