"""Open the files of a run with care, since anyone may have put anything into its folder.

Only regular files are opened: a pipe would make the reader wait for ever, and opening a device may
do anything. A link counts as the file it leads to. What is read into memory has a size limit, and
JSON a depth limit too. Every refusal is an OSError or a ValueError that says what was wrong.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

Read = TypeVar("Read")

MOST_JSON_BYTES = 64 << 20
MOST_TOML_BYTES = 4 << 20  # people write these by hand
FIRST_WAIT_SECONDS = 0.005  # before an error that may pass is met again; each later wait is twice as long
MOST_DEPTH = 100  # of lists and mappings inside each other; Python's own limit is not much higher
_TOML_TEXT = re.compile(rb'"(?:[^"\\\n]|\\.)*"?|\'[^\'\n]*\'?|#[^\n]*')  # texts and comments
_TOML_KEYS = re.compile(rb"[=,\n\[\]{}]")  # what stands between keys
_LASTING = {errno.EINVAL, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def check(path: str) -> os.stat_result:
    """The status of a regular file; an OSError for anything else. Nothing is opened."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise _refusal(path, status)
    return status


def is_regular(path: str) -> bool:
    """True if a path leads to a regular file."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def opened(path: str) -> BinaryIO:
    """A regular file, open for reading. Its kind is checked before and after it is opened."""
    check(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise _refusal(path, status)
    return os.fdopen(fd, "rb", buffering=0)


def read(path: str, most: int) -> bytes:
    """All bytes of a file that has at most `most`."""
    with opened(path) as file:
        raw = b"" if os.fstat(file.fileno()).st_size > most else file.read(most + 1)
        while 0 < len(raw) <= most and (more := file.read(most + 1 - len(raw))):
            raw += more
        if len(raw) > most or os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {_size(most)}", path)
    return raw


def read_json(path: str, most: int = MOST_JSON_BYTES) -> Any:
    """The JSON value in a file."""
    return parsed(read(path, most))


def read_toml(path: str, most: int = MOST_TOML_BYTES) -> dict[str, Any]:
    """What a TOML file says; a ValueError if it is not TOML, not UTF-8, or nested too deeply.

    The parser takes quadratic time for a key of many parts (`a.a.a`), so such keys are refused.
    """
    import tomllib  # few runs have one

    raw = read(path, most)
    if any(part.count(b".") > MOST_DEPTH for part in _TOML_KEYS.split(_TOML_TEXT.sub(b"", raw))):
        raise ValueError(f"it has a key of more than {MOST_DEPTH} parts")
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parsed(raw: bytes | str) -> Any:
    """A JSON value; a ValueError if it is not JSON, not UTF-8, or nested too deeply."""
    try:
        value = json.loads(raw)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if _may_be_deep(raw):
        _check_depth(value)
    return value


_TOO_DEEP = f"its JSON is nested more than {MOST_DEPTH} levels deep"


def _may_be_deep(raw: bytes | str) -> bool:
    """Counting brackets is quick, and most files have few."""
    if isinstance(raw, str):
        return raw.count("[") + raw.count("{") > MOST_DEPTH
    return raw.count(b"[") + raw.count(b"{") > MOST_DEPTH


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _children(value: Any) -> list[Any]:
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict | list)]


def is_lasting(error: OSError) -> bool:
    """True if the file itself is the reason: the next try fails too, unlike one without handles."""
    return error.errno in _LASTING


def patiently(read: Callable[[], Read], seconds: float) -> Read:
    """What `read` returns. An error that may pass is met by trying again for so many seconds.

    On a network file system a handle is stale if another machine replaced its file meanwhile.
    """
    wait, until = FIRST_WAIT_SECONDS, time.monotonic() + seconds
    while True:
        try:
            return read()
        except OSError as error:
            absent = isinstance(error, FileNotFoundError)
            if absent or is_lasting(error) or time.monotonic() + wait > until:
                raise
        time.sleep(wait)
        wait *= 2


def why(error: BaseException, named: bool = True) -> str:
    """The reason of a failed read as a part of a sentence, with the name of the file if known."""
    if isinstance(error, OSError):
        known = named and error.filename is not None
        name = f"{os.path.basename(os.fspath(error.filename))!r}: " if known else ""
        return f"{name}{error.strerror or error}"
    return str(error) or type(error).__name__


def _refusal(path: str, status: os.stat_result) -> OSError:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
    return OSError(errno.EINVAL, f"it is {kind}, and only regular files are read", path)


def _size(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count:,} bytes"
