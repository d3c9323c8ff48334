"""`rollscope import`: find out what a path is, stream it into the store, remember how far it was read, say what was not taken."""

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
from rollscope.sources import Mark, Points, Records, Restart, Run, Skipped, recogniser

from .target import Target
from .traps import notes

Progress = Callable[[Path, int, int], None]
BORING = {".git", "__pycache__", "node_modules", ".venv", "site-packages"}


@dataclass(slots=True)
class Report:
    """What an import did."""

    runs: dict[str, dict[str, int]] = field(default_factory=dict)  # id -> values and rows that are new
    files: dict[str, str] = field(default_factory=dict)  # path -> source
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, target: Target) -> None:
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
    """What there is to read at a path: itself, or whatever is known below it. A folder that a source knows as a whole is not looked into."""
    try:
        yield from _jobs(path, path.resolve())
    except (OSError, RuntimeError) as error:  # a loop of links is either, by the version of Python
        yield Skipped(f"it cannot be looked at: {getattr(error, 'strerror', None) or error}", path)


def _jobs(path: Path, root: Path) -> Jobs:
    if not path.exists():
        yield Skipped("there is no such file or folder", path)
        return
    known = None if _is_ours(path) else recogniser(path)
    if _is_ours(path):
        yield Skipped(
            f"it is a run of Rollscope's own, and needs no import: rollscope show {path.name} --dir {path.parent}", path
        )
    elif known is not None:
        yield known, path
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
        if child.name in BORING or _is_ours(child) or (child.is_symlink() and not _leads_outside(child, root)):
            continue
        try:
            yield from (item for item in _jobs(child, root) if not (isinstance(item, Skipped) and _dull(item)))
        except OSError as error:
            yield Skipped(f"it cannot be read: {error.strerror or error}", child)


def _is_ours(path: Path) -> bool:
    """A run's folder as Rollscope keeps it: importing a folder that holds `runs/` must not read what it has just written."""
    return (path / "run.json").is_file() and any(child.suffix in (".log", ".sealed") for child in path.iterdir())


def _leads_outside(link: Path, root: Path) -> bool:
    """A link to what lies below the same folder (`latest-run`) would be read twice, one to a folder above it forever."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return not target.is_relative_to(root) and not root.is_relative_to(target) and target.is_file()


def _dull(item: Skipped) -> bool:
    """In a folder somebody pointed at, only files that look like logs are worth a word."""
    return not item.path.is_dir() and item.path.suffix.lower() not in (
        ".jsonl",
        ".csv",
        ".parquet",
        ".db",
        ".sqlite",
        ".wandb",
        ".duckdb",
        ".gz",
    )


def _unknown(path: Path) -> str:
    if not path.is_file():
        return "it is neither a file nor a folder"  # a pipe, which would keep us waiting
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        return f"it cannot be opened: {error.strerror}"
    if head[:2] == b"\x1f\x8b":
        return f"it is compressed. Unpack it first: gunzip -k {path.name}"
    return "the file is empty" if not head else f"not a format Rollscope knows (it begins with {head!r})"


class Importer:
    """Holds the open targets, so that following a growing file goes on in the same log."""

    def __init__(self, root: Path, progress: Progress = lambda path, done, total: None, live: bool = False) -> None:
        self.root = root
        self._progress = progress
        self._live = live
        self._targets: dict[tuple[str, str], Target] = {}
        self._cursors: dict[str, dict[str, Any]] = {}  # path -> run id -> where reading it goes on

    def take(self, paths: list[Path]) -> Report:
        report = Report()
        self._cursors = self._known()
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
        except Exception as error:  # a file of a kind that nobody has thought of must not cost the other files
            report.skipped.append(
                Skipped(
                    f"reading it as {source.NAMES[0]} failed ({error!r}); what came before is kept. Please report this",
                    path,
                )
            )
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
                case Run():
                    target = self._target(item)
                    used.append(target)
                case Points() | Records():
                    assert target is not None, f"{source.__name__} gave rows before it said of which run"
                    target.write(item)
                case Mark():
                    assert target is not None, f"{source.__name__} gave a mark before it said of which run"
                    target.commit(path, item.cursor)
                    self._progress(path, item.done, item.total)
                case Restart():
                    assert target is not None
                    target.forget(path)
                    report.skipped.append(Skipped(item.why, path))
                case Skipped():
                    report.skipped.append(item)

    def _target(self, run: Run) -> Target:
        key = (run.id, run.kind)
        if key not in self._targets:
            self._targets[key] = Target(self.root, run, self._live)
        self._targets[key].run = run
        return self._targets[key]

    def _known(self) -> dict[str, dict[str, Any]]:
        """How far each path was read by imports before, from the files beside the logs."""
        found: dict[str, dict[str, Any]] = {}
        for sidecar in self.root.glob("*/*.import.json"):
            with contextlib.suppress(ValueError):  # damaged: then the file is read anew
                for path, cursor in json.loads(sidecar.read_text(encoding="utf-8"))["files"].items():
                    found.setdefault(path, {})[sidecar.parent.name] = cursor
        return found

    def close(self) -> None:
        for target in self._targets.values():
            target.close()
        self._targets.clear()


def grown(paths: list[Path], seen: dict[str, tuple[int, int]]) -> bool:
    """Has any file below the paths changed since the last look? Remembers what it saw."""
    now = {}
    for path in paths:
        files = (
            [path] if path.is_file() else [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
        )
        for file in files:
            try:
                stat = file.stat()
            except OSError:
                continue
            now[str(file)] = (stat.st_size, stat.st_mtime_ns)
    changed = now != seen
    seen.clear()
    seen.update(now)
    return changed
