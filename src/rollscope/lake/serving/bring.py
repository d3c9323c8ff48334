"""Bring a copy of a run's folder to given objects, each checked. Every file is fetched whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Sequence

from rollscope.lake.cache.bringing import fetched, set_time
from rollscope.lake.objects import Objects
from rollscope.lake.spool import Held, Object
from rollscope.store.log import files

ASIDE = ".aside"


def bring(objects: Objects, folder: str, held: Held, gone: Collection[str]) -> None:
    """Make a folder equal to what these objects are. Nobody else uses it meanwhile."""
    os.makedirs(folder, exist_ok=True)
    for name, parts in held.items():
        path = os.path.join(folder, name)
        if files.NAME.fullmatch(name):
            _grow(objects, path, parts)
        elif not _has(path, parts):
            _fetch(objects, path, parts)
            if os.path.dirname(name):  # a set: times tell whether a run is alive
                set_time(os.path.dirname(path), parts[0])
    for name in {name.split(os.sep)[0] for name in gone} - {name.split(os.sep)[0] for name in held}:
        _remove(os.path.join(folder, name))


def _grow(objects: Objects, path: str, parts: Sequence[Object]) -> None:
    """Append the bytes of a log that lie behind its end here."""
    here = os.path.getsize(path) if os.path.exists(path) else -1
    lacking = [part for part in parts if part.end > here]
    if not lacking:
        return
    with open(path, "r+b" if here >= 0 else "w+b") as file:
        for part in lacking:
            file.seek(part.start)
            file.writelines(fetched(objects, part))
    set_time(path, lacking[-1])


def _has(path: str, parts: Sequence[Object]) -> bool:
    with contextlib.suppress(OSError):
        status = os.stat(path)
        return (status.st_size, status.st_mtime_ns) == (parts[-1].end, parts[0].time_ns)
    return False


def _fetch(objects: Objects, path: str, parts: Sequence[Object]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    aside = os.path.join(os.path.dirname(path), ASIDE)
    with open(aside, "wb") as file:
        for part in parts:
            file.writelines(fetched(objects, part))
    set_time(aside, parts[0])
    os.replace(aside, path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
