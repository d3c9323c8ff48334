"""How the processes of one launch find the same run without talking to each other.

Shard 0 decides which run it is and leaves a note in `.join/`, in a file named after what the
launcher gave to all of them. The other shards wait a moment for the note. On a busy cluster shard 0
may come minutes later: then the first shard that has waited decides, and shard 0 joins its run.

Two jobs must not join each other, even if they start in the same minute, in one shared folder, with
one script. So the name holds the job: its scheduler's id, its rendezvous, its folder and command,
and, where the rendezvous is this machine itself, the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollscope.store.log import lock, process
from rollscope.store.log.lock import Lock, taking

if TYPE_CHECKING:
    from .identity import Attempt, RunRequest

WAIT_SECONDS = 20.0  # longer than a writer goes without touching its log
FRESH_SECONDS = 60.0  # how much earlier than this process its shard 0 may have started
DAY = 86_400.0
# Set by schedulers, with one value for all processes of a job.
_SCHEDULERS = (
    *("SLURM_JOB_ID", "SLURM_STEP_ID", "RAY_JOB_ID", "LSB_JOBID", "PBS_JOBID", "JOB_ID", "COBALT_JOBID"),
    *("OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "AWS_BATCH_JOB_ID", "CLOUD_ML_JOB_ID", "KUBERNETES_JOB_NAME"),
)
_RENDEZVOUS = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT")
_NOTHING = re.compile(r"|none|null|nil|nan|n/?a|undefined|unknown|unset|false|true|default|-\d+|0+", re.IGNORECASE)
_LOOPBACK = re.compile(r"localhost(\.localdomain)?|127(\.\d+){3}|::1|0\.0\.0\.0|")
_RANK_ARGUMENT = re.compile(r"--?(local[_-]?|node[_-]?|global[_-]?|machine[_-]?)?rank(=.*)?")
_IMPORTED = time.time()


def job_words() -> list[str]:
    """What the environment says about the job: equal in all its processes, different in others.

    A rendezvous on the loopback address exists once on every machine, so it needs the machine too.
    """
    scheduler = [f"{name}={word}" for name in _SCHEDULERS if (word := _job_id(name))]
    rendezvous = [f"{name}={word}" for name in _RENDEZVOUS if (word := os.environ.get(name, "").strip())]
    is_local = _LOOPBACK.fullmatch(os.environ.get("MASTER_ADDR", "").strip()) is not None
    machine = [process.boot_id() or os.uname().nodename] if is_local and not scheduler and rendezvous else []
    return [*scheduler, *rendezvous, *machine]


def _job_id(name: str) -> str:
    """The job's id in a variable; empty for words such as `None`, which many jobs would share."""
    word = os.environ.get(name, "").strip()
    return "" if _NOTHING.fullmatch(word) else word


def job_key() -> str:
    """A word for the job of this process; empty if no launcher says anything."""
    words = job_words()
    return _hashed(words) if words else ""


def launch_key(request: RunRequest) -> str:
    """A word that the processes of one launch have in common."""
    words = [request.id or "", request.name or "", request.project or "", str(request.shards)]
    return _hashed([*job_words(), *_program(), *words])


def _program() -> list[str]:
    """The working folder and the command. Ray's workers have others than their driver."""
    if _job_id("RAY_JOB_ID"):
        return []
    with contextlib.suppress(OSError):
        return [os.getcwd(), *without_ranks(sys.argv)]
    return without_ranks(sys.argv)


def without_ranks(arguments: Sequence[str]) -> list[str]:
    """A command line without what may differ between the ranks of a job.

    That is every whole number, for scripts that take their rank as `train.py 3` or `--rank 3`.
    """
    return [word for word in arguments if not word.isdecimal() and not _RANK_ARGUMENT.fullmatch(word)]


def _hashed(words: Sequence[str]) -> str:
    """A word for these words. JSON keeps what is no Unicode, and where a word ends."""
    return hashlib.blake2b(json.dumps(words).encode(), digest_size=8).hexdigest()


def leave_note(request: RunRequest, attempt: Attempt) -> None:
    """Tell the other shards of this launch which run it is."""
    decision = {name: getattr(attempt, name) for name in ("id", "resumed_from", "last_step")}
    decision["attempt"] = attempt.number
    note = {**decision, "shard": request.shard, "time": time.time(), "process": process.here()}
    with contextlib.suppress(OSError):  # then the other shards wait in vain and record on their own
        path = _path(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, note)


