"""Ends and forks: every way to leave a process with an open run that Python can notice.

These are a normal exit, an exception that reaches the top, SIGTERM (only if no one else handles it;
it is raised again afterwards) and the exit of a multiprocessing child. A forked child gets its own
recorder and does not touch its parent's log.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from traceback import format_exception  # now: imported in the hook, it made Ctrl-C an exit with 1
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from .loss import one_line

if TYPE_CHECKING:
    from .recorder import Recorder
    from .run import Run

_open: set[Run] = set()  # a run that went out of scope still has rows to write
_installed = False
TRACEBACK_CHARACTERS = 4000  # that are kept


def watch(run: Run) -> None:
    """Finish the run however the process ends. Never raises."""
    _open.add(run)
    try:
        _install()
        _finish_with_child(run)
    except Exception as error:
        run._losses.say(f"the end of the process will not be noticed ({one_line(error)}); call `run.finish()`")


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        atexit.register(_at_exit)
        os.register_at_fork(after_in_child=_in_child)
        _hook_exceptions()
        _hook_sigterm()


def unwatch(run: Run) -> None:
    _open.discard(run)


def _at_exit() -> None:
    for run in list(_open):
        run.finish()


def _hook_exceptions() -> None:
    before = sys.excepthook

    def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        for run in list(_open):
            run.note(traceback_of(error), kind="output")
            if not hasattr(sys, "ps1"):  # at a prompt the process goes on, and so does the run
                run.finish(state="crashed", reason=reason(kind, error))
        return before(kind, error, trace)

    sys.excepthook = crashed


def reason(kind: type[BaseException], error: BaseException | None) -> str:
    """One line: `ValueError: message`."""
    try:
        text = " ".join(str(error).split())[:300]
    except Exception:  # an exception whose text cannot be made
        text = ""
    return f"{kind.__name__}: {text}" if text else kind.__name__


def traceback_of(error: BaseException | None) -> str:
    """The end of the traceback, for people who open the run and ask why it stopped."""
    if error is None:
        return ""
    try:
        return "".join(format_exception(error)).rstrip()[-TRACEBACK_CHARACTERS:]
    except Exception as problem:  # no handles left to read the lines, or an odd exception
        return f"{type(error).__name__}, without a traceback: {one_line(problem)}"


def _hook_sigterm() -> None:
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return  # torchrun, Ray and others have their own handler, which stays

    def terminated(number: int, frame: FrameType | None) -> None:
        for run in list(_open):
            run.finish(state="crashed", reason="SIGTERM")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, terminated)


def _in_child() -> None:
    for run in list(_open):
        run._after_fork()


def child_began(recorder: Recorder) -> None:
    """Finish the recorder of a forked child.

    Such children leave without atexit, but run finalizers.
    """
    from multiprocessing.util import Finalize

    Finalize(recorder, recorder.finish, args=("finished", None), exitpriority=100)


def _finish_with_child(run: Run) -> None:
    """Finish a run that a multiprocessing child began: such children leave without atexit too."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(run, run.finish, exitpriority=100)
