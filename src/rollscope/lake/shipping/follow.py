"""Ship a run while it is recorded, until it is over and the lake has everything.

A lake that is down costs nothing but time: the run's folder keeps everything, the next try is made
after a while, and the first one that succeeds ships all that has come together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from rollscope.errors import BadInput, NotAllowed, NotSignedIn, RollscopeError
from rollscope.store import state
from rollscope.store.folder import Folder
from rollscope.store.listing.entries import is_run

from .push import Pushed

TICK_SECONDS = 5.0  # from ship to ship: a live run is in the lake within 15 s
LONGEST_TICK = 10.0  # while the lake is slow
SLOW = 4.0  # times as long as a ship took: a lake that many ship to is asked less often
SHORTEST_WAIT = 1.0  # also of a lake that is slower than that
LONGEST_WAIT = 60.0  # after failures
REFUSED_WAIT = 3600.0  # after the server refused the token: a person must change something
BEGIN_LOOKS = 60  # seconds that a run has to begin


class Ships(Protocol):
    """What ships one run."""

    def push(self) -> Pushed: ...


def follow(
    begin: Callable[[str], Ships],
    path: str,
    say: Callable[[str], None],
    shipped: Callable[[Pushed], None] = lambda pushed: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Ship until the run is over. `say` hears when the lake is down, and when it is back.

    `begin(path)` makes what ships, once the run is there. A server that refuses is told of once and
    asked again every hour; one that refuses a run which is over ends this with its sentence.
    """
    _wait_for_run(path, sleep)
    pusher, folder, wait, quiet = begin(path), Folder(path), TICK_SECONDS, 0  # one folder: a look reads what is new
    down = False
    while quiet < 2:  # a run that is over is sealed and merged meanwhile: until two looks find nothing
        folder.refresh()
        over, began = state.state(folder) != "running", clock()
        try:
            pushed = pusher.push()
        except BadInput:  # another run has its id: no later try helps
            raise
        except (NotAllowed, NotSignedIn) as error:
            if over:
                raise
            if wait != REFUSED_WAIT:
                say(f"shipping is refused, and tried again every hour; the run's folder keeps everything: {error}")
            wait, quiet, down = REFUSED_WAIT, 0, True
        except (RollscopeError, OSError) as error:
            if not down:
                say(f"nothing is lost, the run's folder keeps it, and shipping is tried again: {error}")
            wait, quiet, down = min(2 * wait, LONGEST_WAIT), 0, True
        else:
            if down:
                say("the lake is back, and has everything again")
            wait, down = _until_next(clock() - began), False
            quiet = quiet + 1 if over and not pushed.ships else 0
            shipped(pushed)
        if quiet < 2:
            sleep(wait)


def _until_next(took: float) -> float:
    """How long to wait after a ship that took so many seconds."""
    return max(SHORTEST_WAIT, min(max(TICK_SECONDS, SLOW * took), LONGEST_TICK) - took)


def _wait_for_run(path: str, sleep: Callable[[float], None]) -> None:
    """A shipper may start before the run has written its first file."""
    for _ in range(BEGIN_LOOKS):
        if is_run(path):
            return
        sleep(1.0)
