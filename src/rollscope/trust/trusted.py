"""Trust a folder, take trust away, and read a file only if it is what was trusted.

What is trusted is kept in `trusted.json` of the person's configuration: `$ROLLSCOPE_CONFIG`, else
`$XDG_CONFIG_HOME/rollscope`, else `~/.config/rollscope`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from rollscope.errors import CannotRead, CannotWrite, NotTrusted, RollscopeError
from rollscope.store import regular_file

from . import folders

State = Literal["trusted", "changed", "new"]
Trusted = dict[str, dict[str, str]]  # folder -> path inside `.rollscope` -> SHA-256


class Piece(NamedTuple):
    """A file of a project, and if it is as it was trusted."""

    path: str
    digest: str
    state: State


def config_folder() -> str:
    """Where the settings of this person are."""
    given = os.environ.get("ROLLSCOPE_CONFIG")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return given or os.path.join(home, "rollscope")


def pieces(folder: str) -> list[Piece]:
    """Every file of a project's `.rollscope`, with its state."""
    kept = everything().get(folders.named(folder), {})
    return [Piece(path, digest, _state(kept, path, digest)) for path, digest in folders.digests(folder).items()]


def is_trusted(folder: str) -> bool:
    """True if the folder has files and each is as it was trusted."""
    try:
        found = pieces(folder)
    except RollscopeError:
        return False
    return bool(found) and all(piece.state == "trusted" for piece in found)


def trust(folder: str) -> list[Piece]:
    """Trust the files of a folder as they are now. Returns them with the state they had before."""
    found = pieces(folder)
    with _changing() as kept:
        kept[folders.named(folder)] = {piece.path: piece.digest for piece in found}
    return found


def distrust(folder: str) -> bool:
    """Trust a folder no more, also one that is gone. False if it was not trusted."""
    path = os.path.realpath(folder)
    with _changing() as kept:
        return kept.pop(path, None) is not None


def read(folder: str, path: str) -> bytes:
    """The bytes of a file, exactly those that were trusted; raises NotTrusted for any other."""
    data = folders.read(folder, path)
    state = _state(everything().get(folders.named(folder), {}), path, sha256(data).hexdigest())
    if state != "trusted":
        why = "changed since the folder was trusted" if state == "changed" else "was not trusted yet"
        raise NotTrusted(
            f"{folders.NAME}/{path} {why}. Read it, and if you trust it, run: rollscope trust {folders.named(folder)}"
        )
    return data


def everything() -> Trusted:
    """All that is trusted. A damaged file is an error: nothing is trusted by accident."""
    path = _place()
    try:
        kept = regular_file.read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CannotRead(
            f"{path} cannot be read ({regular_file.why(error, named=False)}). Mend or delete it."
        ) from error
    if not _fits(kept):
        raise CannotRead(f"{path} is no list of trusted folders. Mend or delete it.")
    return dict(kept)


def _state(kept: dict[str, str], path: str, digest: str) -> State:
    return "new" if path not in kept else "trusted" if kept[path] == digest else "changed"


def _place() -> str:
    return os.path.join(config_folder(), "trusted.json")


def _fits(kept: Any) -> bool:
    return isinstance(kept, dict) and all(
        isinstance(files, dict) and all(isinstance(digest, str) for digest in files.values()) for files in kept.values()
    )


@contextlib.contextmanager
def _changing() -> Iterator[Trusted]:
    """What is trusted, to be changed; it is written whole, by one process at a time."""
    place = _place()
    aside = f"{place}.{os.getpid()}"
    try:
        os.makedirs(config_folder(), mode=0o700, exist_ok=True)
        with open(f"{place}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = everything()
            yield kept
            with open(aside, "w", encoding="utf-8") as file:
                json.dump(kept, file, indent=1, sort_keys=True)
            os.replace(aside, place)
    except OSError as error:
        raise CannotWrite(f"{place} cannot be written ({error.strerror or error})") from error
