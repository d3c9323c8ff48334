"""Folders of runs with everything in them that people, disks and colleagues leave there."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

Spoil = Callable[[Path], object]
DEEP = "[" * 100_000 + "]" * 100_000


def _as_link(target: str) -> Spoil:
    return lambda path: (path.unlink(), path.symlink_to(target))


def _as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _huge(path: Path) -> None:
    """A sparse file of a terabyte."""
    with open(path, "r+b") as file:
        file.truncate(1 << 40)


def _nested(levels: int) -> str:
    return '{"config": ' + '{"a": ' * levels + "1" + "}" * levels + "}"


RUN_JSON: dict[str, Spoil] = {  # what `run.json` may be
    "a list nested without end": lambda path: path.write_text(DEEP),
    "a configuration nested 500 levels deep": lambda path: path.write_text(_nested(500)),
    "huge": _huge,
    "a pipe": _as_pipe,
    "a folder": _as_folder,
    "a link to a device": _as_link("/dev/zero"),
    "a link to nothing": _as_link("nowhere"),
    "a link to itself": _as_link("run.json"),
    "not UTF-8": lambda path: path.write_bytes(b'{"name": "\xff\xfe"}'),
    "cut short": lambda path: path.write_text('{"name": "x'),
    "empty": lambda path: path.write_text(""),
    "a list": lambda path: path.write_text("[1, 2]"),
    "a number of a million digits": lambda path: path.write_text('{"started_ns": ' + "9" * 1_000_000 + "}"),
    "of wrong types": lambda path: path.write_text(
        json.dumps(
            {"started_ns": "soon", "name": ["x"], "tags": 7, "config": "none", "attempts": {}, "step": 2**70}
            | {"declared": [1], "environment": True, "project": {"a": 1}, "steps_planned": "many"}
        )
    ),
}

FILES: dict[str, Spoil] = {  # what any other file of a run may be
    "huge": _huge,
    "a pipe": _as_pipe,
    "a folder": _as_folder,
    "a link to a device": _as_link("/dev/zero"),
    "a link to nothing": _as_link("nowhere"),
    "empty": lambda path: path.write_bytes(b""),
    "other bytes": lambda path: path.write_bytes(os.urandom(5000)),
}


def copies(good: Path, root: Path, *ids: str) -> None:
    """Runs of these ids with the files of one recorded run."""
    for id in ids:
        shutil.copytree(good, root / id)
