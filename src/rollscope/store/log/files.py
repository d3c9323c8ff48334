"""The log files of a run's folder: how they are named, which there are, and when one last changed."""

from __future__ import annotations

import contextlib
import os
import re

NAME = re.compile(r"(?P<writer>[0-9a-f]{16})\.(?P<seq>\d{4,})\.log")


def file_name(writer: str, seq: int) -> str:
    return f"{writer}.{seq:04d}.log"


def listed(run: str) -> list[str]:
    """Names of a folder's logs, in order. Only files: a link to nowhere cannot be read, and a pipe would be read for ever."""
    return sorted(entry.name for entry in os.scandir(run) if NAME.fullmatch(entry.name) and os.path.isfile(entry.path))


def newest(run: str) -> float:
    """When something in a folder last changed; 0 where it is empty. What is removed meanwhile does not count."""
    times = [0.0]
    for entry in os.scandir(run):
        with contextlib.suppress(FileNotFoundError):
            times.append(entry.stat(follow_symlinks=False).st_mtime)
    return max(times)
