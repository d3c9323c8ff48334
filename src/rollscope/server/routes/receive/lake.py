"""Ship runs to the lake that this server shows, for machines that hold no keys of it.

`PUT` the objects that the lake lacks, then `POST` the ship. The ship is answered when the object
store and the catalogue have everything.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import wrap_future
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rollscope.errors import NotFound, TooOften
from rollscope.lake.serving.sender import ANYBODY, Sender
from rollscope.lake.spool import Object
from rollscope.server.deps import RunId
from rollscope.server.reply import json_reply
from rollscope.server.shapes import Held, Shipped, Stored, Taken
from rollscope.server.sign_in.needs import RECORDED_KINDS, token_of
from rollscope.store.log import files

if TYPE_CHECKING:
    from rollscope.lake.serving.worker import Worker

PUTS, SHIPS = 8, 64  # at once; ships that are ready together share a transaction
WAITING = 256  # of each that may wait for their turn
router = APIRouter(prefix="/lake/runs/{run}", tags=["receive"])
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Field(max_length=400)]
Project = Annotated[str, Field(max_length=255)]
Number = Annotated[int, Field(ge=0, lt=2**62)]


class Sent(BaseModel):
    """An object of a ship; `gone` for a file that the run has no more."""

    model_config = ConfigDict(extra="forbid")
    name: Name
    kind: Literal["whole", "range", "gone"]
    start: Number = 0
    bytes: Number = 0
    sha256: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    time_ns: Number = 0


class Ship(BaseModel):
    """Objects to ship, and the number of the last ship that the sender knows of."""

    model_config = ConfigDict(extra="forbid")
    project: Project
    after: Number
    objects: Annotated[list[Sent], Field(min_length=1, max_length=20_000)]


class Said(BaseModel):
    """Lines of the project log beside the run."""

    model_config = ConfigDict(extra="forbid")
    project: Project
    lines: Annotated[list[Annotated[str, Field(max_length=2 << 20)]], Field(min_length=1, max_length=10_000)]


class Queue:
    """A few at once, some wait, and more are told when to come again.

    One asker gets at most three quarters of it: a slow or greedy one leaves room for the others.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once, self._free = at_once, asyncio.Semaphore(at_once)
        self._askers: dict[str, tuple[int, asyncio.Semaphore]] = {}  # how many each has here, and its own turns
        self.waiting, self.done, self.seconds = 0, 0, 0.1  # of one, as they were lately

    @asynccontextmanager
    async def turn(self, asker: str) -> AsyncIterator[None]:
        with self._entered(asker) as own:
            async with own, self._free:
                began = time.monotonic()
                yield
                self.seconds = 0.8 * self.seconds + 0.2 * (time.monotonic() - began)
                self.done += 1

    @contextmanager
    def _entered(self, asker: str) -> Iterator[asyncio.Semaphore]:
        """The asker's own turns, while one more of it is here."""
        here, own = self._askers.get(asker, (0, asyncio.Semaphore(_most(self._at_once))))
        if self.waiting >= WAITING or here >= _most(WAITING):
            wait = max(1, round(self.seconds * self.waiting / self._at_once))
            raise Busy(f"{self.waiting} wait already. Send this again in {wait} s.", wait)
        self._askers[asker] = here + 1, own
        self.waiting += 1
        try:
            yield own
        finally:
            self.waiting -= 1
            left = self._askers[asker][0] - 1
            self._askers[asker] = left, own
            if not left:
                del self._askers[asker]


def _most(places: int) -> int:
    """How many of some places one asker may take."""
    return max(1, places * 3 // 4)


class Busy(TooOften):
    """Back-pressure: come again in so many seconds."""

    def __init__(self, says: str, seconds: int) -> None:
        super().__init__(says)
        self.seconds = seconds


class Inlet:
    """The process that ships, behind two queues."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.puts, self.ships = worker, Queue(PUTS), Queue(SHIPS)


@router.get("", response_model=Held)
async def held(request: Request, run: RunId) -> Response:
    """What the lake holds of a run: its last ship, and the objects of each file.

    Of a log that is its length. A run of another project is not there.
    """
    inlet, token = _inlet(request), token_of(request)
    allowed = token.allowed if token is not None else None
    async with inlet.puts.turn(_asker(request)):
        state = await wrap_future(inlet.worker.held(run, None if allowed is None else allowed.projects))
    return json_reply({"run": run, "ship": state.ship, "files": {n: _shown(n, p) for n, p in state.files.items()}})


@router.put("/objects", response_model=Stored)
async def put(
    request: Request,
    run: RunId,
    project: Annotated[Project, Query()],
    name: Annotated[Name, Query()],
    kind: Annotated[Literal["whole", "range"], Query()],
    start: Annotated[Number, Query()],
    sha256: Annotated[Sha256, Query()],
) -> Response:
    """Store the bytes of an object, in the body. Sent again, it changes nothing."""
    inlet = _inlet(request)
    _check_project(request, project)
    async with inlet.puts.turn(_asker(request)):  # before the body is read: only so many are in memory
        data = await request.body()
        object = Object(name, kind, start, len(data), sha256, "", 0)
        await wrap_future(inlet.worker.put(project, run, object, data, token_of(request)))
    return json_reply({"bytes": len(data), "sha256": sha256})


@router.post("/ships", response_model=Shipped)
async def ship(request: Request, run: RunId, ship: Ship) -> Response:
    """Ship objects that were put. The answer comes when the lake has them, and their rows."""
    inlet = _inlet(request)
    _check_project(request, ship.project)
    objects = [Object(o.name, o.kind, o.start, o.bytes, o.sha256, "", o.time_ns) for o in ship.objects]
    about = ship.project, run, ship.after, objects
    async with inlet.ships.turn(_asker(request)):
        number, rows = await wrap_future(inlet.worker.ship(*about, _sender(request), token_of(request)))
    return json_reply({"run": run, "ship": number, "rows": rows})


@router.post("/said", response_model=Taken)
async def say(request: Request, run: RunId, said: Said) -> Response:
    """Take what people said about a run: names, tags, notes. Sent again, it changes nothing."""
    inlet = _inlet(request)
    _check_project(request, said.project)
    async with inlet.puts.turn(_asker(request)):
        new = await wrap_future(inlet.worker.say(said.project, run, said.lines, _sender(request)))
    return json_reply({"new": new})


def _inlet(request: Request) -> Inlet:
    inlet: Inlet | None = request.app.state.intake
    if inlet is None:
        raise NotFound("this server takes no runs: it shows a folder. Start it with: rollscope serve --lake LAKE")
    return inlet


def _asker(request: Request) -> str:
    """Who sends: a token, or an address where there is no sign-in."""
    token = token_of(request)
    return token.id if token is not None else request.client.host if request.client else ""


def _sender(request: Request) -> Sender:
    token = token_of(request)
    return ANYBODY if token is None else Sender(token.name, None if token.can("admin") else RECORDED_KINDS)


def _check_project(request: Request, project: str) -> None:
    token = token_of(request)
    if token is not None and token.allowed is not None and project not in token.allowed.projects:
        raise NotFound(f"there is no project {project[:80]!r} among those of {token.name}")


def _shown(name: str, parts: list[Object]) -> list[tuple[str, int, int, str, int]]:
    """The objects of a file; a log, which may have thousands, as one."""
    if files.NAME.fullmatch(name):
        return [("range", 0, parts[-1].end, "", parts[-1].time_ns)]
    return [(part.kind, part.start, part.bytes, part.sha256, part.time_ns) for part in parts]
