"""Runs that trainers without keys of the lake ship through a server.

A trainer sends the objects that the lake lacks, each with its checksum, and then asks to ship them.
Objects go to the object store at once. To ship, the server brings its copy of the run's folder to
what the trainer has, and pushes that copy as any push does: rows are read from the bytes, by the
server. A trainer is answered when the object store and the catalogue have everything, so a server
that is killed has lost nothing, and any server over the lake can go on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Collection, Sequence

from rollscope.errors import BadInput, CorruptFile, NotAllowed, RollscopeError
from rollscope.lake import ledger, said, spool
from rollscope.lake.cache.mirror import root_of
from rollscope.lake.ledger import Behind, Order, State
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher, project_of
from rollscope.lake.spool import PIECE, SMALL, Object
from rollscope.store.listing.entries import NEVER_RUNS
from rollscope.store.log import files
from rollscope.store.project.entry import Entry, parsed
from rollscope.store.run_json import NAME as RUN_JSON
from rollscope.store.sealed.manifest import SUFFIX

from .bring import bring
from .copies import Copies, Copy
from .quotas import Quotas
from .received import Received, Whole
from .sender import ANYBODY, Sender
from .together import Together

AT_ONCE = 2  # ships that are prepared: more would keep readers waiting, and be no faster
_RUN = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")
_IN_SET = re.compile(r"(?P<set>[0-9A-Za-z][\w.@+-]{0,200})/(?P<file>[0-9A-Za-z][\w.-]{0,100})")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Altered(RollscopeError):
    """Bytes that arrived are not those that were sent."""

    status = 422


class Elsewhere(RollscopeError):
    """The lake holds something else than the sender thinks: look again, and send what it lacks."""

    status = 409


class Intake:
    """Takes objects and ships. Threads may call at once; those of one run take turns.

    `shipped` hears what the lake holds of a run after each ship, and where its objects are.
    """

    def __init__(
        self,
        place: Place,
        quotas: Quotas | None = None,
        shipped: Callable[[str, State, Objects], None] = lambda run, state, objects: None,
    ) -> None:
        self.place, self.quotas = place, quotas or Quotas(place, {})
        self._objects, self._shipped = Received(place), shipped
        self._copies, self._together = Copies(root_of(place)), Together(place)
        self._preparing = threading.Semaphore(AT_ONCE)

    def held(self, run: str, projects: Collection[str] | None = None) -> State:
        """What the lake holds of a run of these projects, or of any."""
        _check_run(run)
        return ledger.read(self.place, run, projects)

    def put(self, project: str, run: str, object: Object, data: bytes) -> None:
        """Store the bytes of an object. Raises Altered if they are not those of its checksum."""
        _check_run(run)
        _check_object(object)
        if len(data) != object.bytes or hashlib.sha256(data).hexdigest() != object.sha256:
            raise Altered(
                f"{len(data):,} bytes of {object.name} arrived, and their checksum is not the one that was sent"
                " with them: they were altered on their way. Send them again."
            )
        key = key_of(project, run, object)
        self.quotas.take(project, key, len(data))
        self._objects.put(key, Whole(data))

    def ship(
        self,
        project: str,
        run: str,
        after: int,
        objects: Sequence[Object],
        still: Callable[[], object],
        sender: Sender = ANYBODY,
    ) -> tuple[int, int]:
        """Ship objects that were put. Returns the number of the lake's last ship, and rows added.

        `after` is the number of the last ship that the sender knows of. `still` raises if the
        sender may no longer ship; it is asked when everything is ready.
        """
        _check_run(run)
        named = [_with_key(project, run, object) for object in objects]
        with self._copies.of(run) as copy:
            state = self._state(copy, run, after)
            check_project(state, project, run)
            _check_recorder(state, run, sender)
            try:
                return self._pushed(copy, state, project, named, still, sender)
            except (Behind, FileNotFoundError, EOFError):
                raise Elsewhere(
                    f"somebody else ships {run!r}, too. Look again, and send what the lake lacks."
                ) from None

    def _state(self, copy: Copy, run: str, after: int) -> State:
        if copy.pusher is not None and copy.pusher.held is not None and copy.pusher.held.ship == after:
            return copy.pusher.held
        state = ledger.read(self.place, run)
        if state.ship != after:
            raise Elsewhere(
                f"the lake has ship {state.ship} of {run!r}, and the sender knows of {after}."
                " Look again, and send what it lacks."
            )
        copy.clear()
        return state

    def _pushed(
        self,
        copy: Copy,
        state: State,
        project: str,
        objects: list[Object],
        still: Callable[[], object],
        sender: Sender,
    ) -> tuple[int, int]:
        """Make the copy equal to what the sender has, and push it. A failure drops the copy."""
        try:
            with self._preparing:
                self._bring(copy, state, objects)
                still()
                if copy.pusher is None:
                    copy.pusher = Pusher(self.place, copy.path, self._objects, state, self._commit, sender.name)
                _check_named(copy.path, project)
                with self._objects.stored({object.key for object in objects}):
                    pushed = copy.pusher.push()
        except BaseException:
            copy.clear()
            raise
        held = copy.pusher.held
        assert held is not None
        with contextlib.suppress(OSError, RollscopeError):  # the lake has it: who hears of it can look there
            self._shipped(os.path.basename(copy.path), held, self._objects)
        self.quotas.count(project, pushed.bytes, [object.key for object in objects])
        return held.ship, pushed.rows

    def _commit(self, order: Order) -> None:
        """Commit with those who wait; others are prepared meanwhile."""
        self._preparing.release()
        try:
            self._together.commit(order)
        finally:
            self._preparing.acquire()

    def _bring(self, copy: Copy, state: State, objects: list[Object]) -> None:
        """Bring the files of a copy to what the sender has."""
        earlier = [object for parts in state.files.values() for object in parts]
        now = spool.held([*earlier, *sorted(objects, key=lambda object: object.kind != "gone")])
        for name, parts in now.items():
            _check_whole(name, parts)
        gone = {*state.gone, *(object.name for object in objects if object.kind == "gone")}
        try:
            bring(self._objects, copy.path, now, gone - now.keys())
        except CorruptFile as error:
            raise Elsewhere(f"{str(error).partition(':')[0]}. Send it again.") from None

    def say(self, project: str, run: str, lines: Sequence[str], sender: Sender = ANYBODY) -> int:
        """Take what people said about a run where it is recorded; return how many entries are new.

        What is about anything else is passed over, and so are names and tags of a run that the
        sender did not record.
        """
        _check_run(run)
        state = ledger.read(self.place, run)
        check_project(state, project, run)
        wanted = said.of_run(map(_entry, lines), run) if state.ship else []
        if sender.kinds is not None and not sender.records(state.recorder):
            wanted = said.of_kinds(wanted, sender.kinds)
        return len(said.shipped(self.place, wanted)) if wanted else 0

    def close(self) -> None:
        self._copies.close()


def _entry(line: str) -> Entry:
    try:
        return parsed(line.encode("utf-8", "replace"))
    except ValueError as error:
        raise BadInput(f"{line[:80]!r} is no line of a project log: {error}") from None


def key_of(project: str, run: str, object: Object) -> str:
    return f"{spool.prefix_of(project, run)}/{object.name}/{object.start}-{object.sha256[:16]}"


def _with_key(project: str, run: str, object: Object) -> Object:
    if object.kind == "gone":
        _check_name(object.name)
        return Object(object.name, "gone", 0, 0, "", "", 0)
    _check_object(object)
    key = key_of(project, run, object)
    return Object(object.name, object.kind, object.start, object.bytes, object.sha256, key, object.time_ns)


def _check_named(path: str, project: str) -> None:
    named = project_of(path)
    if named != project:
        raise BadInput(f"run.json says project {named[:80]!r}, and the run was sent as one of {project[:80]!r}")


def check_project(state: State, project: str, run: str) -> None:
    """Refuse a run whose id another project has. Whose it is, is not said."""
    if state.ship and state.project != project:
        raise BadInput(
            f"the lake cannot take a run {run!r}: its id is taken. Rename the run's folder, and push it again."
        )


def _check_recorder(state: State, run: str, sender: Sender) -> None:
    """Refuse more of a run that somebody else records: its `run.json` has its name and its tags."""
    if state.recorder and not sender.records(state.recorder):
        raise NotAllowed(
            f"the run {run!r} is recorded with another token than that of {sender.name!r}. Ship it with a token of the"
            " same name as that one, or with one that may admin."
        )


def _check_run(run: str) -> None:
    if not _RUN.fullmatch(run) or run in (".", "..", *NEVER_RUNS):
        raise BadInput(f"{run[:80]!r} cannot be the id of a run: expected the name of a folder")


def _check_name(name: str) -> None:
    inside = _IN_SET.fullmatch(name)
    is_known = name == RUN_JSON or SMALL.fullmatch(name) or files.NAME.fullmatch(name)
    if not is_known and not (inside and inside["set"].endswith(SUFFIX)):
        raise BadInput(f"{name[:80]!r} is no file of a run: expected {RUN_JSON}, a log, or a file of a set")


def _check_object(object: Object) -> None:
    _check_name(object.name)
    is_range = object.kind == "range" and object.start >= 0
    if not is_range and (object.kind, object.start) != ("whole", 0):
        raise BadInput(f"{object.name}: expected kind 'whole' from byte 0, or 'range'; got {object.kind[:40]!r}")
    if not 0 <= object.bytes <= PIECE or not _SHA256.fullmatch(object.sha256):
        raise BadInput(f"{object.name}: an object has a SHA-256 and at most {PIECE:,} bytes; got {object.bytes:,}")


def _check_whole(name: str, parts: Sequence[Object]) -> None:
    """The objects of a file join without a gap."""
    at = 0
    for part in parts:
        if part.start != at:
            raise Elsewhere(
                f"{name}: bytes from {part.start:,} on were sent, and the lake has {at:,} of it. Look again."
            )
        at = part.end
