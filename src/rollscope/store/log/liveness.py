"""Whether the writer of a log may still append to it.

The evidence, from the strongest: the writer closed the log; the writer is a process that can be
seen from here; the lock of its open file, on the same kernel; and, on another kernel, the lock
together with a lease: the writer touches its log every few seconds, so a log that nobody touched
for a long time has no writer.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from typing import Any

from . import process
from .lock import Lock, look

BEAT_SECONDS = 15.0  # how often a writer touches its log
LEASE_SECONDS = 15 * 60.0  # on another kernel, with the lock free
LEASE_WITHOUT_LOCKS_SECONDS = 60 * 60.0  # a process may hold its interpreter, and so its beat, for long


def is_over(path: str, facts: Mapping[str, Any], lock: Lock | None = None) -> bool:
    """True only if it is proven that no process can append to this log any more.

    `facts` is the first block of the log; `lock` is what taking the lock showed, if the caller has
    tried already. Raises FileNotFoundError if the log is gone.
    """
    if (alive := process.is_alive(facts)) is not None:
        return not alive
    lock = lock or look(path)
    if lock is Lock.HELD:
        return False
    if lock is Lock.TAKEN and process.shares_kernel(facts):
        return True
    return age(path) > (LEASE_SECONDS if lock is Lock.TAKEN else LEASE_WITHOUT_LOCKS_SECONDS)


def is_alive(path: str, facts: Mapping[str, Any]) -> bool:
    """True if the writer can be seen to live, by its process or by its lock."""
    if (alive := process.is_alive(facts)) is not None:
        return alive
    with contextlib.suppress(OSError):
        return look(path) is Lock.HELD
    return False


def age(path: str) -> float:
    """Seconds since a log was last written or touched, by the clock of its own file system.

    The clocks of two hosts may be minutes apart, so the time is read off a new file beside the log.
    A folder that cannot be written gives 0: then nothing in it can be removed either.
    """
    touched = os.stat(path).st_mtime
    probe = os.path.join(os.path.dirname(path), f".clock-{secrets.token_hex(4)}")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return os.stat(probe).st_mtime - touched
    except OSError:
        return 0.0
    finally:
        with contextlib.suppress(OSError):
            os.unlink(probe)
