"""Commit the ships that wait together in one transaction.

A transaction costs the catalogue more than the rows of one more run in it. So while one is under
way, ships gather, and the next transaction takes them all.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from rollscope.errors import RollscopeError
from rollscope.lake import ledger
from rollscope.lake.ledger import Behind, Order
from rollscope.lake.place import Place


@dataclass(slots=True)
class Waiting:
    """A ship, and what became of it."""

    order: Order
    is_done: bool = False
    error: BaseException | None = None


class Together:
    """Threads call `commit` at once, each for a run of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._waiting: list[Waiting] = []
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def commit(self, order: Order) -> None:
        """Ship; whoever has the turn ships for all who wait. Raises as `ledger.commit` does."""
        mine = Waiting(order)
        with self._lock:
            self._waiting.append(mine)
        with self._turn:
            if not mine.is_done:
                self._commit(self._gathered())
        if mine.error is not None:
            raise mine.error

    def _gathered(self) -> list[Waiting]:
        with self._lock:
            gathered, self._waiting = self._waiting, []
        return gathered

    def _commit(self, gathered: list[Waiting]) -> None:
        try:
            shipped = ledger.commit_all(self.place, [one.order for one in gathered])
        except (RollscopeError, Behind) as error:
            if len(gathered) == 1:
                _end(gathered[0], error)
                return
            for one in gathered:  # so that one bad ship fails alone
                self._commit([one])
        except BaseException as error:
            for one in gathered:
                _end(one, error)
        else:
            for one in gathered:
                _end(one, None if one.order.run in shipped else Behind())


def _end(one: Waiting, error: BaseException | None) -> None:
    one.is_done, one.error = True, error
