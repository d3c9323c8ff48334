"""A project's own folder, `.rollscope`, and the files in it."""

from __future__ import annotations

import os
from hashlib import sha256

from rollscope.errors import BadInput, CannotRead, NotFound
from rollscope.store import regular_file
from rollscope.store.listing.entries import is_run

NAME = ".rollscope"
MOST_FILES = 500
MOST_BYTES = 4 << 20  # of one file
_MADE = ("__pycache__", "access")  # Python makes one, `rollscope token` the other; nobody wrote them


def project_folder(root: str) -> str | None:
    """The folder whose `.rollscope` belongs to a folder of runs: itself, or the one around it."""
    runs = os.path.realpath(root)
    if is_run(runs):
        runs = os.path.dirname(runs)
    return next((path for path in (runs, os.path.dirname(runs)) if os.path.isdir(os.path.join(path, NAME))), None)


def named(folder: str) -> str:
    """The path of a folder that has a `.rollscope`, as a person named it."""
    path = os.path.realpath(folder)
    path = os.path.dirname(path) if os.path.basename(path) == NAME else path
    if not os.path.isdir(path):
        raise NotFound(f"there is no folder {path!r}")
    if not os.path.isdir(os.path.join(path, NAME)):
        raise NotFound(f"{path!r} has no folder {NAME!r}: nothing in it asks for trust")
    return path


def digests(folder: str) -> dict[str, str]:
    """Path inside `.rollscope` -> SHA-256 of the bytes, for every file of a project."""
    found = {path: sha256(read(folder, path)).hexdigest() for path in _paths(folder)}
    return dict(sorted(found.items()))


def read(folder: str, path: str) -> bytes:
    """The bytes of a file of a project; a sentence if it leads out of it or cannot be read."""
    inside = os.path.join(os.path.realpath(folder), NAME)
    whole = os.path.realpath(os.path.join(inside, path))
    if os.path.commonpath([inside, whole]) != inside:
        raise BadInput(f"{path!r} leads out of {inside!r}: keep the file itself there, not a link to it")
    try:
        return regular_file.read(whole, MOST_BYTES)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path!r} in {inside!r}") from None
    except OSError as error:
        raise CannotRead(f"{path!r} in {inside!r} cannot be read ({regular_file.why(error, named=False)})") from error


def _paths(folder: str) -> list[str]:
    inside = os.path.join(os.path.realpath(folder), NAME)
    found: list[str] = []
    for place, folders, files in os.walk(inside):
        folders[:] = [name for name in folders if name not in _MADE]
        found += [os.path.relpath(os.path.join(place, name), inside).replace(os.sep, "/") for name in files]
        if len(found) > MOST_FILES:
            raise BadInput(f"{inside!r} has more than {MOST_FILES} files; keep only viewers and rules in it")
    return found
