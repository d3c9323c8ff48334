"""Fetch a file of a set when it is first read, checked against its checksum.

Beside the manifests of a set lies a list of the objects that its other files are. Several processes
may fetch the same file at once: each writes its own copy aside, and the same bytes get the name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import astuple

from rollscope.errors import CorruptFile
from rollscope.lake.objects import CHUNK, Objects
from rollscope.lake.place import Place
from rollscope.lake.spool import Object
from rollscope.store import regular_file
from rollscope.store.sealed.manifest import SUFFIX

from .bound import Bound

LIST = ".objects.json"
ASIDE = ".aside-"
ROWS = ".parquet"


class Bringing:
    """The files of the runs of one lake, for `store.sealed.elsewhere`."""

    def __init__(self, place: Place, root: str) -> None:
        self._objects, self._bound = Objects(place), Bound(root)

    def bring(self, path: str) -> bool:
        """Fetch a file of a set; False if the lake has none."""
        part = listed(os.path.dirname(path)).get(os.path.basename(path))
        if part is None:
            return False
        self._bound.make_room(part.bytes)
        fetch_to(self._objects, path, part)
        return True

    def lacks(self, run: str) -> bool:
        """True if a file with rows of a run has not been fetched."""
        with contextlib.suppress(OSError), os.scandir(run) as found:
            return any(_lacks(entry.path) for entry in found if entry.name.endswith(SUFFIX))
        return False


def _lacks(folder: str) -> bool:
    names = set(os.listdir(folder))
    return any(name.endswith(ROWS) and name not in names for name in listed(folder))


def listed(folder: str) -> dict[str, Object]:
    """The objects of the files of a set that are fetched when they are read."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        said = regular_file.read_json(os.path.join(folder, LIST))
        return {name: Object(*fields) for name, fields in said.items()}
    return {}


def write_list(folder: str, files: dict[str, Object]) -> None:
    """Write the list of a set, whole or not at all."""
    aside = os.path.join(folder, ASIDE + secrets.token_hex(8))
    with open(aside, "w", encoding="ascii") as file:
        json.dump({name: astuple(part) for name, part in files.items()}, file)
    os.replace(aside, os.path.join(folder, LIST))


def fetch_to(objects: Objects, path: str, part: Object) -> None:
    """Fetch an object into a file, which appears whole and checked."""
    aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    try:
        with open(aside, "wb") as sink:
            for chunk in fetched(objects, part):
                sink.write(chunk)
        set_time(aside, part)
        os.replace(aside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)


def set_time(path: str, part: Object) -> None:
    """Files keep their times, which tell whether a run is alive."""
    os.utime(path, ns=(max(part.time_ns, os.stat(path).st_atime_ns), part.time_ns))


def fetched(objects: Objects, part: Object) -> Iterator[bytes]:
    """The bytes of an object. Raises CorruptFile behind the last one if they are not as shipped."""
    digest, size = hashlib.sha256(), 0
    try:
        with objects.opened(part.key) as source:
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
                yield chunk
    except FileNotFoundError:
        raise CorruptFile(f"the lake has lost the object {part.key}: {_advice(part)}") from None
    if size != part.bytes or digest.hexdigest() != part.sha256:
        raise CorruptFile(f"the object {part.key} of the lake was altered, its checksum differs: {_advice(part)}")


def _advice(part: Object) -> str:
    return f"{part.name} cannot be read. See `rollscope lake check`; delete the run from the lake and push it again."
