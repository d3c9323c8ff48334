"""What several imports of one run share: the file beside the log, and the lock of the log."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rollscope.store.log import lock
from rollscope.strict_json import dumps

SEALING_SECONDS = 2.0  # that somebody may hold the lock of a log to which nobody writes


def is_held(log: Path) -> bool:
    """Whether a writer has a log open. Who seals it has its lock, too, but not for long."""
    until = time.monotonic() + SEALING_SECONDS
    with contextlib.suppress(FileNotFoundError):
        while lock.look(str(log)) is lock.Lock.HELD:
            if time.monotonic() > until:
                return True
            time.sleep(0.02)
    return False


def replace(path: Path, value: Mapping[str, Any]) -> None:
    """Write to another file and rename it, so that a reader sees the old or the new content."""
    aside = path.with_name(path.name + ".new")
    # A path may not be valid UTF-8. Its backslash escapes are valid JSON and read back the same.
    try:
        with aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(dumps(value))
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
