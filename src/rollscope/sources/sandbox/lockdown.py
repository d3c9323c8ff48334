"""Take away the rights of this process that reading a file does not need.

Portable: limits of the system (memory, CPU time, no written byte, no core file) and an audit hook
that stops Python code from writing, connecting or starting programs. On Linux also `landlock`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Any

from . import landlock
from .limits import NONE

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

LIBRARIES = (  # what Python, numpy, pyarrow and DuckDB open when they are loaded
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/self/cgroup", "/proc/self/mountinfo"),
    *("/sys/devices/system", "/sys/fs/cgroup", "/dev/null", "/dev/urandom"),
)
DENIED = (  # prefixes of the names of audit events
    *("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"),
    *("os.chown", "os.utime", "shutil.", "tempfile.", "sqlite3.enable_load_extension", "sqlite3.load_extension"),
    *("ftplib.", "http.", "urllib.", "smtplib.", "webbrowser.", "ctypes.dlopen"),
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def lock_down(folders: Iterable[str]) -> None:
    """Lock this process for good. `folders` are those that it may read."""
    _limit("RLIMIT_FSIZE", 0)
    _limit("RLIMIT_CORE", 0)
    libraries = [*sys.path, sys.prefix, sys.base_prefix, *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    landlock.restrict([*filter(os.path.isabs, libraries), *LIBRARIES, *folders])


def refuse_actions() -> None:
    """Let Python code do nothing but compute and read files, from here on."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(DENIED) or (event == "open" and (arguments[2] or 0) & WRITING):
            raise PermissionError(f"the process that reads a file may not do this: {event}")

    sys.addaudithook(hook)


def allow(memory: int, seconds: float) -> None:
    """Set what this process may use from now on, beyond the CPU time that it has used."""
    _limit_softly("RLIMIT_DATA" if sys.platform == "linux" else "RLIMIT_AS", memory)
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit_softly("RLIMIT_CPU", int(used.ru_utime + used.ru_stime + seconds) + 1)


def _limit(name: str, value: int) -> None:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        resource.setrlimit(getattr(resource, name), (value, value))


def _limit_softly(name: str, value: int) -> None:
    """Set a limit that a later call may raise again, up to the system's own."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        wanted = resource.RLIM_INFINITY if value >= NONE else value
        known = [limit for limit in (wanted, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(known, default=resource.RLIM_INFINITY), hard))
