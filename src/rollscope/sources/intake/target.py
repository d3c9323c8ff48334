"""Where imported rows go: a run's folder, written so that importing again adds only what is new.

The writer's id is made from the run and the source, so the same file always goes to the same place. Beside the log lies
`<writer>.import.json`: how far each file was read, and how long the log was then. It is written about once a second and at the end. What an
import that was killed left behind lies beyond that length and is cut off before going on, so every row is there once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rollscope import __version__
from rollscope.sources import Points, Records, Run
from rollscope.store.log import block
from rollscope.store.log.block import Labels, Values
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter
from rollscope.strict_json import dumps

ROWS = 65536  # values in a block
SAMPLES = 256
SAVE_SECONDS = 1.0  # a folder may hold thousands of small files, and each is a commit


class Target:
    def __init__(self, root: Path, run: Run, live: bool = False) -> None:
        """`live`: somebody goes on following the files, so the run goes on until it is closed, unless its source says how it ended."""
        self.run = run
        self._live = live
        self._saved = 0.0
        self._dirty = False
        self.folder = root / run.id
        self.writer = hashlib.blake2b(f"{run.id}\0{run.kind}".encode(), digest_size=8).hexdigest()
        self._sidecar = self.folder / f"{self.writer}.import.json"
        self._state: dict[str, Any] = {"seq": 0, "size": 0, "kind": run.kind, "files": {}}
        self._log: LogWriter | None = None
        self.values = 0
        self.rows = 0
        if self._sidecar.exists():
            self._read()
        self.names: set[str] = set()

    def _read(self) -> None:
        """How far an earlier import came. Where that cannot be read any more, everything is taken anew."""
        try:
            self._state = json.loads(self._sidecar.read_text(encoding="utf-8"))
        except ValueError:
            self._drop()

    def cursor(self, path: Path) -> Any:
        return self._state["files"].get(str(path))

    def write(self, item: Points | Records) -> None:
        payloads = _points(item) if isinstance(item, Points) else _records(item)
        log = self._open()
        done = 0
        while done < len(payloads):
            done += log.append(payloads[done:])
        if isinstance(item, Points):
            self.values += item.values.size
            self.names.update(item.names)
        else:
            self.rows += len(item.rows)

    def commit(self, path: Path, cursor: Any) -> None:
        """Everything written so far is now part of the run, and reading of `path` goes on at `cursor`."""
        self._state["files"][str(path)] = cursor
        self._say_state()
        if self._log is not None:
            self._state |= {"size": self._log.size}
        self._dirty = True
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """What was committed, so that another import goes on from there."""
        if not self._dirty:
            return
        if self._log is not None:
            self._log.sync()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._save_facts()
        replace(self._sidecar, self._state)
        self._saved, self._dirty = time.monotonic(), False

    def _say_state(self) -> None:
        """How the run stands, as a row of its own: readers ask every writer."""
        told = {
            key: self.run.facts[key]
            for key in ("state", "reason", "started_ns", "ended_ns")
            if self.run.facts.get(key) is not None
        }
        told.setdefault("state", "running" if self._live else "finished")
        if self._log is not None and self._state.get("said") != told:
            self._log.append([block.table("runs", [{**told, "attempt": 1}])])
            self._state["said"] = told

    def forget(self, path: Path) -> None:
        """Drop what was taken from `path`; where other files went to the same writer, later rows replace it instead."""
        self.close()
        self._state["files"].pop(str(path), None)
        if not self._state["files"]:
            self._drop()
            self._state |= {
                "size": 0,
                "said": None,
            }  # `seq` goes on: a merged set may still stand for a log of that number

    def _drop(self) -> None:
        """Everything this writer has written, sealed or not. A set that was merged with other writers' stays, and later rows replace its."""
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

    def close(self) -> None:
        if self._live:
            self._live = False
            self._say_state()
        log = self._log
        if log is not None:
            log.append([block.meta("end", {"state": "finished"})])
            self._state["size"] = log.size
            self._dirty = True
        self.save()
        self._log = None
        if log is not None:
            log.close()

    def _open(self) -> LogWriter:
        if self._log is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._cut_off()
            self._state["seq"] += 1
            self._log = LogWriter(self.folder / file_name(self.writer, self._state["seq"]))
            about = {"writer": self.writer, "pid": os.getpid(), "host": socket.gethostname(), "rank": 0, "attempt": 1}
            self._log.append([block.meta("open", {**about, "version": __version__, "imported": self.run.kind})])
        return self._log

    def _cut_off(self) -> None:
        for file in self.folder.glob(f"{self.writer}.*"):
            found = re.fullmatch(rf"{self.writer}\.(\d+)\..*", file.name)
            if found and int(found[1]) > self._state["seq"] and file.is_file():
                file.unlink()
            elif (
                found
                and int(found[1]) == self._state["seq"]
                and file.suffix == ".log"
                and file.stat().st_size > self._state["size"]
            ):
                os.truncate(file, self._state["size"])

    def _save_facts(self) -> None:
        """`run.json`, filled in: what is already said there by another source of the same run stands."""
        path = self.folder / "run.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        said = {key: value for key, value in self.run.facts.items() if value is not None}
        merged = {
            "id": self.run.id,
            "attempt": 1,
            "state": "finished",
            **said,
            **{key: value for key, value in known.items() if value is not None},
        }
        for key in ("state", "ended_ns"):  # these move on
            merged[key] = said.get(key, merged.get(key))
        if str(said.get("framework", "")).startswith(str(merged.get("framework"))):  # trl:grpo@1.16 says more than trl
            merged |= {key: said[key] for key in ("framework", "algorithm") if key in said}
        if merged != known:
            replace(path, merged)


def replace(path: Path, value: Mapping[str, Any]) -> None:
    """Write aside and rename, so that a reader sees the old or the new."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(
        dumps(value), encoding="utf-8", errors="backslashreplace"
    )  # a file's name may be no UTF-8; so written it is JSON that comes back
    os.replace(aside, path)


def _points(points: Points) -> list[bytes]:
    labels = Labels(rank=points.rank, split=points.split, clock=points.clock)
    if points.index is None:
        return _wide(points, labels)
    payloads = []
    for start in range(0, len(points.step), ROWS):
        cut = slice(start, start + ROWS)
        used, index = np.unique(points.index[cut], return_inverse=True)
        values = Values(points.step[cut], points.time_ns[cut], index, points.values[cut])  # type: ignore[arg-type]  # arrays do as well as lists
        payloads.append(block.long([points.names[i] for i in used.tolist()], None, values, labels))
    return payloads


def _wide(points: Points, labels: Labels) -> list[bytes]:
    rows = np.empty(len(points.step), block.row_type(len(points.names)))
    rows["step"], rows["time_ns"], rows["values"] = points.step, points.time_ns, points.values
    most = max(1, ROWS // max(1, len(points.names)))
    return [block.wide(points.names, None, rows[i : i + most].tobytes(), labels) for i in range(0, len(rows), most)]


def _records(records: Records) -> list[bytes]:
    same = {"attempt": 1} if records.table != "runs" else {}
    return [
        block.table(records.table, records.rows[i : i + SAMPLES], same) for i in range(0, len(records.rows), SAMPLES)
    ]
