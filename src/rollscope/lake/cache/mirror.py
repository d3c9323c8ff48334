"""A run's folder in the cache: its facts, its logs, and the manifests of its sets.

Sets and logs never change, so a second look fetches only what was shipped since. A set appears
whole or not at all, and a log grows from its end; the rows of a set are fetched when they are read.
Several processes may fetch the same run at once: they write the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Collection

from rollscope.lake import place as places
from rollscope.lake.door import OF
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.lake.spool import Held, Object
from rollscope.store.listing.entries import HOME
from rollscope.store.log import files
from rollscope.store.sealed import elsewhere
from rollscope.store.sealed.manifest import NAMES

from .bringing import ASIDE, Bringing, fetch_to, fetched, listed, set_time, write_list


def root_of(place: Place) -> str:
    """The cache of a lake: `ROLLSCOPE_CACHE`, else `~/.cache/rollscope`."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    root = os.environ.get("ROLLSCOPE_CACHE") or os.path.join(home, "rollscope")
    return os.path.join(os.path.abspath(root), f"lake-{place.id}")


def prepare(place: Place) -> str:
    """Make the cache of a lake, so that files which are read in it are fetched; return its path."""
    root = root_of(place)
    os.makedirs(os.path.join(root, HOME), exist_ok=True)
    aside = os.path.join(root, HOME, ASIDE + secrets.token_hex(8))
    with open(aside, "w", encoding="utf-8") as file:
        file.write(os.path.abspath(place.folder))
    os.replace(aside, os.path.join(root, OF))
    elsewhere.register(root, Bringing(place, root))
    return root


def join(path: str) -> None:
    """If a folder is the cache of a lake, fetch what is read in it. Other folders stay as they are.

    A folder that merely says it is a cache is none: it must lie where the cache of its lake lies.
    """
    try:
        with open(os.path.join(path, OF), encoding="utf-8") as file:
            place = places.read(file.read())
    except FileNotFoundError:
        return
    if os.path.realpath(root_of(place)) == os.path.realpath(path):
        elsewhere.register(path, Bringing(place, root_of(place)))


def refresh(objects: Objects, folder: str, held: Held, gone: Collection[str] = ()) -> bool:
    """Make a folder equal to what the lake holds of a run; True if anything was new.

    What the run has no more is removed. What the lake never held stays: a note written here.
    """
    os.makedirs(folder, exist_ok=True)
    changed = False
    sets: dict[str, dict[str, Object]] = {}
    for name, parts in held.items():
        if os.path.dirname(name):
            sets.setdefault(os.path.dirname(name), {})[os.path.basename(name)] = parts[0]
        elif files.NAME.fullmatch(name):
            changed |= _grow(objects, os.path.join(folder, name), parts)
        else:
            changed |= _replace(objects, os.path.join(folder, name), parts[0])
    for name, of_set in sets.items():
        changed |= _add_set(objects, os.path.join(folder, name), of_set)
    return _remove_gone(folder, held, gone) or changed


def remove(folder: str) -> None:
    """Remove a run that the lake has no more."""
    shutil.rmtree(folder, ignore_errors=True)


def _grow(objects: Objects, path: str, parts: list[Object]) -> bool:
    """Fetch the bytes of a log that lie behind its end here."""
    here = os.path.getsize(path) if os.path.exists(path) else -1
    lacking = [part for part in parts if part.end > here]
    if not lacking:
        return False
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        for part in lacking:
            _write(fd, part.start, b"".join(fetched(objects, part)))  # whole and checked before a reader sees it
    finally:
        os.close(fd)
    set_time(path, lacking[-1])
    return True


def _write(fd: int, at: int, data: bytes) -> None:
    while data:
        written = os.pwrite(fd, data, at)
        at, data = at + written, data[written:]


def _replace(objects: Objects, path: str, part: Object) -> bool:
    """Fetch a small file whole, if it differs."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        if (status.st_size, status.st_mtime_ns) == (part.bytes, part.time_ns):
            return False
    fetch_to(objects, path, part)
    return True


def _add_set(objects: Objects, path: str, of_set: dict[str, Object]) -> bool:
    """Fetch the manifests of a set aside, then give it its name by one rename."""
    later = {name: part for name, part in of_set.items() if name not in NAMES}
    if os.path.isdir(path):
        return _relisted(path, later)
    aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    os.mkdir(aside)
    try:
        for name in NAMES:
            if name in of_set:
                fetch_to(objects, os.path.join(aside, name), of_set[name])
        write_list(aside, later)
        set_time(aside, next(iter(of_set.values())))
        with contextlib.suppress(OSError):  # another process was faster, with the same bytes
            os.rename(aside, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True


def _relisted(path: str, later: dict[str, Object]) -> bool:
    """Take over another list of files, and remove those that are not in it any more."""
    known = listed(path)
    if known == later:
        return False
    write_list(path, later)
    for name in known.keys() - later.keys():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(path, name))
    return True


def _remove_gone(folder: str, held: Held, gone: Collection[str]) -> bool:
    """Remove logs and sets that the run has no more."""
    kept = {name.split(os.sep)[0] for name in held}
    lost = {name.split(os.sep)[0] for name in gone} - kept
    there = [path for path in (os.path.join(folder, name) for name in lost) if os.path.lexists(path)]
    for path in there:
        _remove(path)
    return bool(there)


def _remove(path: str) -> None:
    aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, aside)
        shutil.rmtree(aside) if os.path.isdir(aside) else os.unlink(aside)
