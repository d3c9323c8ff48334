"""Who a process is, so that a reader elsewhere can tell whether it is still alive.

A pid and a host name are not enough: containers share host names and number their processes from 1,
and a pid is used again. A process is known by the boot of its kernel, its PID namespace, its pid
there, and the moment it started.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

BOOT = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str:
    """The boot of this kernel, the same in all its containers; empty where it cannot be read.

    A process without free handles cannot read it now: only an answer is kept.
    """
    try:
        return _boot_id()
    except (OSError, ValueError):
        return ""


@lru_cache(1)
def _boot_id() -> str:
    with open(BOOT, encoding="ascii") as file:
        if id := file.read().strip():
            return id
    raise ValueError("the kernel says nothing about its boot")


def namespace() -> int:
    """The PID namespace of this process; 0 where it cannot be read."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def start_ticks(pid: int) -> int | None:
    """When a process of this namespace started, in clock ticks since boot; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])  # a zombie has ended
    except (OSError, ValueError, IndexError):
        return None


def here() -> dict[str, Any]:
    """This process, as the first block of its log and `run.json` say it."""
    pid = os.getpid()
    known = {"pid": pid, "host": socket.gethostname(), "boot": boot_id(), "pid_namespace": namespace()}
    return known | {"start_ticks": start_ticks(pid)}


def is_this(facts: Mapping[str, Any]) -> bool:
    """Do these facts describe the process that asks?"""
    mine = here()
    return all(facts.get(key) == mine[key] for key in ("pid", "boot", "pid_namespace", "start_ticks") if key in facts)


def shares_kernel(facts: Mapping[str, Any]) -> bool:
    """Does the process run, or did it run, on this boot of this kernel, in any container?"""
    return bool(boot_id()) and facts.get("boot") == boot_id()


def is_alive(facts: Mapping[str, Any]) -> bool | None:
    """Whether the process lives; None if this process cannot see it.

    Only a process in the same PID namespace of the same boot can be seen. Facts of a version that
    did not write them prove nothing.
    """
    pid = facts.get("pid")
    if not shares_kernel(facts) or facts.get("pid_namespace") != namespace() or not isinstance(pid, int):
        return None
    if not namespace():
        return None
    return start_ticks(pid) == facts.get("start_ticks") and facts.get("start_ticks") is not None
