"""The process that ships and looks at the lake, as the server that started it sees it.

Shipping computes: in the server's own process it would keep pages waiting. The process is started
again if it ends. Requests that it had not answered then fail with a sentence, and trainers send
them again: a ship is in the lake whole or not at all.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

from rollscope import isolated
from rollscope.access.book import Token
from rollscope.errors import MachineBusy
from rollscope.lake.cache import mirror
from rollscope.lake.ledger import State
from rollscope.lake.place import Place
from rollscope.lake.spool import Object

from .sender import Sender

PROGRAM = "rollscope.lake.serving.child"
READY, SAYS, LOOKED = "ready", "says", "looked"  # what the program tells without a request
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before it is started again, if it ends again and again
CLOSE_SECONDS = 5.0  # for it to remove its working copies


class Ended(MachineBusy):
    """The process ended before it answered."""


class Worker:
    """One process. Requests may come from any thread, and none of them waits.

    `say` hears when the lake cannot be read. The first start raises a sentence if it cannot.
    """

    def __init__(self, place: Place, say: Callable[[str], None]) -> None:
        self.place, self.folder = place, mirror.prepare(place)
        self._say, self._looked = say, -math.inf
        self._numbers, self._asked = itertools.count(1), dict[int, Future[Any]]()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._process = self._started()
        self._thread = threading.Thread(target=self._keep, name="rollscope-shipping", daemon=True)
        self._thread.start()

    def behind(self) -> float:
        """Seconds since all of the lake was looked at; infinite before."""
        return time.monotonic() - self._looked

    # ---- requests

    def held(self, run: str, projects: Collection[str] | None) -> Future[State]:
        """What the lake holds of a run of these projects, or of any."""
        return self._ask("held", run, projects)

    def put(self, project: str, run: str, object: Object, data: bytes, token: Token | None) -> Future[None]:
        """Store the bytes of an object, if the token still holds."""
        return self._ask("put", project, run, object, data, token)

    def ship(
        self, project: str, run: str, after: int, objects: Sequence[Object], sender: Sender, token: Token | None
    ) -> Future[tuple[int, int]]:
        """Ship objects that were put: the number of the lake's last ship, and rows added."""
        return self._ask("ship", project, run, after, objects, sender, token)

    def say(self, project: str, run: str, lines: Sequence[str], sender: Sender) -> Future[int]:
        """Take what people said about a run: how many entries are new."""
        return self._ask("say", project, run, lines, sender)

    def _ask(self, kind: str, *arguments: Any) -> Future[Any]:
        future, number = Future[Any](), next(self._numbers)
        future.set_running_or_notify_cancel()  # it is answered also if nobody waits any more
        with self._lock:
            if not self._process.is_open:
                raise Ended("the process that ships runs is started again. Nothing is lost: send this again.")
            self._asked[number] = future
            self._process.out.put((number, kind, arguments))
        return future

    # ---- the process

    def _started(self) -> Process:
        """Start it, and wait until it has looked at the lake."""
        process = Process(self.place)
        try:
            self._looked = process.ready()
        except BaseException:
            process.end()
            raise
        threading.Thread(target=process.send_all, name="rollscope-to-ship", daemon=True).start()
        return process

    def _keep(self) -> None:
        """Take answers; start the process again for as long as this one lives."""
        wait = 0.0
        while not self._closed.is_set():
            began, is_said = time.monotonic(), False
            self._listen()
            self._end()
            wait = 0.0 if time.monotonic() - began > LONGEST_WAIT else wait
            while not self._closed.wait(wait) and (why := self._start_again()):
                if not is_said:
                    self._tell(f"the process that ships runs cannot start, and is tried again: {why}")
                wait, is_said = min(LONGEST_WAIT, 2 * wait + FIRST_WAIT), True
            wait = min(LONGEST_WAIT, 2 * wait + FIRST_WAIT)

    def _start_again(self) -> str:
        """Start the process; say why if it cannot."""
        try:
            process = self._started()
        except Exception as error:
            return str(error) or repr(error)
        with self._lock:
            self._process = process
            if self._closed.is_set():  # nobody else ends this one
                process.hang_up()
        return ""

    def _listen(self) -> None:
        """Take answers until the process ends, or says what cannot be understood."""
        try:
            while True:
                self._hear(*self._process.pipe.recv())
        except Exception as error:
            if not isinstance(error, EOFError | OSError):
                self._tell(f"the process that ships runs said what cannot be understood: {error!r}")

    def _hear(self, head: Any, *rest: Any) -> None:
        if head == LOOKED:
            (self._looked,) = rest
        elif head == SAYS:
            self._tell(*rest)
        else:
            _settle(self._asked.pop(head), *rest)

    def _tell(self, text: str) -> None:
        """Say something, to a log whose disk may be full: shipping goes on."""
        with contextlib.suppress(OSError, ValueError):
            self._say(text)

    def _end(self) -> None:
        """Requests that were not answered fail."""
        with self._lock:
            self._process.is_open = False
            asked, self._asked = self._asked, {}
        code = self._process.end()
        if not self._closed.is_set():
            self._tell(f"the process that ships runs ended (code {code}), and is started again")
        for future in asked.values():
            future.set_exception(
                Ended(f"the process that ships runs ended (code {code}). Nothing is lost: send this again.")
            )

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed.set()
            self._process.hang_up()
        self._thread.join(2 * CLOSE_SECONDS)


class Process:
    """One start of the program, and the pipe to it."""

    def __init__(self, place: Place) -> None:
        self._mine, its = socket.socketpair()
        self.pipe, self.is_open = Connection(os.dup(self._mine.fileno())), True
        self.out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with its:
            self._process = subprocess.Popen(
                isolated.command(PROGRAM, place.folder, str(its.fileno())),
                env=isolated.environment(),
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends its processes
            )

    def ready(self) -> float:
        """When it looked at the lake; raises what kept it from doing so."""
        try:
            _, said = self.pipe.recv()
        except (EOFError, OSError):
            raise Ended(f"the process that ships runs did not start (code {self.end()})") from None
        if isinstance(said, tuple):
            raise error_of(*said)
        return float(said)

    def send_all(self) -> None:
        """Send requests. A process that does not read them keeps nobody waiting but this thread."""
        while (message := self.out.get()) is not None:
            try:
                self.pipe.send(message)
            except OSError:  # it has ended: who listens to it hears that, too
                return

    def hang_up(self) -> None:
        """Let both ends hear that nothing more is said."""
        with contextlib.suppress(OSError):  # the other end was faster
            self._mine.shutdown(socket.SHUT_RDWR)

    def end(self) -> int:
        """Wait until it has ended, or end it; return its exit code."""
        self.out.put(None)
        self.hang_up()
        try:
            code = self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._mine.close()
        self.pipe.close()
        return code


def _settle(future: Future[Any], answer: Any, error: tuple[type[Exception], str] | None) -> None:
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error_of(*error))


def error_of(kind: type[Exception], says: str) -> Exception:
    """An error of the process, to be raised again here."""
    error = kind.__new__(kind)  # some take other arguments than a sentence
    error.args = (says,)
    return error
