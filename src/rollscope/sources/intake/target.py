"""Write imported rows into a run's folder, so that importing again adds only what is new.

The writer's id is derived from the run and the source, so the same file always goes to the same
log. Beside the log, `<writer>.import.json` stores the cursor of each file and the length of the log
at that cursor. It is written about once a second and at the end. A killed import leaves rows beyond
that length; they are truncated before the next import writes, so every row is stored once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rollscope import __version__
from rollscope.sources import Points, Records, RunStart
from rollscope.store.log import block, process
from rollscope.store.log.files import file_name
from rollscope.store.log.secret import hide
from rollscope.store.log.writer import LogWriter

from .beside import is_held, replace
from .payloads import points, records
from .writing import Busy, Gone

SAVE_SECONDS = 1.0  # a folder may hold thousands of small files, and each is a commit


class Target:
    def __init__(
        self,
        root: Path,
        run: RunStart,
        live: bool = False,
        guest: int | None = None,
        own: str | None = None,
        prefix: str = "",
    ) -> None:
        """With `live` the files are followed: the run counts as running until `close`, unless its
        source says how it ended.

        A `guest` adds rows to a run that others record, in the attempt of this number, and says
        nothing about the run itself. `own` is then the id under which its source knows the run,
        and the ids of its samples get a `prefix`: two folders may number their samples alike.
        """
        self._guest = guest is not None
        self.own = own or run.id
        self._attempt = 1 if guest is None else guest
        self.run = run
        self._live = live
        self._saved = 0.0
        self._dirty = False
        self.folder = root / run.id
        self.writer = hashlib.blake2b(f"{run.id}\0{run.kind}".encode(), digest_size=8).hexdigest()
        self._sidecar = self.folder / f"{self.writer}.import.json"
        self._state: dict[str, Any] = {"seq": 0, "size": 0, "kind": run.kind, "files": {}}
        if own is not None:
            self._state |= {"own": own, "prefix": prefix}
        self._log: LogWriter | None = None
        self.values = 0
        self.tables: Counter[str] = Counter()  # rows by table
        self._committed = 0  # number of the log that the last commit was for
        self._counted = 0, self.tables.copy()  # values and rows at the last commit
        self._known = self._sidecar_now()
        if self._known is not None:
            self._read(self._known)
        self.names: set[str] = set()

    def _read(self, sidecar: bytes) -> None:
        """Read the state of an earlier import.

        If it is damaged, drop the rows and import from the start.
        """
        try:
            self._state = json.loads(sidecar)
        except ValueError:
            self._drop()

    def cursor(self, path: Path) -> Any:
        return self._state["files"].get(str(path))

    def cursors(self) -> dict[str, Any]:
        """The cursor of each file."""
        return dict(self._state["files"])

    def any_cursor(self) -> Any:
        """The cursor of the first file of this writer; None if it has imported nothing."""
        return next(iter(self._state["files"].values()), None)

    def write(self, item: Points | Records) -> None:
        payloads = points(item, self._attempt) if isinstance(item, Points) else records(item, self._attempt)
        log = self._open()
        done = 0
        while done < len(payloads):
            done += log.append(payloads[done:])
        if isinstance(item, Points):
            self.values += item.values.size
            self.names.update(item.names)
        else:
            self.tables[item.table] += len(item.rows)

    def write_rows(self, records: Records) -> list[str]:
        """Write rows; those that do not fit their columns are left out, with a sentence each."""
        try:
            self.write(records)
            return []
        except (ValueError, TypeError, OverflowError) as error:
            if len(records.rows) == 1:
                return [f"a row of {records.table} does not fit its columns ({error})"]
        return [why for row in records.rows for why in self.write_rows(Records(records.table, [row]))]

    @property
    def prefix(self) -> str:
        return str(self._state.get("prefix") or "")

    def commit(self, path: Path, cursor: Any) -> None:
        """Make what was written part of the run; reading of `path` continues at `cursor`."""
        self._write_run_state()  # may raise: then the cursor stays, as the rows are taken back
        self._state["files"][str(path)] = cursor
        if self._log is not None:
            self._state |= {"size": self._log.size}
            self._committed = self._state["seq"]
        self._counted = self.values, self.tables.copy()
        self._dirty = True
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def reset_counts(self) -> None:
        self.values, self.tables = 0, Counter()
        self._counted = 0, Counter()

    def undo(self) -> None:
        """Remove what was written since the last commit: its file could not be read to the end."""
        log, self._log = self._log, None
        if log is not None:
            size = self._state["size"] if self._committed == self._state["seq"] else 0
            self._state["size"] = size
            with contextlib.suppress(FileNotFoundError):  # somebody removed the run
                os.truncate(log.path, size)
                if not size:
                    os.unlink(log.path)
            log.close()
        self.values, self.tables = self._counted[0], self._counted[1].copy()
        self.names.clear()

    def is_empty(self) -> bool:
        """True if no import has written anything; then its folder is removed."""
        if self._state["files"] or self._dirty:
            return False
        with contextlib.suppress(OSError):  # another writer may use the folder
            self.folder.rmdir()
        return True

    def save(self) -> None:
        """Store what was committed, so that another import continues from there."""
        if not self._dirty:
            return
        self._check_alone()
        if self._log is not None:
            self._log.sync()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._save_facts()
        replace(self._sidecar, self._state)
        self._known = self._sidecar_now()
        self._saved, self._dirty = time.monotonic(), False

    def _write_run_state(self) -> None:
        """Write the run's state as a row if it changed: readers ask every writer for it."""
        if self._guest:
            return
        facts = self.run.facts
        row = {key: facts[key] for key in ("state", "reason", "started_ns", "ended_ns") if facts.get(key) is not None}
        row.setdefault("state", "running" if self._live else "finished")
        if self._log is not None and self._state.get("said") != row:
            self._log.append([block.table("runs", [{**row, "attempt": 1}])])
            self._state["said"] = row

    def forget(self, path: Path) -> None:
        """Drop the rows of `path`.

        If other files share the writer, later rows replace them instead.
        """
        self.close()
        self._state["files"].pop(str(path), None)
        if not self._state["files"]:
            self._drop()
            self._state |= {"size": 0, "said": None}  # `seq` stays: a merged set may contain a log of that number

    def _drop(self) -> None:
        """Delete the logs and sets of this writer.

        A set that was merged with those of other writers stays, and later rows replace its rows.
        """
        from rollscope.store.seal.publish import remove_set
        from rollscope.store.sealed import manifest
        from rollscope.store.sealed.select import listed

        for path in listed(str(self.folder)):
            facts, _ = manifest.read(path)
            if all(stem.startswith(f"{self.writer}.") for stem in facts["sources"]):
                remove_set(path)
        for file in self.folder.glob(f"{self.writer}.*"):
            if file.is_file():
                file.unlink()
        self._known = self._sidecar_now()

    def close(self) -> None:
        if self._live:
            self._live = False
            self._write_run_state()
        log = self._log
        try:
            if log is not None:
                log.append([block.meta("end", {"state": "finished"})])
                self._state["size"] = log.size
                self._dirty = True
            self.save()
        finally:
            self._log = None
            if log is not None:
                log.close()

    def _open(self) -> LogWriter:
        if self._log is None:
            self.settle()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._state["seq"] += 1
            try:
                self._log = LogWriter(self.folder / file_name(self.writer, self._state["seq"]))
            except FileExistsError:  # it was begun a moment ago
                raise self._busy() from None
            about = {"writer": self.writer, **process.here(), "rank": 0, "attempt": self._attempt}
            self._log.append([block.meta("open", {**about, "version": __version__, "imported": self.run.kind})])
        return self._log

    def settle(self) -> None:
        """Remove what a killed import wrote after its last save. One that runs is left alone."""
        self._check_alone()
        for file in self.folder.glob(f"{self.writer}.*"):
            match = re.fullmatch(rf"{self.writer}\.(\d+)\..*", file.name)
            seq = int(match[1]) if match else -1
            if seq < self._state["seq"] or not file.is_file():
                continue
            if is_held(file):
                raise self._busy()
            if seq > self._state["seq"]:
                file.unlink()
            elif file.suffix == ".log" and file.stat().st_size > self._state["size"]:
                os.truncate(file, self._state["size"])

    @property
    def is_stale(self) -> bool:
        """True if another import went on from where this one stands."""
        return self._log is None and self._sidecar_now() != self._known

    def _sidecar_now(self) -> bytes | None:
        """What the file beside the log holds, which another import may have written."""
        try:
            return self._sidecar.read_bytes()
        except FileNotFoundError:
            return None

    def _check_alone(self) -> None:
        """Raise if another import has been here since, or somebody removed what was imported."""
        now = self._sidecar_now()
        if now is None and (self._known is not None or (self._guest and not self.folder.is_dir())):
            raise Gone(
                f"{str(self.folder)!r} was removed while rows were added to it, and they with it."
                " If it is there again, import again"
            )
        if now != self._known:
            raise self._busy()

    def _busy(self) -> Busy:
        return Busy(
            f"another process imports the same files into run {self.folder.name!r}."
            " Wait until it has ended, or stop it; then import again"
        )

    def _save_facts(self) -> None:
        """Fill in `run.json`, without secrets. Facts that another source of the run wrote stay."""
        if self._guest:
            return
        path = self.folder / "run.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        facts = hide({key: value for key, value in self.run.facts.items() if value is not None})
        stay = {key: value for key, value in known.items() if value is not None}
        merged = {"id": self.run.id, "attempt": 1, "state": "finished", **facts, **stay}
        for key in ("state", "ended_ns"):  # these change over time
            merged[key] = facts.get(key, merged.get(key))
        if str(facts.get("framework", "")).startswith(str(merged.get("framework"))):  # trl:grpo@1.16 is more than trl
            merged |= {key: facts[key] for key in ("framework", "algorithm") if key in facts}
        if merged != known:
            replace(path, merged)
