"""Which run this process belongs to: a new one, one that is resumed, one forked from another, or the one its fellow ranks record.

Processes agree without talking: shard 0 decides and leaves a small file in `.join/`, named after what the launcher gave all of them; the
others wait a moment for it. A run's folder and its `run.json` are all there is; nothing is locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, NotFound
from rollscope.strict_json import dumps

WAIT_SECONDS = 20.0
FRESH_SECONDS = 60.0  # how much earlier than this process its shard 0 may have started
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_LAUNCH = (
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "MASTER_ADDR",
    "MASTER_PORT",
    "SLURM_JOB_ID",
    "RAY_JOB_ID",
)
_IMPORTED = time.time()
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where this process records."""

    id: str
    folder: Path
    attempt: int = 1
    resumed_from: int | None = None  # the last step that still counts of what was there before
    parent: str | None = None
    parent_step: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What `init` was told about it."""

    root: Path
    name: str | None = None
    project: str | None = None
    id: str | None = None
    resume: bool | int | str | None = None
    fork: str | tuple[str, int] | None = None
    shard: int = 0
    shards: int = 1


def place(asked: Asked) -> Place:
    """Decide. Only a wish that cannot be met raises: a resume of a run that is not there, a fork of one."""
    if asked.id is not None and (not re.fullmatch(r"[\w.@+-][\w .@+-]*", asked.id) or asked.id in (".", "..")):
        raise BadInput(f"run id {asked.id!r} is not a folder name. Use letters, digits, '-', '_' and '.'.")
    wishes = asked.id is None or _is_resume(asked)
    if asked.shard > 0 and wishes:
        joined = _wait(asked)
        if joined is not None:
            return joined
    found = _decide(asked)
    if asked.shard == 0 and asked.shards > 1 and wishes:
        _leave(asked, found)
    return found


def _is_resume(asked: Asked) -> bool:
    return asked.resume is not None and asked.resume is not False


def _decide(asked: Asked) -> Place:
    parent, parent_step = _fork(asked)
    id = asked.id or new_id(asked.name or asked.project or "run")
    folder = asked.root / id
    known = read(folder)
    if known is None:
        if _is_resume(asked) and asked.resume not in ("allow", "auto"):
            raise NotFound(
                f"there is no run {id!r} in {asked.root} to resume. Runs there: {', '.join(ids(asked.root)) or 'none'}."
            )
        return Place(id, folder, parent=parent, parent_step=parent_step)
    attempt = known.get("attempt") or 1
    if not _is_resume(asked) and (asked.shard > 0 or _is_alive(folder, known) or _is_sibling(asked, known)):
        return Place(id, folder, attempt)
    step = asked.resume if isinstance(asked.resume, int) and not isinstance(asked.resume, bool) else None
    return Place(id, folder, attempt + 1, step)


def _fork(asked: Asked) -> tuple[str | None, int | None]:
    if asked.fork is None:
        return None, None
    parent, step = (
        asked.fork if isinstance(asked.fork, tuple) else (asked.fork.rpartition("@")[0], asked.fork.rpartition("@")[2])
    )
    if not str(step).isdigit() or not parent:
        raise BadInput(
            f"fork={asked.fork!r} does not say from where. Write fork='RUN@STEP', for example fork='grpo-1@200'."
        )
    if read(asked.root / parent) is None:
        raise NotFound(
            f"there is no run {parent!r} in {asked.root} to fork. Runs there: {', '.join(ids(asked.root)) or 'none'}."
        )
    return parent, int(step)


def new_id(name: str) -> str:
    """Readable and unique: the name, the day and hour, four letters."""
    word = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:48] or "run"
    return f"{word}-{time.strftime('%m%d-%H%M')}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def ids(root: Path) -> list[str]:
    return sorted(path.parent.name for path in root.glob("*/run.json"))[:20]


def read(folder: Path) -> dict[str, Any] | None:
    """What `run.json` says as far as it makes sense, None when there is none: what somebody broke by hand must not end a training that resumes."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {} if folder.is_dir() and any(folder.glob("*.log")) else None
    return _sound(found) if isinstance(found, dict) else {}


