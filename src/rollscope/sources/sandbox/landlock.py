"""Landlock, the Linux kernel's sandbox for a process without privileges (5.13 and later).

After `restrict` the process opens only files below the given folders, for reading, and connects to
nothing (network: 6.7 and later). It cannot be undone. Other systems go without it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same on every processor
PR_SET_NO_NEW_PRIVS = 38
RULE_PATH_BENEATH = 1
EXECUTE, READ_FILE, READ_DIR = 1 << 0, 1 << 2, 1 << 3
FILE_ACCESS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # version -> number of kinds of access that it knows
NETWORK = 0b11  # bind and connect over TCP
SCOPES = 0b11  # abstract sockets of others, signals to others


def restrict(folders: Iterable[str]) -> bool:
    """Allow reading below these files and folders, and nothing else. False if the kernel cannot."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    handled = (1 << FILE_ACCESS[min(version, 5)]) - 1
    about = struct.pack("<QQQ", handled, NETWORK, SCOPES)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(CREATE_RULESET, about, len(about), 0)
    if rules < 0:
        return False
    for folder in folders:
        with contextlib.suppress(OSError):
            _allow(libc, rules, folder)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = libc.syscall(RESTRICT_SELF, rules, 0)
    os.close(rules)
    return bool(done == 0)


def _allow(libc: ctypes.CDLL, rules: int, path: str) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    access = READ_FILE | EXECUTE | (READ_DIR if os.path.isdir(path) else 0)
    libc.syscall(ADD_RULE, rules, RULE_PATH_BENEATH, struct.pack("<Qi", access, fd), 0)
    os.close(fd)
