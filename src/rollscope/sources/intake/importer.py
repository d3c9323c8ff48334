"""`rollscope import`: a locked process reads a path, its rows are stored, the rest is reported.

The position in each file is stored, so that the next import continues there. A file whose reading
was ended (a limit, a crash of the reading process) adds nothing behind its last complete part.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollscope.errors import CannotWrite
from rollscope.sources import Item, Keep, Mark, Points, Records, Restart, RunStart, Skipped, SourceError
from rollscope.sources.sandbox.limits import UNLIMITED, Limits
from rollscope.sources.sandbox.reader import Broken, Ended, Reader

from .entries import children, grown, looks_like_a_log, refusal, signature, unknown
from .evaluation import content_digest
from .media import keep
from .report import Report

if TYPE_CHECKING:
    from .into import Into, Placed
    from .target import Target

__all__ = ["Importer", "Report", "grown"]

Progress = Callable[[Path, int, int], None]
OPEN = 64  # logs that are open at the same time


class Importer:
    """Imports paths into a folder of runs. A growing file goes to one log, which stays open."""

    def __init__(
        self,
        root: Path,
        progress: Progress = lambda path, done, total: None,
        live: bool = False,
        trust: bool = False,
        limits: Limits | None = None,
        into: Into | None = None,
    ) -> None:
        """`trust` lifts the limits of memory, time and size and follows links out of a folder.

        With `into`, evaluations go to a run that is there, and nothing else is imported.
        """
        self._into = into
        self._placed: Placed | None = None
        self.root = root
        self._progress = progress
        self._live = live
        self._trust = trust
        self._reader = Reader(limits or (UNLIMITED if trust else Limits()), everywhere=trust)
        self._targets: dict[tuple[str, str], Target] = {}
        self._cursors: dict[str, dict[str, Any]] = {}  # path -> run id -> cursor
        self._ended: dict[str, tuple[tuple[int, int], Skipped]] = {}  # path -> signature, why reading it was ended

    def take(self, paths: list[Path]) -> Report:
        """Import everything that is new at these paths."""
        report = Report()
        paths = [path.absolute() for path in paths]
        self._reader.prepare(paths)
        self._cursors = self._stored_cursors()
        for target in self._targets.values():  # a full disk may not have taken their last cursors
            for path, cursor in target.cursors().items():
                self._cursors.setdefault(path, {})[target.run.id] = cursor
        for given in paths:
            self._walk(given, report)
        for target in self._targets.values():
            with _writing(self.root):
                target.save()
        return report

    def _walk(self, given: Path, report: Report) -> None:
        """Import a path, or the known files below it. A folder of a source is not looked into."""
        todo: list[Path | Skipped] = [given]
        while todo:
            path = todo.pop()
            if isinstance(path, Skipped):
                report.skipped.append(path)
            elif (why := refusal(path)) is not None:
                if path == given or looks_like_a_log(path):
                    report.skipped.append(Skipped(why, path))
            elif self._take(path, report):
                continue
            elif path.is_dir():
                todo += reversed(list(children(path, given.resolve(), self._trust)))
            elif path == given or looks_like_a_log(path):
                report.skipped.append(Skipped(unknown(path), path))

    def _take(self, path: Path, report: Report) -> bool:
        """Import one file or folder; False if no source knows it."""
        if (ended := self._ended.get(str(path))) is not None and ended[0] == signature(path):
            report.skipped.append(ended[1])
            return True
        used: list[Target] = []
        known = True
        try:
            known = self._stream(path, report, used) if self._into is None else self._add(path, report, used)
        except CannotWrite:
            self._take_back(used)
            raise
        except Ended as error:
            self._undo(path, error, report, used)
        except SourceError as error:
            report.skipped.append(Skipped(str(error), path))
        except OSError as error:
            report.skipped.append(Skipped(f"it cannot be read: {error.strerror or error}", path))
        except Exception as error:  # one unexpected file must not lose the others
            reason = str(error) if isinstance(error, Broken) else repr(error)
            failed = f"reading it as {report.files.get(str(path), 'a log')} failed ({reason})"
            report.skipped.append(Skipped(f"{failed}; what came before is kept. Please report this", path))
        with _writing(self.root):
            for target in dict.fromkeys(used):
                self._settle(target, path, report)
            self._close_oldest()
        return known

    def _stream(self, path: Path, report: Report, used: list[Target]) -> bool:
        cursors = self._cursors.get(str(path), {})
        since = {id: cursor for id, cursor in cursors.items() if cursor is not None}
        known = False
        for item in self._reader.read(path, since):
            if isinstance(item, str):
                report.files[str(path)] = item
                known = True
            else:
                with _writing(self.root):
                    self._put(item, path, report, used)
        return known

    def _add(self, path: Path, report: Report, used: list[Target]) -> bool:
        """Import the evaluations of a file into the run, unless they are there."""
        from .into import KIND, Placed

        into = self._into
        assert into is not None
        if path.is_dir():
            return False
        target = self._target(into.start(content_digest(path)))
        used.append(target)
        if (held := target.any_cursor()) is not None:
            report.files[str(path)] = KIND
            if held.get("step") != into.step:
                why = f"run {into.run} has these evaluations already, at step {held.get('step')}"
                report.skipped.append(Skipped(why, path))
            return True
        self._placed = Placed(into)
        return self._stream(path, report, used)

    def _put(self, item: Item, path: Path, report: Report, used: list[Target]) -> None:
        if isinstance(item, RunStart):
            if self._into is None:
                used.append(self._target(item))
            return
        if isinstance(item, Skipped):
            report.skipped.append(item)
            return
        if not used:
            raise Ended("its rows come before their run")
        target = used[-1]
        if self._placed is not None and isinstance(item, Points | Records | Mark):
            self._place(item, path, target, report, self._placed)
            return
        match item:
            case Points():
                target.write(item)
            case Records():
                report.skipped += [Skipped(why, path) for why in target.write_rows(item)]
            case Mark():
                target.commit(path, item.cursor)
                self._progress(path, item.done, item.total)
            case Restart():
                target.forget(path)
                report.skipped.append(Skipped(item.why, path))
            case Keep() if (why := keep(path, target.folder / "media", item.name)) is not None:
                report.skipped.append(Skipped(why, path))

    def _place(self, item: Points | Records | Mark, path: Path, target: Target, report: Report, placed: Placed) -> None:
        if not isinstance(item, Mark):
            report.skipped += [Skipped(why, path) for why in target.write_rows(placed.place(item))]
        elif placed.rows:
            for points in placed.metrics():
                target.write(points)
            target.commit(path, {"step": placed.into.step})

    def _target(self, run: RunStart) -> Target:
        from .target import Target

        key = (run.id, run.kind)
        guest = None if self._into is None else self._into.attempt
        target = self._targets.pop(key, None) or Target(self.root, run, self._live, guest)
        self._targets[key] = target  # the last one is the one that was used last
        target.run = run
        return target

    def _settle(self, target: Target, path: Path, report: Report) -> None:
        """Add the catalogue's notes to a run, keep its cursor, and report what is new in it."""
        from .traps import notes

        for note in notes(target.run, target.names) if self._into is None else ():
            target.write(note)
            target.commit(path, target.cursor(path))
        target.names.clear()
        self._cursors.setdefault(str(path), {})[target.run.id] = target.cursor(path)
        report.add(target)

    def _undo(self, path: Path, error: Ended, report: Report, used: list[Target]) -> None:
        """Drop what came after the last mark, and do not read the file again until it changes."""
        skipped = Skipped(str(error), path)
        report.skipped.append(skipped)
        with contextlib.suppress(OSError):
            self._ended[str(path)] = (signature(path), skipped)
        self._take_back(used)

    def _take_back(self, used: list[Target]) -> None:
        """Drop what these runs got after the last mark."""
        for target in dict.fromkeys(used):
            target.undo()
            if target.is_empty():
                del self._targets[target.run.id, target.run.kind]
                used[:] = [other for other in used if other is not target]

    def _close_oldest(self) -> None:
        """Close logs if many are open: there may be thousands of runs. Followed runs stay open."""
        while len(self._targets) > OPEN and not self._live:
            self._targets.pop(next(iter(self._targets))).close()

    def _stored_cursors(self) -> dict[str, dict[str, Any]]:
        """The cursors of earlier imports, from the files beside the logs."""
        cursors: dict[str, dict[str, Any]] = {}
        for sidecar in self.root.glob("*/*.import.json"):
            with contextlib.suppress(ValueError):  # damaged: the files are read from the start
                for path, cursor in json.loads(sidecar.read_text(encoding="utf-8"))["files"].items():
                    cursors.setdefault(path, {})[sidecar.parent.name] = cursor
        return cursors

    def close(self) -> None:
        self._reader.close()
        with _writing(self.root):
            for target in self._targets.values():
                target.close()
        self._targets.clear()


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    """Make an error of the disk that is written to a sentence about it, not about the file read."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        kept = "What was imported before is kept. Is the folder writable, and the disk not full?"
        raise CannotWrite(f"{str(root)!r} cannot be written ({why}). {kept}") from error
