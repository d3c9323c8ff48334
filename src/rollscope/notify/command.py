"""Give a notice to a command of one's own: JSON on its standard input, no shell."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass, field

from .delivery import NotSent, Refused, Unanswered
from .notice import Notice
from .shape import plain

WAIT_SECONDS = 30.0
TRY_AGAIN = 75  # the exit code EX_TEMPFAIL of sysexits.h


@dataclass(frozen=True, slots=True)
class Command:
    shown: str
    words: tuple[str, ...] = field(repr=False)

    def send(self, notice: Notice) -> None:
        environment = os.environ | {"ROLLSCOPE_EVENT": notice.event, "ROLLSCOPE_TITLE": notice.title}
        try:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Refused(f"the command cannot be started ({getattr(error, 'strerror', None) or error})") from None
        _wait(process, json.dumps(plain(notice)).encode())


def _wait(process: subprocess.Popen[bytes], text: bytes) -> None:
    try:
        process.communicate(text, timeout=WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        raise Unanswered(f"the command was stopped: it ran for more than {WAIT_SECONDS:.0f} s") from None
    except BaseException:
        _end(process)
        raise
    if process.returncode == TRY_AGAIN:
        raise NotSent(f"the command ended with code {TRY_AGAIN}, which asks to try again")
    if process.returncode:
        raise Refused(f"the command ended with code {process.returncode}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and what it started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
