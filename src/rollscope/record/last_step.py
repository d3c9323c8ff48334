"""The last step that earlier attempts of a run recorded: what a resumed run goes on from.

A training process reads no Parquet: logs tell their steps, and of sealed sets the manifest does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.errors import CorruptFile
from rollscope.store.log import files
from rollscope.store.log.block import Metrics
from rollscope.store.log.scan import scan
from rollscope.store.sealed import manifest

END_BYTES = 4 << 20  # of a log that are read first: the last step usually stands there
Reached = tuple[int, int]  # an attempt, and a step that it recorded


def last_step(folder: Path, facts: dict[str, Any]) -> int | None:
    """The last step of the newest attempt that has one; None if no step was recorded."""
    attempts = [(a["attempt"], a.get("resumed_from")) for a in facts.get("attempts", [])]
    resumed = [(attempt, step) for attempt, step in attempts if isinstance(step, int)]
    return max([*resumed, *_in_logs(folder), *_in_sets(folder)], default=(0, None))[1]


def _in_logs(folder: Path) -> Iterator[Reached]:
    """The last step in the newest log of each writer."""
    newest = {name.split(".")[0]: name for name in files.listed(str(folder))}
    for name in newest.values():
        with contextlib.suppress(OSError):  # one that cannot be read, or was sealed just now
            path = folder / name
            end = max(0, os.path.getsize(path) - END_BYTES)
            yield from _in_log(path, end) or _in_log(path, 0)


def _in_log(path: Path, offset: int) -> list[Reached]:
    blocks = [block for block in scan(path, offset).blocks if isinstance(block, Metrics) and len(block.step)]
    steps = [(block.labels.attempt, int(block.step.max())) for block in blocks if block.labels.clock is None]
    return [max(steps)] if steps else []


def _in_sets(folder: Path) -> Iterator[Reached]:
    for path in folder.glob(f"*{manifest.SUFFIX}"):
        with contextlib.suppress(OSError, CorruptFile):
            extent = manifest.read(str(path))[0]["extent"]
            if extent["last_step"] >= 0:
                yield max(map(int, extent["first"]), default=1), extent["last_step"]