def mark_ended(request: RunRequest) -> None:
    """Add the end to shard 0's note, so that the next launch does not take it for its own."""
    if request.shard != 0 or request.shards == 1:
        return
    path = _path(request)
    with contextlib.suppress(OSError, ValueError):
        _replace(path, json.loads(path.read_text()) | {"ended": time.time()})


def _path(request: RunRequest) -> Path:
    return request.root / ".join" / launch_key(request)


def _replace(path: Path, note: dict[str, Any]) -> None:
    """Write the note under another name and rename it; remove notes older than a day."""
    aside = path.with_suffix(f".{secrets.token_hex(4)}")
    aside.write_text(json.dumps(note))
    os.replace(aside, path)
    for old in path.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > DAY:
                old.unlink(missing_ok=True)


def wait_for_note(request: RunRequest) -> dict[str, Any] | None:
    """What was decided on (`id`, `attempt` and from where), or None if shard 0 is late.

    A note by a process that cannot be seen, on another host, may be of a launch that died: then the
    run must be recorded now.
    """
    until, started = time.monotonic() + WAIT_SECONDS, process_started()
    looks: dict[str, Look] = {}
    while time.monotonic() < until:
        note = read_note(request)
        ours = note is not None and is_of_this_launch(note, started)
        if note is not None and ours is None:
            ours = looks.setdefault(note["id"], Look(request.root / note["id"])).is_recorded()
        if ours:
            return note
        time.sleep(0.05)
    return None


def read_note(request: RunRequest) -> dict[str, Any] | None:
    """The note of this launch or of one before; None if it is missing or incomplete."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        note: dict[str, Any] = {"last_step": None, "shard": 0, **json.loads(_path(request).read_text())}
        return note if {"id", "attempt", "resumed_from", "time", "process"} <= note.keys() else None
    return None


@contextlib.contextmanager
def deciding(request: RunRequest) -> Iterator[None]:
    """One shard of the launch at a time, where the file system has locks."""
    until = time.monotonic() + 2 * WAIT_SECONDS
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path = _path(request).with_suffix(".lock")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            while stack.enter_context(taking(str(path))) is Lock.HELD and time.monotonic() < until:
                stack.close()
                time.sleep(0.05)
        yield


def late_note(request: RunRequest) -> dict[str, Any] | None:
    """What another shard decided: since this one began, or before, if the run is recorded now.

    Shard 0 believes only the others: its own note is that of the launch before.
    """
    note = read_note(request)
    if note is None or "ended" in note or (request.shard == 0 and note["shard"] == 0):
        return None
    if note["time"] >= process_started():
        return note
    alive = process.is_alive(note["process"])
    return note if (_grows(request.root / note["id"]) if alive is None else alive) else None


class Look:
    """Tells whether a run is recorded now, on whatever host: a log of it is touched, or held."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._first, self._next = folder, _logs(folder), 0.0

    def is_recorded(self) -> bool:
        """May be asked often: only once a second does it look at locks."""
        if _logs(self._folder) != self._first:
            return True
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + 1
        return _is_held(self._folder)


def _grows(folder: Path) -> bool:
    """Is the run recorded while this process looks?"""
    look, until = Look(folder), time.monotonic() + WAIT_SECONDS
    while _logs(folder) and time.monotonic() < until:
        if look.is_recorded():
            return True
        time.sleep(0.05)
    return False


def _is_held(folder: Path) -> bool:
    """Does a writer hold the lock of a log? Then it lives, however long it is silent."""
    with contextlib.suppress(OSError):
        return any(lock.look(str(log)) is Lock.HELD for log in folder.glob("*.log"))
    return False


def _logs(folder: Path) -> set[tuple[str, int, int]]:
    with contextlib.suppress(OSError):
        return {(log.name, log.stat().st_size, log.stat().st_mtime_ns) for log in folder.glob("*.log")}
    return set()


def is_of_this_launch(note: dict[str, Any], started: float) -> bool | None:
    """Is the note from the launch of a process that started at `started`? None if nothing tells.

    Two launches from one terminal have the same key. But the processes of the second launch start
    after shard 0 of the first is gone.
    """
    if note["time"] >= started:
        return True
    if note["time"] < started - FRESH_SECONDS:
        return False
    if "ended" in note:
        return bool(note["ended"] >= started)
    return process.is_alive(note["process"])


def process_started() -> float:
    """When this process began, in seconds since 1970, rounded up: the system counts in ticks.

    Rounded down, a process could take what was written just before it for its own time.
    """
    ticks = process.start_ticks(os.getpid())
    try:
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - ((ticks or 0) + 1) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return _IMPORTED
    return _IMPORTED if ticks is None else time.time() - since_boot
