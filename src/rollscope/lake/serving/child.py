"""The program of the process that ships what trainers send, and keeps a cache equal to its lake.

Requests come over a pipe from the server that started it, each with a number, and are answered in
any order. It ends when that server goes: what was not answered was not shipped, as far as any
trainer knows, and what was shipped is in the lake.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from multiprocessing.connection import Connection
from typing import Any

from rollscope import memory
from rollscope.access.book import Book, Token
from rollscope.access.tokens import still_good
from rollscope.errors import MachineBusy, RollscopeError
from rollscope.lake import place as places
from rollscope.lake.cache.mirroring import Mirroring
from rollscope.lake.ledger import State
from rollscope.lake.place import Place
from rollscope.lake.spool import Object

from . import team, tokens
from .intake import Intake
from .quotas import Quotas
from .sender import Sender
from .worker import LOOKED, READY, SAYS

FIRST_RUNS = 50  # of a lake that are there before a page opens; the others follow
AT_ONCE = 96  # requests: as many as a server sends, and some


class Child:
    """Answers requests, each in a thread."""

    def __init__(self, pipe: Connection, place: Place) -> None:
        self.place, self._pipe = place, pipe
        self._sending = threading.Lock()
        self._mirroring = Mirroring(place)
        self._intake = Intake(place, Quotas(place, team.read(place).quotas), self._mirroring.shipped)
        self._threads = ThreadPoolExecutor(AT_ONCE, "rollscope-ship")
        self._kinds: dict[str, Callable[..., Any]] = {
            "held": self._held,
            "put": self._put,
            "ship": self._ship,
            "say": self._say,
        }

    def begin(self) -> None:
        """Look at the lake, and say so. Raises a sentence."""
        self._mirroring.look(most=FIRST_RUNS)
        self._send(READY, self._mirroring.looked)

    def run(self) -> None:
        """Answer until the server goes, and go on looking at the lake."""
        self._mirroring.keep_looking(partial(self._send, SAYS), partial(self._send, LOOKED))
        try:
            while True:
                self._threads.submit(self._answer, *self._pipe.recv())
        except (EOFError, OSError):
            self._intake.close()

    def _answer(self, number: int, kind: str, arguments: Sequence[Any]) -> None:
        try:
            answer, error = self._kinds[kind](*arguments), None
        except Exception as raised:
            answer, error = None, portable(raised)
        try:
            self._send(number, answer, error)
        except Exception as raised:  # an answer that cannot travel is one, too: somebody waits for it
            self._send(number, None, portable(raised))

    def _send(self, *message: Any) -> None:
        with self._sending:
            try:
                self._pipe.send(message)
            except OSError:  # the server has gone
                os._exit(0)

    # ---- what can be asked

    @cached_property
    def _book(self) -> Book:
        return tokens.book(self.place)

    def _check(self, token: Token | None) -> None:
        if token is not None:
            still_good(self._book, token)

    def _held(self, run: str, projects: Collection[str] | None) -> State:
        return self._intake.held(run, projects)

    def _put(self, project: str, run: str, object: Object, data: bytes, token: Token | None) -> None:
        self._check(token)
        self._intake.put(project, run, object, data)

    def _ship(
        self, project: str, run: str, after: int, objects: Sequence[Object], sender: Sender, token: Token | None
    ) -> tuple[int, int]:
        return self._intake.ship(project, run, after, objects, partial(self._check, token), sender)

    def _say(self, project: str, run: str, lines: Sequence[str], sender: Sender) -> int:
        return self._intake.say(project, run, lines, sender)


def portable(error: Exception) -> tuple[type[Exception], str]:
    """An error as it travels. One that is no sentence of ours is a bug, which is printed here."""
    if isinstance(error, RollscopeError):
        return type(error), str(error)
    if isinstance(error, OSError):
        why = f"the server could not read or write a file ({error.strerror or error})"
        return MachineBusy, f"{why}. Nothing is lost: send this again."
    with contextlib.suppress(OSError, ValueError):  # nobody reads it, or the disk of its log is full
        traceback.print_exception(error)
    return RuntimeError, f"{type(error).__name__}: {error}"


def main() -> None:
    memory.prepare()
    folder, pipe = sys.argv[1], Connection(int(sys.argv[2]))
    try:
        child = Child(pipe, places.read(folder))
        memory.keep_trimming()
        child.begin()
    except Exception as error:
        pipe.send((READY, portable(error)))
        os._exit(0)
    try:
        child.run()
    except BaseException as error:  # the server hears that this process ended, and starts another
        portable(error if isinstance(error, Exception) else RuntimeError(repr(error)))
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
