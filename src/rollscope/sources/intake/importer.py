"""`rollscope import`: a locked process reads a path, its rows are stored, the rest is reported.

The position in each file is stored, so that the next import continues there. A file whose reading
was ended (a limit, a crash of the reading process) adds nothing behind its last complete part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rollscope.errors import CannotWrite
from rollscope.sources import Item, Keep, Mark, Points, Records, Restart, RunStart, Skipped, SourceError
from rollscope.sources.intake.follow.followed import Followed, state
from rollscope.sources.intake.guest.guest import Guest
from rollscope.sources.intake.guest.into import KIND, Into, Placed
from rollscope.sources.intake.guest.stepless import Stepless
from rollscope.sources.sandbox.limits import UNLIMITED, Limits
from rollscope.sources.sandbox.reader import Broken, Ended, Reader

from .cursors import Cursors, stored
from .entries import children, looks_like_a_log, refusal, signature, unknown
from .evaluation import content_digest
from .media import keep
from .open_targets import OpenTargets
from .report import Report
from .writing import writing

if TYPE_CHECKING:
    from .target import Target

__all__ = ["Importer", "Report"]

Progress = Callable[[Path, int, int], None]


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

        With `into`, what is imported goes to a run that is there.
        """
        self._into = into
        self._evaluations = into is not None and into.step is not None
        self._placed: Placed | None = None
        self.root = root
        self._progress = progress
        self._live = live
        self._trust = trust
        self._reader = Reader(limits or (UNLIMITED if trust else Limits()), everywhere=trust)
        self._targets = OpenTargets(root, live, None if into is None else into.attempt)
        self._cursors: Cursors = {}
        self._stepless = Stepless()
        self._guest = None if into is None or self._evaluations else Guest(root, into, self._stepless, live)
        self._ended: dict[str, tuple[tuple[int, int], Skipped]] = {}  # path -> signature, why reading it was ended
        self._followed = Followed() if live else None

    def leave(self, paths: list[Path]) -> None:
        """Leave out the files that are there now, as long as they do not change."""
        if self._followed is not None:
            for path in paths:
                self._followed.leave(path.absolute())

    @property
    def waits(self) -> bool:
        """True while a file that is followed has a fault that is not said yet."""
        return self._followed is not None and self._followed.waits

    def take(self, paths: list[Path]) -> Report:
        """Import everything that is new at these paths."""
        report = Report()
        if self._guest is not None:
            self._guest.look_again()
        paths = [path.absolute() for path in paths]
        self._reader.prepare(paths)
        self._cursors = stored(self.root, None if self._into is None or self._evaluations else self._into.run)
        self._targets.drop_stale()
        for target in self._targets:  # a full disk may not have taken their last cursors
            for path, cursor in target.cursors().items():
                self._cursors.setdefault(path, {})[target.own] = cursor
        for given in paths:
            self._walk(given, report)
        if self._followed is not None:
            report.skipped += self._stepless.news(self._followed.settled())
        for target in self._targets:
            with writing(self.root):
                target.save()
        self.meet()
        return report

    def meet(self, over: bool = False) -> None:
        """Make one sample of each rollout that the run recorded after a dump had told it.

        This is looked for if the last look is long enough ago, or following is `over`.
        """
        if self._guest is not None and (late := self._guest.late(over)):
            self._targets.close()  # their logs are sealed
            with writing(self.root):
                self._guest.join(late)

    def rest(self) -> list[Skipped]:
        """What is wrong with files that were followed and may still have been written."""
        if self._followed is None:
            return []
        return [*self._stepless.news(self._followed.settled(over=True)), *self._stepless.rest()]

    def _walk(self, given: Path, report: Report) -> None:
        """Import a path, or the known files below it. A folder of a source is not looked into."""
        todo: list[Path | Skipped] = [given]
        while todo:
            path = todo.pop()
            if isinstance(path, Skipped):
                report.skipped.append(path)
            elif self._followed is not None and self._followed.is_read(path):
                continue
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
        if self._followed is None:
            return self._try(path, report)
        before, found = state(path), Report()
        known = self._try(path, found)
        if known and path.is_file():
            self._followed.was_read(path, before, found.skipped, failed=str(path) not in found.files)
            found.skipped = []
        report.merge(found)
        return known

    def _try(self, path: Path, report: Report) -> bool:
        """Import what can be read of a path; report the rest."""
        used: list[Target] = []
        known = True
        try:
            known = self._add(path, report, used) if self._evaluations else self._stream(path, report, used)
        except CannotWrite:
            self._take_back(used)
            raise
        except Ended as error:
            self._undo(path, error, report, used)
        except SourceError as error:
            report.files.pop(str(path), None)
            report.skipped.append(Skipped(str(error), path))
        except OSError as error:
            report.files.pop(str(path), None)
            report.skipped.append(Skipped(f"it cannot be read: {error.strerror or error}", path))
        except Exception as error:  # one unexpected file must not lose the others
            reason = str(error) if isinstance(error, Broken) else repr(error)
            failed = f"reading it as {report.files.pop(str(path), 'a log')} failed ({reason})"
            report.skipped.append(Skipped(f"{failed}; what came before is kept. Please report this", path))
        with writing(self.root):
            for target in dict.fromkeys(used):
                self._settle(target, path, report)
            self._targets.close_oldest()
        return known

    def _stream(self, path: Path, report: Report, used: list[Target]) -> bool:
        cursors = self._cursors.get(str(path), {})
        since = {id: cursor for id, cursor in cursors.items() if cursor is not None}
        known = False
        self._stepless.begin(path)
        for item in self._reader.read(path, since):
            if isinstance(item, str):
                report.files[str(path)] = item
                known = True
            else:
                with writing(self.root):
                    self._put(item, path, report, used)
        report.skipped += self._stepless.said(path)
        return known

    def _add(self, path: Path, report: Report, used: list[Target]) -> bool:
        """Import the evaluations of a file into the run, unless they are there."""
        into = self._into
        assert into is not None
        if path.is_dir():
            return False
        digest = content_digest(path)
        target = self._target(into.start(digest), path)
        used.append(target)
        if (held := target.any_cursor()) is not None:
            report.files[str(path)] = KIND
            if held.get("step") != into.step:
                why = f"run {into.run} has these evaluations already, at step {held.get('step')}"
                report.skipped.append(Skipped(why, path))
            return True
        self._placed = Placed(into, f"{digest[:8]}/")
        known = self._stream(path, report, used)
        if target.tables.total():
            with writing(self.root):
                target.commit(path, {"step": into.step})
        return known

    def _put(self, item: Item, path: Path, report: Report, used: list[Target]) -> None:
        if isinstance(item, RunStart):
            if self._placed is None:
                if self._guest is not None and used:
                    self._guest.check(item, used[0].own)
                used.append(self._target(item, path))
            elif "framework" not in item.facts:  # evaluations number their samples by their content
                self._placed.prefix = ""
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
        guest = self._guest
        match item:
            case Points():
                if (item := item if guest is None else guest.numbers(item, path, target, report)).names:
                    target.write(item)
            case Records():
                item = item if guest is None else guest.rows(item, path, target, report)
                report.skipped += [Skipped(why, path) for why in target.write_rows(item)]
            case Mark():
                target.commit(path, item.cursor)
                self._stepless.mark(path)
                self._progress(path, item.done, item.total)
            case Restart():
                target.forget(path)
                self._stepless.forget(path)
                if self._followed is None or not self._followed.is_wrong(path):  # then it was half written
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

    def _target(self, run: RunStart, path: Path) -> Target:
        if self._guest is None:
            return self._targets.of(run, None, "")
        start, prefix = self._guest.start(run, path)
        return self._targets.of(start, run.id, prefix)

    def _settle(self, target: Target, path: Path, report: Report) -> None:
        """Add the catalogue's notes to a run, keep its cursor, and report what is new in it."""
        from .traps import notes

        for note in notes(target.run, target.names) if not self._evaluations else ():
            target.write(note)
            target.commit(path, target.cursor(path))
        target.names.clear()
        self._cursors.setdefault(str(path), {})[target.own] = target.cursor(path)
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
                self._targets.drop(target)
                used[:] = [other for other in used if other is not target]

    def close(self) -> None:
        self._reader.close()
        self._targets.close()
