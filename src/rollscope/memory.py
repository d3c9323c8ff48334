"""Keep the memory of a server that runs for weeks small, and let it open many files.

Dozens of threads that each answer a moment's request would make the allocators keep a heap for each
of them: with Arrow's own, a server that held 30 MB of rows took 900 MB after ten minutes. So Arrow
uses the system's allocator, that one keeps two heaps, and free pages go back now and then.

glibc also learns to put ever larger buffers into its heaps, once it has seen some come and go. Rows
that are kept then lie between the holes of answers that are gone: after five minutes 260 of 440 MB
were holes. So large buffers get pages of their own, always, and give them back at once.

What is kept of the steps of a run lies in files (`store/live/paged.py`), whose pages are given back
as well: they are read again when they are asked for.

Arrow looks for pandas when it first makes an array of numbers, although nothing here uses pandas:
that takes a third of a second and 50 MB. So where it is installed the server does not find it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from importlib.abc import MetaPathFinder

from .errors import BadInput

TRIM_SECONDS = 5.0
FEWEST_HANDLES = 64  # 30 of its own, and some for runs and connections
_M_ARENA_MAX = -8  # of glibc's mallopt
_M_MMAP_THRESHOLD = -3
_HEAPS = 2
_LARGE = 128 << 10  # bytes


def prepare() -> None:
    """Set up the process. Call it before Arrow is imported: that reads its setting once."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    _call("mallopt", _M_ARENA_MAX, _HEAPS)
    _call("mallopt", _M_MMAP_THRESHOLD, _LARGE)
    sys.meta_path.insert(0, _WithoutPandas())
    raise_handles()


class _WithoutPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("a server works without pandas", name="pandas")


def raise_handles() -> None:
    """Raise the soft limit of open files to the hard one, where that is allowed.

    Raises BadInput if a server could not open its own files: it would be deaf, or stop half-way.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= soft < FEWEST_HANDLES:
        raise BadInput(
            f"this process may open {soft} files, and a server needs {FEWEST_HANDLES}."
            " Raise the limit before it starts: ulimit -n 1024"
        )


def keep_trimming() -> None:
    """Give free memory back to the system every few seconds, for as long as the process lives."""
    from rollscope.store.live import paged  # imports Arrow

    paged.begin()
    threading.Thread(target=_trim, daemon=True, name="rollscope-trim").start()


def _trim() -> None:
    from rollscope.store.live import paged

    while True:
        time.sleep(TRIM_SECONDS)
        paged.drop_pages()
        _call("malloc_trim", 0)


def _call(name: str, *numbers: int) -> None:
    """Call a function of the C library that takes whole numbers, if there is one of this name."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        getattr(ctypes.CDLL(None), name)(*numbers)
