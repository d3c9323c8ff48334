"""The videos that RLinf saves: `video/{train,eval}/seed_{S}/{N}.mp4`, each a sample that shows it.

A video holds the episodes of one round of a worker's environments, side by side. The file does not
say how they ended. The step is the number of the round, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rollscope.sources import Item, Keep, Mark, Records, Restart, Since, Skipped
from rollscope.sources.dumps.place import Place
from rollscope.sources.dumps.stream import REWRITTEN

NUMBER = re.compile(r"(\d{1,18})\.mp4")
SEED = re.compile(r"seed_(-?\d{1,18})")
BOXES = 10_000  # parts of a file that are looked at
CUT = "the video is cut off: it has no index, so no player opens it. Is it still being written?"


def recognises(path: Path) -> bool:
    """True for a numbered video in a folder of a seed, or in a folder below one."""
    if not NUMBER.fullmatch(path.name) or not path.is_file() or _seed(path) is None:
        return False
    with path.open("rb") as file:
        return file.read(8)[4:] == b"ftyp"


def rows(path: Path, since: Since) -> Iterator[Item]:
    place = _place(path)
    run, stat = place.run(path), path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    yield run
    if since.get(run.id) != cursor:
        if run.id in since:
            yield Restart(REWRITTEN)
        if not has_index(path):
            yield Skipped(CUT, path)
            return
        name = f"{place.name.replace('/', '_')}.mp4"
        yield Keep(name)
        yield Records("samples", [_sample(place, name, stat.st_mtime_ns)])
    yield Mark(cursor, stat.st_size, stat.st_size)


def _sample(place: Place, name: str, time_ns: int) -> dict[str, object]:
    return {
        "id": place.name,
        "step": place.step,
        "time_ns": time_ns,
        "split": place.split,
        "tags": {"seed": place.name.split("/")[1]},
        "media": [{"kind": "video", "path": f"media/{name}"}],
    }


def _seed(path: Path) -> Path | None:
    """The folder of the seed that a video is below."""
    return next((above for above in path.parents[:2] if SEED.fullmatch(above.name)), None)


def _place(path: Path) -> Place:
    seed, number = _seed(path), NUMBER.fullmatch(path.name)
    assert seed is not None and number is not None
    above, sub = seed.parent, path.parent.name if path.parent != seed else ""
    split = above.name if above.name in ("train", "eval") else "train"
    folder = above.parent if above.name in ("train", "eval") else above
    words = [split, seed.name.removeprefix("seed_"), *([re.sub(r"[^\w.-]+", "-", sub)] if sub else []), number[1]]
    return Place(
        framework="rlinf",
        folder=folder.parent if folder.name == "video" else folder,
        name="/".join(words),
        step=int(number[1]),
        split=split,
        kind="videos",
    )


def has_index(path: Path) -> bool:
    """True if a video has its index (`moov`), and all parts before it are whole."""
    size, at = path.stat().st_size, 0
    with path.open("rb") as file:
        for _ in range(BOXES):
            file.seek(at)
            head = file.read(16)
            length = int.from_bytes(head[:4], "big")
            if length == 1:  # a long one says its length behind its name
                length = int.from_bytes(head[8:16], "big")
            if len(head) < 8 or length < 8 or at + length > size:
                return False
            if head[4:8] == b"moov":
                return True
            at += length
    return False
