"""`run.json`: the small file in a run's folder that says what the run is."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any

from rollscope.errors import CannotRead
from rollscope.store import regular_file
from rollscope.strict_json import dumps

PATIENCE_SECONDS = 10.0  # with an error that may pass
_TYPES: dict[str, type] = {"attempt": int, "attempts": list, "started_ns": int, "process": dict}


def run_ids(root: Path) -> list[str]:
    """Ids of the runs in a folder, at most 20."""
    return sorted(path.parent.name for path in root.glob("*/run.json"))[:20]


def read(folder: Path) -> dict[str, Any] | None:
    """The facts in `run.json`, or None if the folder holds no run.

    Facts of the wrong type are left out: a file that was edited by hand must not stop a resumed
    training. Raises CannotRead for an error that may pass, such as a stale handle, and has not
    passed in PATIENCE_SECONDS: the file is then not known to be damaged.
    """
    path = folder / "run.json"
    try:
        facts = regular_file.patiently(lambda: regular_file.read_json(str(path)), PATIENCE_SECONDS)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and _may_pass(error):
            raise CannotRead(_unread(path, error)) from error
        return {} if folder.is_dir() and any(folder.glob("*.log")) else None
    return _valid(facts) if isinstance(facts, dict) else {}


def is_of(folder: Path, writer: str, unread: bool) -> bool:
    """Did this writer write the `run.json` that stands? `unread` if it cannot be read now."""
    try:
        known = read(folder) or {}
    except CannotRead:
        return unread
    return bool(known.get("process", {}).get("writer") == writer)


def _may_pass(error: OSError) -> bool:
    return not isinstance(error, FileNotFoundError) and not regular_file.is_lasting(error)


def _unread(path: Path, error: OSError) -> str:
    why = regular_file.why(error, named=False)
    return f"{path} cannot be read ({why}, for {PATIENCE_SECONDS:g} s). It may be whole, so it is left as it is."


def _valid(facts: dict[str, Any]) -> dict[str, Any]:
    valid: dict[str, Any] = {key: value for key, value in facts.items() if isinstance(value, _TYPES.get(key, object))}
    if "attempts" in valid:
        valid["attempts"] = [attempt for attempt in valid["attempts"] if _is_attempt(attempt)]
    if not isinstance(valid.get("process", {}).get("pid", 0), int):
        del valid["process"]
    return valid


def _is_attempt(attempt: Any) -> bool:
    return isinstance(attempt, dict) and all(isinstance(attempt.get(key), int) for key in ("attempt", "started_ns"))


def write(folder: Path, facts: dict[str, Any], shard: int) -> None:
    """Write `run.json`. Shard 0 replaces it when an attempt begins. Raises OSError and CannotRead.

    It also replaces what another shard wrote that began the attempt while shard 0 was late. A shard
    that found no file leaves one that appears meanwhile.
    """
    stands = (folder / "run.json").exists()
    known = read(folder) or {}
    another = known.get("process", {}).get("shard", 0) != 0
    begins = shard == 0 and (another or (known.get("attempt") or 0) < facts["attempt"])
    replace = begins or (stands and "format" not in known)
    if replace or not stands:
        _write(folder, facts, replace)


def _write(folder: Path, facts: dict[str, Any], replace: bool) -> None:
    """Write the file under another name and give it its own."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".run.{secrets.token_hex(4)}"
    try:
        with open(aside, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(dumps(facts))
            file.flush()
            os.fsync(file.fileno())
        _place(aside, folder / "run.json", replace)
    finally:
        aside.unlink(missing_ok=True)


def _place(aside: Path, path: Path, replace: bool) -> None:
    """Give a file its name. A link never replaces; some file systems have none."""
    if not replace:
        with contextlib.suppress(OSError):
            os.link(aside, path)
        if path.exists():
            return
    os.replace(aside, path)
