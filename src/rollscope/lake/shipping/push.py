"""Ship one run: its files as objects, and the rows that the lake lacks, until it lacks nothing.

Sets are shipped one by one, then the growth of the logs. Each ship is one transaction, prepared
from what the lake holds; a ship that was killed has added nothing, and is prepared again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rollscope.errors import BadInput, CannotWrite, NotFound
from rollscope.lake import ledger
from rollscope.lake.ledger import Behind, Order, Ship, State
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.lake.said import Saying
from rollscope.store import run_json
from rollscope.store.folder import Folder
from rollscope.store.listing.entries import is_run
from rollscope.store.sealed.select import let_go_of

from . import parts
from .loading import Loading

NO_PROJECT = "default"
TRIES = 20  # looks at a folder that is sealed or merged meanwhile


@dataclass(slots=True)
class Pushed:
    """What a push added."""

    run: str
    objects: int = 0
    bytes: int = 0
    rows: int = 0
    ships: int = 0


class Pusher:
    """Ships one run. It remembers what the lake holds, so a second call reads only what is new.

    With a `state`, the folder is a copy that was made of it and of what came later. If somebody
    else ships more, the copy lacks that, and Behind is raised. `commit` ships what is ready. `by`
    is the name of the token that asked for it.
    """

    def __init__(
        self,
        place: Place,
        path: str,
        objects: Objects | None = None,
        state: State | None = None,
        commit: Callable[[Order], None] | None = None,
        by: str = "",
    ) -> None:
        if not os.path.isdir(path) or not is_run(path):
            raise NotFound(f"{path!r} is no run: it has neither a run.json nor a log. List runs with: rollscope ls")
        self.place, self.path = place, path
        self.run = os.path.basename(os.path.abspath(path))
        self._objects = objects or Objects(place)
        self._folder, self._commit = Folder(path), commit or partial(ledger.commit, place)
        self._state, self._is_copy, self._by = state, state is not None, by
        self._saying = Saying(place, os.path.dirname(os.path.abspath(path)))

    @property
    def held(self) -> State | None:
        """What the lake holds of the run, after a push; None if that is not known."""
        return self._state

    def push(self, progress: Callable[[Pushed], None] | None = None) -> Pushed:
        """Ship until the lake lacks nothing that the folder held when this began."""
        pushed, lost = Pushed(self.run), 0
        while True:
            try:
                is_last = self._ship(pushed)
            except (Behind, FileNotFoundError, EOFError):
                lost, self._state = lost + 1, None
                if self._is_copy:
                    raise
                if lost > TRIES:
                    raise CannotWrite(f"the run {self.run!r} changes all the time: push it again in a moment") from None
                continue
            except BaseException:  # whether it was committed is not known: look again next time
                self._state = None
                raise
            if progress is not None:
                progress(pushed)
            if is_last:
                self._saying.ship((self.run,))
                return pushed

    def _ship(self, pushed: Pushed) -> bool:
        """Make one ship; True if it was the last one."""
        state = self._state if self._state is not None else ledger.read(self.place, self.run)
        self._folder.refresh()
        facts = self._folder.facts()
        project, origin = _project(facts), _origin(facts)
        _check_same(self.run, state, project, origin)
        if not state.let_go <= let_go_of(self._folder.sets).keys():
            self._check_nothing_new(state)
            return True
        sealed = parts.lacking_set(self._folder, state.parts)
        loading = Loading(self._folder, state, project)
        if sealed is not None:
            loading.add_set(sealed)
        else:
            loading.add_growth()
        self._put(loading)
        if not loading.ship.is_empty():
            loading.ship.by = self._by
            self._commit(Order(self.run, state, project, origin, loading.ship))
            state = ledger.added(state, project, origin, loading.ship)
            _count(pushed, loading.ship)
        self._state = state
        return sealed is None

    def _check_nothing_new(self, state: State) -> None:
        """The lake let go of what this folder still holds: nothing of it is shipped again."""
        if parts.lacking_set(self._folder, state.parts) or parts.of_logs(self.path, self._folder, state.parts):
            raise BadInput(
                f"the lake has let go of the {' and the '.join(sorted(state.let_go))} of the run {self.run!r} by its"
                " rule, and the folder of the run has grown since. Give the new part an id of its own, and push it."
            )

    def _put(self, loading: Loading) -> None:
        """Store the objects of a ship; nothing refers to them before it is committed."""
        for object, stretch in loading.objects():
            self._objects.put(object.key, stretch)
            loading.ship.objects.append(object)


def _count(pushed: Pushed, ship: Ship) -> None:
    pushed.ships += 1
    pushed.objects += sum(object.kind != "gone" for object in ship.objects)
    pushed.bytes += sum(object.bytes for object in ship.objects)
    pushed.rows += sum(len(rows) for table, parts in ship.rows.items() if table != "runs" for rows in parts)


def project_of(path: str) -> str:
    """The project of a run's folder."""
    return _project(run_json.read(path)[0])


def _project(facts: dict[str, object]) -> str:
    return str(facts.get("project") or NO_PROJECT)


def _origin(facts: dict[str, object]) -> str:
    """What tells a run from another of the same id: when its first attempt began."""
    attempts = facts.get("attempts")
    first = attempts[0] if isinstance(attempts, list) and attempts and isinstance(attempts[0], dict) else facts
    return str(first.get("started_ns") or "")


def _check_same(run: str, state: State, project: str, origin: str) -> None:
    if state.ship and (state.project, state.origin) != (project, origin):
        raise BadInput(
            f"the lake holds another run {run!r}, of the project {state.project!r}, which began at another time."
            " Ids are unique in a lake: rename the folder of this run, and push it again."
        )
