"""What an import says if it cannot store its rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rollscope.errors import CannotWrite


class Busy(CannotWrite):
    """Another process imports the same files into the same run."""


class Gone(CannotWrite):
    """Somebody removed the run that rows are added to."""


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Make an error of the disk that is written to a sentence about it, not about the file read."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        kept = "What was imported before is kept. Is the folder writable, and the disk not full?"
        raise CannotWrite(f"{str(root)!r} cannot be written ({why}). {kept}") from error
