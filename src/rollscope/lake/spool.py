"""The files of a run's folder that are shipped, and which of their bytes the lake lacks.

A log only grows, so its new bytes are shipped. Every other file is shipped whole when it differs:
files of a sealed set never change, and `run.json` is replaced at a resume.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from rollscope.store import regular_file
from rollscope.store.log import files
from rollscope.store.run_json import NAME as RUN_JSON
from rollscope.store.sealed.select import listed

from .objects import Stretch

PIECE = 16 << 20  # bytes of a log in one object, and of what a server takes at once
ADDED = "added"
SMALL = re.compile(r"[0-9a-f]{16}\.(counters|open)\.json")


@dataclass(frozen=True, slots=True)
class Object:
    """Bytes of a file of a run that the lake holds: all of it, or a stretch of a log.

    `kind` is `whole`, `range`, or `gone` for a file that the folder has no more. `added` is like
    `range`, of a log that was made from the lake, so the folder never had it.
    """

    name: str
    kind: str
    start: int
    bytes: int
    sha256: str
    key: str
    time_ns: int

    @property
    def end(self) -> int:
        return self.start + self.bytes


Held = dict[str, list[Object]]  # file -> its objects, in order


def held(objects: list[Object]) -> Held:
    """The files that objects make up, which are given in the order they were shipped."""
    found: Held = {}
    for object in objects:
        if object.kind == "gone":
            found.pop(object.name, None)
        elif object.kind == "whole":
            found[object.name] = [object]
        else:
            found.setdefault(object.name, []).append(object)
    return found


def names(run: str) -> list[str]:
    """The files of a run, relative to its folder: small ones, then sets, then logs."""
    with os.scandir(run) as entries:
        small = sorted(e.name for e in entries if e.name == RUN_JSON or SMALL.fullmatch(e.name))
    sets = [os.path.join(os.path.basename(path), name) for path in listed(run) for name in sorted(os.listdir(path))]
    found = [*small, *sets, *files.listed(run)]
    return [name for name in found if regular_file.is_regular(os.path.join(run, name))]


def missing(run: str, names: Iterable[str], there: Held, prefix: str) -> Iterator[tuple[Object, Stretch]]:
    """The objects of some files that the lake lacks, each with its bytes.

    Raises FileNotFoundError or EOFError for a file that was sealed or merged meanwhile.
    """
    for name in names:
        path = os.path.join(run, name)
        status = os.stat(path)
        known = there.get(name, [])
        if files.NAME.fullmatch(name):
            yield from _growth(name, path, status, known, prefix)
        elif not known or (known[0].bytes, known[0].time_ns) != (status.st_size, status.st_mtime_ns):
            whole = _whole(name, path, status, prefix)
            if not known or known[0].sha256 != whole[0].sha256:
                yield whole


def _whole(name: str, path: str, status: os.stat_result, prefix: str) -> tuple[Object, Stretch]:
    stretch = Stretch(path, 0, status.st_size)
    return _object(name, "whole", stretch, status, prefix), stretch


def _growth(
    name: str, path: str, status: os.stat_result, known: list[Object], prefix: str
) -> Iterator[tuple[Object, Stretch]]:
    at = known[-1].end if known else 0
    while at < status.st_size:
        stretch = Stretch(path, at, min(PIECE, status.st_size - at))
        yield _object(name, "range", stretch, status, prefix), stretch
        at += stretch.size


def _object(name: str, kind: str, stretch: Stretch, status: os.stat_result, prefix: str) -> Object:
    sha256 = stretch.sha256()
    key = f"{prefix}/{name}/{stretch.start}-{sha256[:16]}"
    return Object(name, kind, stretch.start, stretch.size, sha256, key, status.st_mtime_ns)


def gone(run: str, there: Mapping[str, list[Object]]) -> list[Object]:
    """An object for each file that the folder has no more, because its set was merged."""
    here = set(names(run))
    lost = [name for name, parts in there.items() if name not in here and parts[0].kind != ADDED]
    return [Object(name, "gone", 0, 0, "", "", 0) for name in lost]


def added(object: Object) -> Object:
    """The same bytes of a log that the folder of the run never had."""
    return replace(object, kind=ADDED)


def prefix_of(project: str, run: str) -> str:
    """Where the objects of a run lie."""
    return f"runs/{quote(project, safe='') or '-'}/{quote(run, safe='')}"
