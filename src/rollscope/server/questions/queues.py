"""Who asks next: a queue of heavy questions for each client, and a few workers that answer them.

Clients take turns, and no client has all the workers: forty questions of one wait for each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import IO, Any

from rollscope.errors import RollscopeError
from rollscope.store.tables import spill

from .worker import Worker

WORKERS = 3
WORKERS_OF_CLIENT = 2
WAITING_OF_CLIENT = 64
WAITING = 512


class Busy(RollscopeError):
    """Too many questions wait already."""

    status = 429


class Ticket:
    """A question in its queue. The future has the answer."""

    def __init__(self, client: str, kind: str, limit: float, question: Mapping[str, Any]) -> None:
        self.client, self.kind, self.limit, self.question = client, kind, limit, question
        self.future: Future[IO[bytes]] = Future()
        self.worker: Worker | None = None  # while it is answered


class Queues:
    """The questions of all clients. Threads and processes start when they are needed."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Ticket]] = {}  # client -> its questions; the next client stands first
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []
        self._idle = 0
        self._closed = False

    def add(self, client: str, kind: str, limit: float, question: Mapping[str, Any]) -> Ticket:
        """Queue a question. Raises Busy if too many wait."""
        ticket = Ticket(client, kind, limit, question)
        with self._changed:
            self._check_room(client)
            self._waiting.setdefault(client, deque()).append(ticket)
            if not self._idle and len(self._threads) < WORKERS:
                self._start_thread()
            self._changed.notify_all()
        return ticket

    def withdraw(self, ticket: Ticket) -> None:
        """Forget a question whose client has left: out of its queue, or out of its worker."""
        with self._changed:
            if ticket.worker is not None:
                ticket.worker.stop()
            elif ticket in (queue := self._waiting.get(ticket.client, deque())):
                queue.remove(ticket)
                ticket.future.cancel()

    def close(self) -> None:
        """End every process. Questions that wait are cancelled."""
        with self._changed:
            self._closed = True
            for ticket in [ticket for queue in self._waiting.values() for ticket in queue]:
                ticket.future.cancel()
            self._waiting.clear()
            for worker in self._workers:
                worker.stop()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _check_room(self, client: str) -> None:
        mine, all_waiting = len(self._waiting.get(client, ())), sum(map(len, self._waiting.values()))
        if self._closed or mine >= WAITING_OF_CLIENT or all_waiting >= WAITING:
            raise Busy(
                f"{mine} questions of yours and {all_waiting - mine} of others wait for an answer already."
                " Ask again when some of them are answered."
            )

    def _start_thread(self) -> None:
        worker = Worker()
        thread = threading.Thread(target=self._work, args=(worker,), daemon=True, name="rollscope-questions")
        self._workers.append(worker)
        self._threads.append(thread)
        thread.start()

    def _work(self, worker: Worker) -> None:
        while (ticket := self._take(worker)) is not None:
            self._answer(ticket, worker)
        worker.close()
        spill.sweep()

    def _take(self, worker: Worker) -> Ticket | None:
        """The next question, when there is one; None when the server stops."""
        with self._changed:
            self._idle += 1
            while (ticket := self._next()) is None and not self._closed:
                self._changed.wait()
            self._idle -= 1
            if ticket is not None:
                worker.begin()
                ticket.worker = worker
                self._running[ticket.client] += 1
            return ticket

    def _next(self) -> Ticket | None:
        """The first question of the first client that has a worker to spare."""
        for client, queue in list(self._waiting.items()):
            if not queue:
                del self._waiting[client]
            elif self._running[client] < WORKERS_OF_CLIENT:
                self._waiting[client] = self._waiting.pop(client)  # its turn comes again after all others
                return queue.popleft()
        return None

    def _answer(self, ticket: Ticket, worker: Worker) -> None:
        answer: IO[bytes] | None = None
        error: BaseException | None = None
        try:
            answer = worker.ask(ticket.kind, ticket.limit, ticket.question)
        except Exception as raised:
            error = raised
        with self._changed:  # from here on `withdraw` finds no worker
            ticket.worker = None
            self._running[ticket.client] -= 1
            self._running += Counter()  # drops clients that have none
            self._changed.notify_all()
        _settle(ticket.future, answer, error)
        if not worker.is_running():
            spill.sweep()  # what an ended process spilled


def _settle(future: Future[IO[bytes]], answer: IO[bytes] | None, error: BaseException | None) -> None:
    if not future.set_running_or_notify_cancel():
        with contextlib.suppress(OSError):
            if answer is not None:
                answer.close()
    elif error is not None:
        future.set_exception(error)
    elif answer is not None:
        future.set_result(answer)
