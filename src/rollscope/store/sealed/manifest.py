"""The manifest of a sealed set: the logs it replaces, its files, and their checksums.

It is written twice, each copy with its own checksum, as the last step before the set's folder gets
its name.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

from rollscope.errors import CorruptFile
from rollscope.store import regular_file
from rollscope.store.log.frame import Damage

from . import elsewhere

FORMAT = 1
NAMES = ("manifest.json", "manifest.copy.json")
SUFFIX = ".sealed"
MOST_BYTES = 256 << 20


def write(folder: str, facts: dict[str, Any]) -> None:
    body = json.dumps({"format": FORMAT, **facts}, separators=(",", ":"))
    for name in NAMES:
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(frame(body.encode()).decode("ascii"))


def frame(body: bytes) -> bytes:
    return b'{"crc32":%d,\n"set":%s\n}\n' % (zlib.crc32(body), body)


def read(folder: str) -> tuple[dict[str, Any], list[Damage]]:
    """Read the first copy that passes its checksum; also return the damage of the others."""
    for name in NAMES:
        try:
            return _parsed_file(os.path.join(folder, name)), [] if name == NAMES[0] else check(folder)
        except (FileNotFoundError, ValueError):
            continue
        except OSError as error:
            if not regular_file.is_lasting(error):
                raise
    if not os.path.isdir(folder):
        raise FileNotFoundError(folder)
    raise CorruptFile(
        f"{folder}: neither copy of the manifest can be read. The Parquet files beside it can still be opened by hand."
    )


def check(folder: str) -> list[Damage]:
    """The copies that cannot be read."""
    damage = []
    for name in NAMES:
        path = os.path.join(folder, name)
        try:
            _parsed_file(path)
        except (OSError, ValueError, CorruptFile) as error:
            size = os.path.getsize(path) if os.path.exists(path) else 0
            damage.append(Damage(path, 0, size, f"the manifest cannot be read ({error})"))
    return damage


def _parsed_file(path: str) -> dict[str, Any]:
    return parse(regular_file.read(path, MOST_BYTES))


def is_lost(error: OSError, path: str) -> bool:
    """True if a file of a set will never be read, and not because the whole set was merged away."""
    gone = isinstance(error, FileNotFoundError) and os.path.isdir(os.path.dirname(path))
    return gone or regular_file.is_lasting(error)


def read_file(path: str, most: int) -> bytes | None:
    """The bytes of a file of a set; None if it is lost, too large, or no regular file."""
    try:
        return elsewhere.read(path, most)
    except OSError as error:
        if is_lost(error, path):
            return None
        raise


def parse(raw: bytes) -> dict[str, Any]:
    _, _, rest = raw.partition(b"\n")
    body = rest.removeprefix(b'"set":').removesuffix(b"\n}\n")
    if raw != frame(body):
        raise ValueError("checksum")
    facts = regular_file.parsed(body)
    if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
        raise ValueError("it is no mapping of facts with a format")
    if facts["format"] > FORMAT:
        raise CorruptFile(
            f"a set of format {facts['format']} was written by a newer Rollscope;"
            f" this one reads up to {FORMAT}. Upgrade to read it."
        )
    return facts