def _sound(facts: dict[str, Any]) -> dict[str, Any]:
    kinds = {"attempt": int, "attempts": list, "started_ns": int, "process": dict}
    found: dict[str, Any] = {key: value for key, value in facts.items() if isinstance(value, kinds.get(key, object))}
    if "attempts" in found:
        attempts = (one for one in found["attempts"] if isinstance(one, dict))
        found["attempts"] = [
            one for one in attempts if isinstance(one.get("attempt"), int) and isinstance(one.get("started_ns"), int)
        ]
    if not isinstance(found.get("process", {}).get("pid", 0), int):
        del found["process"]
    return found


def _is_alive(folder: Path, known: dict[str, Any]) -> bool:
    """Is somebody recording it now? The process that began the attempt exists on this machine, or a file grew in the last minute elsewhere."""
    process = known.get("process") or {}
    if process.get("host") == os.uname().nodename and process.get("pid"):
        return bool(process["pid"] != os.getpid() and _exists(process["pid"]))
    return any(time.time() - path.stat().st_mtime < 60 for path in folder.glob("*.log"))


def _is_sibling(asked: Asked, known: dict[str, Any]) -> bool:
    """Was the attempt begun just now by another shard of this launch, which may be gone again already?"""
    begun = max((a["started_ns"] for a in known.get("attempts", [])), default=0) / 1e9
    return asked.shards > 1 and known.get("launch") == launch(asked) and begun > _started() - FRESH_SECONDS


def write(place: Place, facts: dict[str, Any], replace: bool) -> None:
    """`run.json`, aside and renamed; where it is there already, only when this process may `replace` it. Raises OSError."""
    path = place.folder / "run.json"
    place.folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and not replace:
        return
    aside = place.folder / f".run.{secrets.token_hex(4)}"
    try:
        with open(aside, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(dumps(facts))
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def launch(asked: Asked) -> str:
    """A word that the processes of one launch have in common."""
    words = [os.environ.get(name, "") for name in _LAUNCH] + [
        asked.id or "",
        asked.name or "",
        asked.project or "",
        str(asked.shards),
    ]
    return hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _key(asked: Asked) -> Path:
    return asked.root / ".join" / launch(asked)


def _leave(asked: Asked, found: Place, ended: float | None = None) -> None:
    path = _key(asked)
    note = {
        "id": found.id,
        "attempt": found.attempt,
        "resumed_from": found.resumed_from,
        "time": time.time(),
        "pid": os.getpid(),
        "host": os.uname().nodename,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if ended is not None:
            note = json.loads(path.read_text()) | {"ended": ended}
        aside = path.with_suffix(f".{secrets.token_hex(4)}")
        aside.write_text(json.dumps(note))
        os.replace(aside, path)
        for old in path.parent.iterdir():
            if time.time() - old.stat().st_mtime > DAY:
                old.unlink(missing_ok=True)
    except (OSError, ValueError):  # then every shard records for itself, which is said where they wait
        return


def _wait(asked: Asked) -> Place | None:
    """What shard 0 decided, or None when it did not say so in time."""
    until, started = time.monotonic() + WAIT_SECONDS, _started()
    while time.monotonic() < until:
        with contextlib.suppress(
            OSError, ValueError, KeyError
        ):  # not there yet, or half written: it is looked at again
            said = json.loads(_key(asked).read_text())
            if _is_of_this_launch(said, started):
                return Place(said["id"], asked.root / said["id"], said["attempt"], said["resumed_from"])
        time.sleep(0.05)
    return None


def _is_of_this_launch(said: dict[str, Any], started: float) -> bool:
    """Two launches from one terminal look alike; but the processes of the second start when shard 0 of the first is gone."""
    if said["time"] >= started:
        return True
    if said["time"] < started - FRESH_SECONDS:
        return False
    if "ended" in said:
        return bool(said["ended"] >= started)
    return said["host"] != os.uname().nodename or _exists(int(said["pid"]))


def _started() -> float:
    """When this process began."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            ticks = float(file.read().rpartition(")")[2].split()[19])
        return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, AttributeError):
        return _IMPORTED


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def leave(asked: Asked, found: Place) -> None:
    """At the end shard 0 says so in its note, so that the next launch does not take it for its own."""
    if asked.shard == 0 and asked.shards > 1:
        _leave(asked, found, time.time())
