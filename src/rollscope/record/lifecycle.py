"""Ends and forks: every way a process can leave while a run is open, as far as it can be noticed.

Normal exit, an exception that reaches the top, SIGTERM (only where nobody else handles it, and it is raised again afterwards), the exit of a
multiprocessing child. A forked child gets a recorder of its own and leaves its parent's file alone.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recorder import Machinery
    from .run import Run

_live: set[Run] = set()  # held until they are finished: a run whose name went out of scope still has things to write
_installed = False
WORDS = 4000  # characters of a traceback that are kept


def watch(run: Run) -> None:
    global _installed
    _live.add(run)
    if not _installed:
        _installed = True
        atexit.register(_at_exit)
        os.register_at_fork(after_in_child=_in_child)
        _hook_exceptions()
        _hook_sigterm()
    on_exit_of_child(run)


def unwatch(run: Run) -> None:
    _live.discard(run)


def _at_exit() -> None:
    for run in list(_live):
        run.finish()


def _hook_exceptions() -> None:
    before = sys.excepthook

    def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        for run in list(_live):
            run.note(last_words(error), kind="output")
            run.finish(state="crashed", reason=reason(kind, error))
        return before(kind, error, trace)

    sys.excepthook = crashed


def reason(kind: type[BaseException], error: BaseException | None) -> str:
    """One line: `ValueError: what it said`."""
    text = " ".join(str(error).split())[:300]
    return f"{kind.__name__}: {text}" if text else kind.__name__


def last_words(error: BaseException | None) -> str:
    """The end of what the interpreter prints about it: for whoever opens the run and asks why it stopped."""
    from traceback import format_exception

    return "".join(format_exception(error)).rstrip()[-WORDS:] if error is not None else ""


def _hook_sigterm() -> None:
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        return  # torchrun, Ray and others have their own, and it is not ours to replace

    def terminated(number: int, frame: FrameType | None) -> None:
        for run in list(_live):
            run.finish(state="crashed", reason="SIGTERM")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, terminated)


def _in_child() -> None:
    for run in list(_live):
        run._reborn()


def child_began(machinery: Machinery) -> None:
    """multiprocessing children leave without atexit; their own finalizers do run."""
    from multiprocessing.util import Finalize

    Finalize(machinery, machinery.finish, args=("finished", None), exitpriority=100)


def on_exit_of_child(run: Run) -> None:
    """A child that began a run of its own: the same holds."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(run, run.finish, exitpriority=100)
