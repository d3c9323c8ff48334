"""Break our own code inside a framework's training: every hook, every call of the run, the disk.

`install()` comes before the source is imported. A training is undisturbed if it ends as it does
without a fault.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

MODES = ("setup", "before", "after", "run", "disk", "renamed")  # the last one for veRL's batches
SETUP = (
    "calling_trainer",
    "_begin",
    "_listen",
    "watch",
    "_watch",
    "begin",
    "_made",
    "__init__",
)  # what makes the hooks
RUN = ("log", "log_samples", "log_span", "commit", "note", "should_stop", "finish")
FREE = 20_000  # bytes that a full disk still takes
now = {"mode": ""}


def install() -> None:
    """Put a fault into every function that is guarded, to be switched on by `broken`."""
    import rollscope.sources.live.quiet as guard

    guarded = guard.quiet
    guard.quiet = lambda function: guarded(_failing(function))


def _failing(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__name__", "")

    @functools.wraps(function)
    def failing(*args: Any, **kwargs: Any) -> Any:
        if now["mode"] == ("setup" if name in SETUP else "before"):
            raise RuntimeError("a bug of ours")
        result = function(*args, **kwargs)
        if now["mode"] == "after" and name not in SETUP:
            raise RuntimeError("a bug of ours")
        return result

    return failing


@contextlib.contextmanager
def broken(mode: str, folder: str) -> Iterator[None]:
    """Our code with a fault, while a training records into a folder."""
    now["mode"] = mode
    with contextlib.ExitStack() as stack:
        if mode == "run":
            stack.enter_context(_broken_run())
        if mode == "renamed":
            stack.enter_context(_renamed_fields())
        if mode == "disk":
            stack.enter_context(_full_disk(os.path.realpath(folder)))
        yield
    now["mode"] = ""


@contextlib.contextmanager
def _broken_run() -> Iterator[None]:
    from rollscope.record.run import Run

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug of ours")

    real = {name: getattr(Run, name) for name in RUN}
    for name in RUN:
        setattr(Run, name, fail)
    try:
        yield
    finally:
        for name, method in real.items():
            setattr(Run, name, method)


@contextlib.contextmanager
def _renamed_fields() -> Iterator[None]:
    """Batches as a version of veRL would give them that calls most fields otherwise."""
    from rollscope.sources.verl import batch

    known, batch.FIELDS = batch.FIELDS, ("prompts",)
    try:
        yield
    finally:
        batch.FIELDS = known


@contextlib.contextmanager
def _full_disk(folder: str) -> Iterator[None]:
    """Below this folder the disk takes some bytes, then no more."""
    real, left = {name: getattr(os, name) for name in ("write", "writev")}, [FREE]

    def writing(name: str) -> Callable[..., int]:
        def write(fd: int, data: Any) -> int:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(folder):
                left[0] -= sum(map(len, data)) if name == "writev" else len(data)
                if left[0] < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return int(real[name](fd, data))

        return write

    for name in real:
        setattr(os, name, writing(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)
