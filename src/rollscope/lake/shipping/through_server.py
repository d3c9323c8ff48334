"""Ship one run through a server, where the machine that records holds no keys of the lake.

The run's folder is the spool, and what the lake lacks of it is sent: objects, each with its
checksum, then the request to ship them. What the server has not answered was not shipped, as far as
this side knows: it asks again what the lake holds, and goes on from there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from rollscope.errors import CannotWrite, NotFound
from rollscope.lake import spool
from rollscope.lake.objects import Stretch
from rollscope.lake.said import of_run
from rollscope.lake.spool import Held, Object
from rollscope.store.listing.entries import is_run
from rollscope.store.project.entry import line
from rollscope.store.project.log import ProjectLog
from rollscope.store.run_json import NAME as RUN_JSON
from rollscope.store.sealed.select import listed

from .push import TRIES, Pushed, project_of
from .requests import Changed, NotThere, Requests


class ThroughServer:
    """Ships one run. It remembers what the lake holds, so a second call sends only what is new."""

    def __init__(self, url: str, path: str, requests: Requests | None = None) -> None:
        if not os.path.isdir(path) or not is_run(path):
            raise NotFound(f"{path!r} is no run: it has neither a run.json nor a log. List runs with: rollscope ls")
        self.path, self.run = path, os.path.basename(os.path.abspath(path))
        self._requests = requests or Requests(url)
        self._address = f"api/lake/runs/{quote(self.run, safe='')}"
        self._ship, self._held = -1, Held()  # the number of the last ship; -1: not known
        self._log, self._said = ProjectLog(os.path.dirname(os.path.abspath(path))), set[str]()

    def push(self) -> Pushed:
        """Send until the lake lacks nothing that the folder held when this began."""
        pushed, lost = Pushed(self.run), 0
        while True:
            try:
                if self._ship < 0:
                    self._look()
                for names in self._loads():
                    self._send(names, pushed)
                self._say()
                return pushed
            except (Changed, FileNotFoundError, EOFError):
                lost, self._ship = lost + 1, -1
                if lost > TRIES:
                    raise CannotWrite(f"the run {self.run!r} changes all the time: push it again in a moment") from None
            except BaseException:  # whether it was shipped is not known: look again next time
                self._ship = -1
                raise
            finally:
                self._requests.close()

    def _look(self) -> None:
        """Ask what the lake holds of the run."""
        said = self._requests.json("GET", self._address)
        self._held = {name: [_object(name, *part) for part in parts] for name, parts in said["files"].items()}
        self._ship = int(said["ship"])

    def _loads(self) -> Iterator[list[str]]:
        """The files of each ship: sets one by one, then everything."""
        for path in listed(self.path):
            folder = os.path.basename(path)
            everything = spool.names(self.path)
            if any(name not in self._held for name in everything if os.path.dirname(name) == folder):
                yield [name for name in everything if name == RUN_JSON or os.path.dirname(name) == folder]
        yield []

    def _send(self, names: list[str], pushed: Pushed) -> None:
        """Send what the lake lacks of some files, or of all; then ship it."""
        project = project_of(self.path)
        sent = [] if names else spool.gone(self.path, self._held)
        said = list(map(_said, sent))
        for object, stretch in spool.missing(self.path, names or spool.names(self.path), self._held, ""):
            said += [self._put(project, *piece) for piece in _pieces(object, stretch)]
            sent.append(object)
        if not sent:
            return
        about = {"project": project, "after": self._ship, "objects": said}
        answer = self._requests.json("POST", f"{self._address}/ships", about)
        self._ship = int(answer["ship"])
        earlier = [object for parts in self._held.values() for object in parts]
        self._held = spool.held([*earlier, *sorted(sent, key=lambda object: object.kind != "gone")])
        pushed.ships += 1
        pushed.objects += sum(object.kind != "gone" for object in sent)
        pushed.bytes += sum(object.bytes for object in sent)
        pushed.rows += int(answer["rows"])

    def _say(self) -> None:
        """Send what was said about the run, once there is more of it."""
        wanted = of_run(self._log.follow(), self.run)
        ids = {entry.id for entry in wanted}
        if ids <= self._said:
            return
        lines = [line(entry).decode("ascii").rstrip("\n") for entry in wanted]
        with contextlib.suppress(NotThere):  # an older server takes none of it
            self._requests.json("POST", f"{self._address}/said", {"project": project_of(self.path), "lines": lines})
        self._said = ids

    def _put(self, project: str, object: Object, stretch: Stretch) -> dict[str, Any]:
        data = b"".join(stretch.chunks())
        about = {"project": project, "name": object.name, "kind": object.kind, "start": object.start}
        words = urlencode({**about, "sha256": object.sha256})
        self._requests.json("PUT", f"{self._address}/objects?{words}", data)
        return _said(object)


def _pieces(object: Object, stretch: Stretch) -> Iterator[tuple[Object, Stretch]]:
    """An object as a server takes it: a large one in pieces, which join to the file."""
    for at in range(0, max(1, stretch.size), spool.PIECE):
        piece = Stretch(stretch.path, stretch.start + at, min(spool.PIECE, stretch.size - at))
        sha256 = object.sha256 if piece.size == stretch.size else piece.sha256()
        kind = "range" if at else object.kind
        yield Object(object.name, kind, piece.start, piece.size, sha256, "", object.time_ns), piece


def _object(name: str, kind: str, start: int, size: int, sha256: str, time_ns: int) -> Object:
    return Object(name, kind, start, size, sha256, "", time_ns)


def _said(object: Object) -> dict[str, Any]:
    names = ("name", "kind", "start", "bytes", "sha256", "time_ns")
    return {name: getattr(object, name) for name in names}
