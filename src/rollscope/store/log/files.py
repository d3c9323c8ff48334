"""The log files in a run's folder: their names, their list, and when the folder last changed."""

from __future__ import annotations

import contextlib
import os
import re

from rollscope.store import regular_file

NAME = re.compile(r"(?P<writer>[0-9a-f]{16})\.(?P<seq>\d{4,})\.log")


def file_name(writer: str, seq: int) -> str:
    return f"{writer}.{seq:04d}.log"


def stem(path: str) -> str:
    """`WRITER.SEQ` of a log's path: its name among the sources of a set."""
    return os.path.basename(path).removesuffix(".log")


def listed(run: str) -> list[str]:
    """Names of the logs in a folder, in order.

    Only files count: a broken link cannot be read, and reading a pipe would never end.
    """
    with os.scandir(run) as entries:
        return sorted(e.name for e in entries if NAME.fullmatch(e.name) and regular_file.is_regular(e.path))


def newest(run: str) -> float:
    """When an entry of a folder last changed; 0 if there is none. Ignores vanished entries."""
    times = [0.0]
    with os.scandir(run) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                times.append(entry.stat(follow_symlinks=False).st_mtime)
    return max(times)
