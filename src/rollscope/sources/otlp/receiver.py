"""Receives OTLP over HTTP into a folder of runs. An answer is given once its rows are on the disk.

A batch that is sent again adds nothing: its digest is kept with the rows, and a span is taken once.
A run that is recorded by others gets a log of its own; nothing of theirs is touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rollscope.errors import CannotWrite, RollscopeError
from rollscope.sources import Points, Records
from rollscope.sources.intake.target import Target

from .batch import Batches, Known, RunRows
from .body import answer, batch_of, unpacked
from .resource import KIND
from .seen import SpanIds
from .tokens import Sequences

DIGESTS = 1_000  # of the last batches that are kept with a run
IDLE_SECONDS = 900.0  # after which a run is finished, until its next batch
MOST_RUNS = 64  # that are open at the same time
PATH = Path(KIND)  # stands for the file of an import
SLOTS = 64  # servers of one folder


class Unavailable(RollscopeError):
    status = 503


class Receiver:
    """One thread at a time takes a batch."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).parent if (Path(root) / "run.json").is_file() else Path(root)  # of one run
        self._lock = threading.Lock()
        self._targets: dict[str, Target] = {}
        self._used: dict[str, float] = {}
        self._known: dict[str, Known] = {}
        self._slot: Any = None
        self._kind = KIND

    def take(self, signal: str, content_type: str, encoding: str, body: bytes) -> tuple[bytes, str]:
        """Store a batch; return the body and the type of the answer."""
        data = unpacked(body, encoding.strip().lower())
        batch = batch_of(signal, data, content_type)
        mark = hashlib.blake2b(data, digest_size=8, person=signal.encode()).hexdigest()
        with self._lock:
            try:
                taken = self._store(signal, batch, mark)
            except (OSError, CannotWrite) as error:
                self._abandon()
                why = getattr(error, "strerror", None) or error
                raise Unavailable(
                    f"the batch could not be written ({why}); nothing of it is kept. Send it again later."
                ) from None
            except BaseException:
                self._abandon()  # its spans are not known: they would be left out when they come again
                raise
        return answer(signal, content_type, taken.refused, ". ".join(taken.reasons))

    def _store(self, signal: str, batch: Any, mark: str) -> Batches:
        self._hold()
        self._close_idle()
        taken = Batches(PATH, self._kind, self._known)
        runs = _ids(signal, batch, self._kind)
        for start in runs:
            self._open(start)
        fresh = {start.id for start in runs if mark not in self._marks(start.id)}
        taken.take(signal, batch)
        for id, rows in taken.runs.items():
            if id in fresh:
                self._write(id, rows, mark, taken)
        return taken

    def _write(self, id: str, rows: RunRows, mark: str, taken: Batches) -> None:
        target = self._targets[id]
        target.run = rows.start
        for item in rows.items():
            if isinstance(item, Points):
                target.write(item)
            elif isinstance(item, Records):
                for why in target.write_rows(item):
                    taken.refuse(why)
        target.commit(PATH, {"marks": [*self._marks(id), mark][-DIGESTS:]})
        target.save()

    def _marks(self, id: str) -> list[str]:
        cursor = self._targets[id].cursor(PATH)
        return cursor["marks"] if isinstance(cursor, dict) else []

    def _open(self, start: Any) -> None:
        id = start.id
        if id not in self._targets:
            self._targets[id] = Target(self.root, start, live=True, guest=self._guest(start))
            if self._targets[id].cursor(PATH) is not None:
                self._targets[id].settle()
                self._known[id] = _known(self.root, id, self._targets[id].writer)
        self._used[id] = time.monotonic()
        while len(self._targets) > MOST_RUNS:
            self._close(min(self._targets, key=lambda one: self._used[one]))

    def _guest(self, start: Any) -> int | None:
        """The attempt to add to, if the run is recorded by somebody else."""
        folder = self.root / start.id
        if any(_is_ours(path) for path in folder.glob("*.import.json")):
            return None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return int(json.loads((folder / "run.json").read_text(encoding="utf-8")).get("attempt") or 1)
        return None

    def _hold(self) -> None:
        """Take a slot of the folder: two servers of one folder never write the same log."""
        if self._slot is not None:
            return
        self.root.mkdir(parents=True, exist_ok=True)
        for number in range(SLOTS):
            file = (self.root / f".otlp-{number}.lock").open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                continue
            self._slot, self._kind = file, KIND if not number else f"{KIND} {number}"
            return
        raise Unavailable(f"{SLOTS} servers receive into {self.root} already; stop one of them.")

    def _close_idle(self) -> None:
        now = time.monotonic()
        for id in [id for id, used in self._used.items() if now - used > IDLE_SECONDS]:
            self._close(id)

    def _close(self, id: str) -> None:
        self._used.pop(id, None)
        self._known.pop(id, None)
        self._targets.pop(id).close()

    def _abandon(self) -> None:
        """Drop what was written since the last answer, and begin again with what is stored."""
        for target in self._targets.values():
            with contextlib.suppress(OSError):
                target.undo()
        self._targets.clear()
        self._used.clear()
        self._known.clear()

    def close(self) -> None:
        """End every run that is open."""
        with self._lock:
            for id in list(self._targets):
                with contextlib.suppress(OSError):
                    self._close(id)
            if self._slot is not None:
                self._slot.close()
                self._slot = None


def _ids(signal: str, batch: Any, kind: str) -> list[Any]:
    """The runs of a batch, without its rows."""
    from .attributes import attributes
    from .batch import SIGNALS, _objects
    from .resource import run_of

    about: Iterable[Any] = (part.get("resource") for part in _objects(batch, SIGNALS[signal][0]))
    found = [run_of(attributes(one.get("attributes")) if isinstance(one, dict) else {}, kind) for one in about]
    return list({start.id: start for start in found}.values())


def _is_ours(path: Path) -> bool:
    try:
        return str(json.loads(path.read_text(encoding="utf-8")).get("kind", "")).startswith(KIND)
    except (OSError, ValueError, AttributeError):
        return False


def _known(root: Path, id: str, writer: str) -> Known:
    """What a run holds already of this writer."""
    from rollscope.store.store import open as open_runs

    run = open_runs(root).run(id)
    spans = SpanIds(run.sql(f"SELECT id FROM spans WHERE writer = '{writer}'")["id"])
    known = Known(spans, tokens=Sequences(run.sql("SELECT id FROM samples WHERE token_ids IS NOT NULL")["id"]))
    turns = run.sql(f"SELECT sample, max(turn) AS turn FROM turns WHERE writer = '{writer}' GROUP BY sample")
    known.turns.next.update(zip(turns["sample"].tolist(), turns["turn"].tolist(), strict=True))
    return known
