"""Processor time of the processes of a benchmark, part by part, as Linux counts it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process, with the seconds of those it waited for."""

    parent: int
    command: str
    seconds: float


def of_parts(marks: Mapping[str, str]) -> dict[str, float]:
    """Seconds of each part: of processes whose command has its mark, and of all below them.

    A process counts for the nearest mark above it. Those that have ended count where somebody
    waited for them.
    """
    found, seconds = _processes(), dict.fromkeys(marks, 0.0)
    for pid, process in found.items():
        part = _part(pid, found, marks)
        if part is not None:
            seconds[part] += process.seconds
    return seconds


def _part(pid: int, found: Mapping[int, Process], marks: Mapping[str, str]) -> str | None:
    while pid in found:
        for part, mark in marks.items():
            if mark in found[pid].command:
                return part
        pid = found[pid].parent
    return None


def _processes() -> dict[int, Process]:
    found: dict[int, Process] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            found[int(entry)] = Process(int(fields[1]), command, sum(map(int, fields[11:15])) / TICKS)
    return found
