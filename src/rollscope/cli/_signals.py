"""Signals that `rollscope run` gets are meant for its program, and are handed to it.

A closed terminal is one of them. What is ignored stays so: `nohup` ignores SIGHUP for both.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TERMINAL = "/dev/tty"  # the terminal that controls this process, if one does


class Signals:
    """Hands signals to a program."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self._has_terminal = _opens(TERMINAL)
        self.last: signal.Signals | None = None  # that came

    @contextlib.contextmanager
    def handed_on(self) -> Iterator[None]:
        with _heard(HANDED_ON, self._take):
            yield

    def _take(self, number: int) -> None:
        self.last = signal.Signals(number)
        _leave_closed_terminal()
        is_over = self._has_terminal and not _opens(TERMINAL)
        if not self._has_it(number, is_over):
            self._program.send_signal(number)

    def _has_it(self, number: int, is_over: bool) -> bool:
        """True if the program got the signal, too: a second one would interrupt its cleanup.

        A terminal sends Ctrl-C to all of its processes. If it closes, its shell hands SIGHUP on to
        them, but nobody does for a program that took the place of the shell.
        """
        if number == signal.SIGINT:
            return _in_foreground()
        return number == signal.SIGHUP and is_over and os.getsid(0) != os.getpid()


@contextlib.contextmanager
def interrupting() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int) -> None:
        _leave_closed_terminal()
        raise KeyboardInterrupt

    with _heard((signal.SIGTERM, signal.SIGHUP), interrupt):
        yield


@contextlib.contextmanager
def _heard(numbers: Sequence[signal.Signals], take: Callable[[int], None]) -> Iterator[None]:
    """Call `take` with each signal that is not ignored."""
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, lambda n, _: take(n)) for number in heard}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # not a terminal
        return False


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _leave_closed_terminal() -> None:
    """Let what is printed to a closed terminal go nowhere: writing to it would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        if not _is_open(number):
            os.dup2(nowhere, number)
    os.close(nowhere)


def _is_open(number: int) -> bool:
    """False for a terminal that was closed. Files and pipes are not asked."""
    try:
        return os.write(number, b"") == 0
    except OSError:
        return False
