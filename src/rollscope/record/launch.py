"""How the processes of one launch find the same run without talking to each other.

Shard 0 decides which run it is and leaves a note in `.join/`, in a file named after what the
launcher gave to all of them. The other shards wait a moment for the note.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .identity import Attempt, RunRequest

WAIT_SECONDS = 20.0
FRESH_SECONDS = 60.0  # how much earlier than this process its shard 0 may have started
DAY = 86_400.0
_VARIABLES = (
    *("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"),
    *("SLURM_JOB_ID", "RAY_JOB_ID"),
)
_IMPORTED = time.time()


def launch_key(request: RunRequest) -> str:
    """A word that the processes of one launch have in common."""
    words = [os.environ.get(name, "") for name in _VARIABLES]
    words += [request.id or "", request.name or "", request.project or "", str(request.shards)]
    return hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=8).hexdigest()


def leave_note(request: RunRequest, attempt: Attempt) -> None:
    """Tell the other shards of this launch which run it is."""
    note = {
        "id": attempt.id,
        "attempt": attempt.number,
        "resumed_from": attempt.resumed_from,
        "time": time.time(),
        "pid": os.getpid(),
        "host": os.uname().nodename,
    }
    with contextlib.suppress(OSError):  # then the other shards wait in vain and record on their own
        path = _path(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, note)


def mark_ended(request: RunRequest) -> None:
    """Add the end to shard 0's note, so that the next launch does not take it for its own."""
    if request.shard != 0 or request.shards == 1:
        return
    path = _path(request)
    with contextlib.suppress(OSError, ValueError):
        _replace(path, json.loads(path.read_text()) | {"ended": time.time()})


def _path(request: RunRequest) -> Path:
    return request.root / ".join" / launch_key(request)


def _replace(path: Path, note: dict[str, Any]) -> None:
    """Write the note under another name and rename it; remove notes older than a day."""
    aside = path.with_suffix(f".{secrets.token_hex(4)}")
    aside.write_text(json.dumps(note))
    os.replace(aside, path)
    for old in path.parent.iterdir():
        if time.time() - old.stat().st_mtime > DAY:
            old.unlink(missing_ok=True)


def wait_for_note(request: RunRequest) -> dict[str, Any] | None:
    """The `id`, `attempt` and `resumed_from` that shard 0 decided on, or None if it is late."""
    until, started = time.monotonic() + WAIT_SECONDS, process_started()
    while time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError, KeyError):  # missing or incomplete: read again
            note = json.loads(_path(request).read_text())
            if is_of_this_launch(note, started):
                return {key: note[key] for key in ("id", "attempt", "resumed_from")}
        time.sleep(0.05)
    return None


def is_of_this_launch(note: dict[str, Any], started: float) -> bool:
    """Is the note from the launch of a process that started at `started`?

    Two launches from one terminal have the same key. But the processes of the second launch start
    after shard 0 of the first is gone.
    """
    if note["time"] >= started:
        return True
    if note["time"] < started - FRESH_SECONDS:
        return False
    if "ended" in note:
        return bool(note["ended"] >= started)
    return note["host"] != os.uname().nodename or process_exists(int(note["pid"]))


def process_started() -> float:
    """When this process began, in seconds since 1970."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            ticks = float(file.read().rpartition(")")[2].split()[19])
        return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, AttributeError):
        return _IMPORTED


def process_exists(pid: int) -> bool:
    """Does a process with this number exist on this machine?"""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
