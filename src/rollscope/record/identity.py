"""Which run a process records into: a new one, a resumed one, a fork, or that of its fellow ranks.

A run's folder, its `run.json` and the locks of its logs are the only state.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, NotFound
from rollscope.store.log import process
from rollscope.store.log.lock import Lock, look

from . import launch, run_json
from .launch import FRESH_SECONDS, job_key, launch_key, process_started

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
ALIVE_SECONDS = 60  # a log that grew within this time is still being written


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The run that `init` was asked for, and the shard that asks."""

    root: Path
    name: str | None = None
    project: str | None = None
    id: str | None = None
    resume: bool | int | str | None = None
    fork: str | tuple[str, int] | None = None
    shard: int = 0
    shards: int = 1

    @property
    def resumes(self) -> bool:
        return self.resume is not None and self.resume is not False


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt of a run that this process records."""

    id: str  # of the run
    folder: Path
    number: int = 1
    resumed_from: int | None = None  # the last step of earlier attempts that still counts
    parent: str | None = None
    parent_step: int | None = None
    last_step: int | None = None  # that earlier attempts recorded, if the request named no step
    notice: str = ""  # why this is not the run that was asked for
    leads: bool = False  # another shard than 0, which began it

    @property
    def first_step(self) -> int:
        """The step after the last one that counts: where the caller goes on."""
        said = (self.resumed_from, self.parent_step, self.last_step)
        return next((step + 1 for step in said if step is not None), 0)


def resolve(request: RunRequest) -> Attempt:
    """Decide which attempt of which run to record.

    Raises only if the request cannot be met: the run to resume or to fork does not exist, or the id
    is not a folder name.
    """
    if request.id is not None and not _is_folder_name(request.id):
        raise BadInput(f"run id {request.id!r} is not a folder name. Use letters, digits, '-', '_' and '.'.")
    if request.shards == 1 or (request.id is not None and not request.resumes):
        return _decide(request)
    if request.shard > 0 and (note := launch.wait_for_note(request)) is not None:
        return _noted(request, note)
    return _decide_for_all(request)


def _decide_for_all(request: RunRequest) -> Attempt:
    """Decide for every shard of the launch, unless another one has while this one was late."""
    with launch.deciding(request):
        note = launch.late_note(request)
        if note is not None:
            return _noted(request, note)
        attempt = _decide(request)
        launch.leave_note(request, attempt)
    if request.shard == 0:
        return attempt
    return replace(attempt, notice=attempt.notice or _alone(request, attempt.id), leads=True)


def _noted(request: RunRequest, note: dict[str, Any]) -> Attempt:
    folder, last = request.root / note["id"], note["last_step"]
    return Attempt(note["id"], folder, note["attempt"], note["resumed_from"], last_step=last)


def _alone(request: RunRequest, id: str) -> str:
    return (
        f"shard 0 has not begun {launch.WAIT_SECONDS:g} s after shard {request.shard}, which therefore begins"
        f" the run {id!r}; the other shards of {request.shards} join it when they come"
    )


def _is_folder_name(id: str) -> bool:
    return re.fullmatch(r"[\w.@+-][\w .@+-]*", id) is not None and id not in (".", "..")


def _decide(request: RunRequest) -> Attempt:
    parent, parent_step = _fork(request)
    id = request.id or new_id(request.name or request.project or "run")
    folder = request.root / id
    facts = run_json.read(folder)
    if facts is None:
        if request.resumes and request.resume not in ("allow", "auto"):
            raise NotFound(f"there is no run {id!r} in {request.root} to resume. {_runs_in(request.root)}")
        return Attempt(id, folder, parent=parent, parent_step=parent_step)
    if _is_of_another_job(folder, facts):
        return _beside(request, id)
    number = facts.get("attempt") or 1
    if not request.resumes and (request.shard > 0 or _is_alive(folder, facts) or _is_sibling(request, facts)):
        return Attempt(id, folder, number)
    step = request.resume if isinstance(request.resume, int) and not isinstance(request.resume, bool) else None
    last = _last_step(folder, facts) if request.resumes and step is None else None
    return Attempt(id, folder, number + 1, step, last_step=last)


def _last_step(folder: Path, facts: dict[str, Any]) -> int | None:
    """The last step of the run; None where its files do not tell: that must not stop a training."""
    with contextlib.suppress(Exception):
        from .last_step import last_step

        return last_step(folder, facts)
    return None


def _is_of_another_job(folder: Path, facts: dict[str, Any]) -> bool:
    """Is the run being recorded now by a job that this process was not launched with?"""
    job, mine = facts.get("job"), job_key()
    return bool(job and mine and job != mine) and _is_alive(folder, facts)


def _beside(request: RunRequest, id: str) -> Attempt:
    """A run of its own for a process that would otherwise record into another job's run."""
    own = new_id(f"{id}-rank{request.shard}" if request.shards > 1 else id)
    notice = (
        f"run {id!r} is being recorded by another job, so this process records run {own!r} instead. "
        "Give every job an id of its own, or stop the other job and resume its run."
    )
    return Attempt(own, request.root / own, notice=notice)


def _fork(request: RunRequest) -> tuple[str | None, int | None]:
    """The run and the step that the request forks from."""
    if request.fork is None:
        return None, None
    parent, step = request.fork if isinstance(request.fork, tuple) else request.fork.rpartition("@")[::2]
    if not str(step).isdigit() or not parent:
        raise BadInput(
            f"fork={request.fork!r} does not name a run and a step. "
            "Write fork='RUN@STEP', for example fork='grpo-1@200'."
        )
    if run_json.read(request.root / parent) is None:
        raise NotFound(f"there is no run {parent!r} in {request.root} to fork. {_runs_in(request.root)}")
    return parent, int(step)


def _runs_in(root: Path) -> str:
    return f"Runs there: {', '.join(run_json.run_ids(root)) or 'none'}."


def new_id(name: str) -> str:
    """A readable and unique id: the name, the day and hour, four letters."""
    word = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:48] or "run"
    return f"{word}-{time.strftime('%m%d-%H%M')}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def _is_alive(folder: Path, facts: dict[str, Any]) -> bool:
    """Is a process recording this run now?

    The process that began the attempt is asked for, if it can be seen from here. Otherwise a writer
    must hold the lock of a log, or a log must have grown within the last minute.
    """
    began = facts.get("process") or {}
    if (alive := process.is_alive(began)) is not None:
        return alive and not process.is_this(began)
    return any(_has_writer(path) for path in folder.glob("*.log"))


def _has_writer(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if look(str(path)) is Lock.HELD:
            return True
        return time.time() - path.stat().st_mtime < ALIVE_SECONDS
    return False


def _is_sibling(request: RunRequest, facts: dict[str, Any]) -> bool:
    """Did another shard of this launch begin the attempt just now?

    That shard may have ended already.
    """
    began = max((attempt["started_ns"] for attempt in facts.get("attempts", [])), default=0) / 1e9
    if request.shards == 1 or facts.get("launch") != launch_key(request):
        return False
    return began > process_started() - FRESH_SECONDS
