"""A run's files in the local cache: fetched once, checked against their checksums.

Sets and logs never change, so a second look fetches only what was shipped since. A set appears
whole or not at all, and a log grows from its end. Several processes may fetch the same run at once:
they write the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator

from rollscope.errors import CorruptFile
from rollscope.store.log import files

from .objects import CHUNK, Objects
from .place import Place
from .spool import Held, Object

ASIDE = ".aside-"


def root_of(place: Place) -> str:
    """The cache of a lake: `ROLLSCOPE_CACHE`, else `~/.cache/rollscope`."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.environ.get("ROLLSCOPE_CACHE") or os.path.join(home, "rollscope"), f"lake-{place.id}")


def refresh(objects: Objects, folder: str, held: Held, gone: Collection[str] = ()) -> bool:
    """Make a folder equal to what the lake holds of a run; True if anything was new.

    What the run has no more is removed. What the lake never held stays: a note written here.
    """
    os.makedirs(folder, exist_ok=True)
    changed = False
    sets: dict[str, Held] = {}
    for name, parts in held.items():
        if os.path.dirname(name):
            sets.setdefault(os.path.dirname(name), {})[name] = parts
        elif files.NAME.fullmatch(name):
            changed |= _grow(objects, os.path.join(folder, name), parts)
        else:
            changed |= _replace(objects, os.path.join(folder, name), parts[0])
    for name, of_set in sets.items():
        changed |= _add_set(objects, folder, name, of_set)
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
    _set_time(path, lacking[-1])
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
    aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    _fetch_to(objects, aside, part)
    os.replace(aside, path)
    return True


def _add_set(objects: Objects, folder: str, name: str, of_set: Held) -> bool:
    """Fetch a sealed set aside, then give it its name by one rename."""
    path = os.path.join(folder, name)
    if all(_has(os.path.join(folder, file), parts[0]) for file, parts in of_set.items()):
        return False
    aside = os.path.join(folder, ASIDE + secrets.token_hex(8))
    os.mkdir(aside)
    try:
        for file, parts in of_set.items():
            _fetch_to(objects, os.path.join(aside, os.path.basename(file)), parts[0])
        _set_time(aside, next(iter(of_set.values()))[0])
        _remove(path)
        with contextlib.suppress(OSError):  # another process was faster, with the same bytes
            os.rename(aside, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True


def _has(path: str, part: Object) -> bool:
    try:
        return os.stat(path).st_size == part.bytes
    except OSError:
        return False


def _fetch_to(objects: Objects, path: str, part: Object) -> None:
    with open(path, "wb") as sink:
        for chunk in fetched(objects, part):
            sink.write(chunk)
    _set_time(path, part)


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


def _set_time(path: str, part: Object) -> None:
    """Files keep their times, which tell whether a run is alive."""
    os.utime(path, ns=(part.time_ns, part.time_ns))


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
