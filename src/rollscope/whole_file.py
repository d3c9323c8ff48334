"""Write a file whole or not at all: a full disk leaves the file that was there, or none."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator

from .errors import CannotWrite


@contextlib.contextmanager
def written(path: str) -> Iterator[str]:
    """A name beside `path` to write to: it becomes `path` when the block ends, else it is removed.

    Raises CannotWrite for an error of the disk. A pipe or a device is written to as it is.
    """
    real = os.path.realpath(path)
    is_file = not os.path.exists(path) or os.path.isfile(path)  # asked of the name: a pipe's real one is no path
    aside = f"{real}.{secrets.token_hex(4)}.part" if is_file else path
    try:
        yield aside
        if is_file:
            with contextlib.suppress(OSError):  # who may read a file that was there does not change
                os.chmod(aside, stat.S_IMODE(os.stat(real).st_mode))
            os.replace(aside, real)
    except BaseException as error:
        if is_file:
            with contextlib.suppress(OSError):
                os.unlink(aside)
        if isinstance(error, OSError):
            raise CannotWrite(f"{path!r} cannot be written ({_why(error, real)}); nothing of it was kept") from error
        raise


def _why(error: OSError, path: str) -> str:
    """What the system says. Arrow wraps it into a sentence of its own."""
    if error.errno == errno.ENOENT and not os.path.isdir(folder := os.path.dirname(path)):
        return f"there is no folder {folder!r}"
    return os.strerror(error.errno) if error.errno else str(error)
