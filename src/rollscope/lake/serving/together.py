"""Commit the ships that wait together in one transaction.

A transaction costs the catalogue more than the rows of one more run in it: 64 runs in one took a
sixth of the processor time that they took in eight. So ships gather while a transaction is under
way and for a while after it, and the next one takes them all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rollscope.lake import ledger
from rollscope.lake.ledger import Behind, Order
from rollscope.lake.place import Place

REST = 2.0  # times as long as a transaction took: for so long ships gather
MOST_REST = 1.0  # seconds: a live run is in the lake within 15 s


@dataclass(slots=True)
class Waiting:
    """A ship, and what became of it."""

    order: Order
    is_done: bool = False
    error: BaseException | None = None


class Together:
    """Threads call `commit` at once, each for a run of its own."""

    def __init__(self, place: Place, sleep: Callable[[float], None] = time.sleep) -> None:
        self.place, self._sleep = place, sleep
        self._waiting: list[Waiting] = []
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._runs: set[str] = set()  # of the last transaction
        self._next = 0.0  # when another one may begin

    def commit(self, order: Order) -> None:
        """Ship. One thread ships for all who wait. Raises as `ledger.commit` does."""
        mine = Waiting(order)
        with self._lock:
            self._waiting.append(mine)
        with self._turn:
            if not mine.is_done:
                self._rest(order.run)
                began, gathered = time.monotonic(), self._gathered()
                self._commit(gathered)
                ended = time.monotonic()
                self._next = ended + min(MOST_REST, REST * (ended - began))
                self._runs = {one.order.run for one in gathered}
        if mine.error is not None:
            raise mine.error

    def _rest(self, run: str) -> None:
        """Wait for the ships of others; a run that ships alone waits for nobody."""
        if self._runs - {run}:
            self._sleep(max(0.0, self._next - time.monotonic()))

    def _gathered(self) -> list[Waiting]:
        with self._lock:
            gathered, self._waiting = self._waiting, []
        return gathered

    def _commit(self, gathered: list[Waiting]) -> None:
        try:
            shipped = ledger.commit_all(self.place, [one.order for one in gathered])
        except Exception as error:  # a sentence, Behind, or a row that Arrow does not take
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
