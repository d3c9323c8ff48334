"""`rollscope import`: find each path's source, stream its rows into the store, report the rest.

The position in each file is stored, so that the next import continues there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.sources import Mark, Points, Records, Restart, RunStart, Skipped, recogniser

from .target import Target
from .traps import notes

Progress = Callable[[Path, int, int], None]
IGNORED = {".git", "__pycache__", "node_modules", ".venv", "site-packages"}
LOGS = (
    ".jsonl",
    ".csv",
    ".parquet",
    ".db",
    ".sqlite",
    ".wandb",
    ".duckdb",
    ".gz",
)  # suffixes of files that look like logs


@dataclass(slots=True)
class Report:
    """The result of an import."""

    runs: dict[str, dict[str, int]] = field(default_factory=dict)  # id -> number of new values and rows
    files: dict[str, str] = field(default_factory=dict)  # path -> source
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, target: Target) -> None:
        """Add the counts of a target, and reset them."""
        run = self.runs.setdefault(target.run.id, {"values": 0, "rows": 0})
        run["values"] += target.values
        run["rows"] += target.rows
        target.values = target.rows = 0

    def json(self) -> dict[str, Any]:
        skipped = [{"path": str(s.path), "offset": s.offset, "why": s.why} for s in self.skipped]
        return {
            "runs": [{"id": id, **counts} for id, counts in self.runs.items()],
            "files": self.files,
            "skipped": skipped,
        }


Jobs = Iterator[tuple[ModuleType, Path] | Skipped]


def jobs(path: Path) -> Jobs:
    """The (source, path) pairs to read at a path: the path itself, or known files below it.

    A folder that a source recognises is one job; its files are not listed.
    """
    try:
        yield from _jobs(path, path.resolve())
    except (OSError, RuntimeError) as error:  # a loop of links raises either, depending on the Python version
        yield Skipped(f"it cannot be opened: {getattr(error, 'strerror', None) or error}", path)


def _jobs(path: Path, root: Path) -> Jobs:
    if not path.exists():
        yield Skipped("there is no such file or folder", path)
        return
    if _is_ours(path):
        show = f"rollscope show {path.name} --dir {path.parent}"
        yield Skipped(f"it is already a run of Rollscope and needs no import: {show}", path)
    elif (source := recogniser(path)) is not None:
        yield source, path
    elif path.is_dir():
        yield from _below(path, root)
    else:
        yield Skipped(_unknown(path), path)


def _below(folder: Path, root: Path) -> Jobs:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        yield Skipped(f"the folder cannot be listed: {error.strerror}", folder)
        return
    for child in children:
        if child.name in IGNORED or _is_ours(child) or (child.is_symlink() and not _leads_outside(child, root)):
            continue
        try:
            yield from (item for item in _jobs(child, root) if not (isinstance(item, Skipped) and _is_no_log(item)))
        except OSError as error:
            yield Skipped(f"it cannot be read: {error.strerror or error}", child)


def _is_ours(path: Path) -> bool:
    """True for a run folder of Rollscope, which an import of its parent must not read."""
    return (path / "run.json").is_file() and any(child.suffix in (".log", ".sealed") for child in path.iterdir())


def _leads_outside(link: Path, root: Path) -> bool:
    """True for a link to a file outside the root.

    A link to below the root (`latest-run`) would be read twice, one to above it forever.
    """
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return not target.is_relative_to(root) and not root.is_relative_to(target) and target.is_file()


def _is_no_log(item: Skipped) -> bool:
    """True for a file that does not look like a log; below a folder it is not reported."""
    return not item.path.is_dir() and item.path.suffix.lower() not in LOGS


def _unknown(path: Path) -> str:
    if not path.is_file():
        return "it is neither a file nor a folder"  # reading a pipe would block
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        return f"it cannot be opened: {error.strerror}"
    if head[:2] == b"\x1f\x8b":
        return f"it is compressed. Unpack it first: gunzip -k {path.name}"
    return "the file is empty" if not head else f"not a format Rollscope knows (it begins with {head!r})"


class Importer:
    """Imports paths into a folder of runs.

    Keeps its targets open, so that a growing file goes to one log.
    """

    def __init__(self, root: Path, progress: Progress = lambda path, done, total: None, live: bool = False) -> None:
        self.root = root
        self._progress = progress
        self._live = live
        self._targets: dict[tuple[str, str], Target] = {}
        self._cursors: dict[str, dict[str, Any]] = {}  # path -> run id -> cursor

    def take(self, paths: list[Path]) -> Report:
        """Import everything that is new at these paths."""
        report = Report()
        self._cursors = self._stored_cursors()
        for path in paths:
            for job in jobs(path.absolute()):
                if isinstance(job, Skipped):
                    report.skipped.append(job)
                else:
                    self._take(*job, report)
        for target in self._targets.values():
            target.save()
        return report

    def _take(self, source: ModuleType, path: Path, report: Report) -> None:
        report.files[str(path)] = source.NAMES[0]
        used: list[Target] = []
        try:
            self._stream(source, path, report, used)
        except RollscopeError as error:
            report.skipped.append(Skipped(str(error), path))
        except OSError as error:
            report.skipped.append(Skipped(f"it cannot be read: {error.strerror or error}", path))
        except Exception as error:  # one unexpected file must not lose the others
            failed = f"reading it as {source.NAMES[0]} failed ({error!r})"
            report.skipped.append(Skipped(f"{failed}; what came before is kept. Please report this", path))
        for target in dict.fromkeys(used):
            for note in notes(target.run, target.names):
                target.write(note)
                target.commit(path, target.cursor(path))
            target.names.clear()
            self._cursors.setdefault(str(path), {})[target.run.id] = target.cursor(path)
            report.add(target)

    def _stream(self, source: ModuleType, path: Path, report: Report, used: list[Target]) -> None:
        target: Target | None = None
        known = self._cursors.get(str(path), {})
        for item in source.rows(path, {id: cursor for id, cursor in known.items() if cursor is not None}):
            match item:
                case RunStart():
                    target = self._target(item)
                    used.append(target)
                case Points() | Records():
                    assert target is not None, f"{source.__name__} yielded rows before a RunStart"
                    target.write(item)
                case Mark():
                    assert target is not None, f"{source.__name__} yielded a mark before a RunStart"
                    target.commit(path, item.cursor)
                    self._progress(path, item.done, item.total)
                case Restart():
                    assert target is not None
                    target.forget(path)
                    report.skipped.append(Skipped(item.why, path))
                case Skipped():
                    report.skipped.append(item)

    def _target(self, run: RunStart) -> Target:
        key = (run.id, run.kind)
        if key not in self._targets:
            self._targets[key] = Target(self.root, run, self._live)
        self._targets[key].run = run
        return self._targets[key]

    def _stored_cursors(self) -> dict[str, dict[str, Any]]:
        """The cursors of earlier imports, from the files beside the logs."""
        cursors: dict[str, dict[str, Any]] = {}
        for sidecar in self.root.glob("*/*.import.json"):
            with contextlib.suppress(ValueError):  # damaged: the files are read from the start
                for path, cursor in json.loads(sidecar.read_text(encoding="utf-8"))["files"].items():
                    cursors.setdefault(path, {})[sidecar.parent.name] = cursor
        return cursors

    def close(self) -> None:
        for target in self._targets.values():
            target.close()
        self._targets.clear()


def grown(paths: list[Path], seen: dict[str, tuple[int, int]]) -> bool:
    """True if any file below the paths changed since the last call; `seen` is updated."""
    now = {}
    for path in paths:
        below = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
        for file in [path] if path.is_file() else below:
            with contextlib.suppress(OSError):
                stat = file.stat()
                now[str(file)] = (stat.st_size, stat.st_mtime_ns)
    changed = now != seen
    seen.clear()
    seen.update(now)
    return changed
