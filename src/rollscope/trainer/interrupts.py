"""Ctrl-C while training: a flag that every loop looks at; a second Ctrl-C ends the process at once.

A KeyboardInterrupt that Python raises anywhere can be lost, for example in a callback or while an
object is deleted. A flag cannot.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAYS = b"\nstopping; Ctrl-C again ends at once\n"
_asked = threading.Event()


@contextmanager
def taken() -> Iterator[None]:
    """Take Ctrl-C inside this block. It stays as it is outside the main thread, or if ignored."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if in_main else signal.SIG_IGN
    if before in (signal.SIG_IGN, None):
        yield
        return
    _asked.clear()
    signal.signal(signal.SIGINT, _take)
    try:
        yield
        check()
    finally:
        signal.signal(signal.SIGINT, before)
        _asked.clear()


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed. Every loop of the trainer calls it."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _take(number: int, frame: FrameType | None) -> None:
    if _asked.is_set():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    _asked.set()
    os.write(2, SAYS)
