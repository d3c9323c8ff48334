"""Publish a sealed set: all its files appear at once or not at all.

A set is a folder. It is written aside, synced, and given its name by one rename, which fails if
another sealer was faster; only then may the logs it replaces be removed. A kill at any instant
leaves the logs, or the set, or both; then a reader takes the set, and of a log the bytes behind it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from typing import Any

from rollscope.store.numbers.rows import NamedRows, Words
from rollscope.store.sealed import manifest, repeated_ids

from .set_writer import SetWriter
from .streams import Stream

ASIDE = ".aside-"
FORGOTTEN_SECONDS = 3600.0


def write_set(
    run: str,
    stem: str,
    metrics: Iterable[NamedRows],
    words: Words,
    tables: Mapping[str, Stream],
    facts: Mapping[str, Any],
) -> bool:
    """Write a set and give it its name; False if it exists already."""
    aside = os.path.join(run, ASIDE + secrets.token_hex(8))
    os.mkdir(aside)
    try:
        writer = SetWriter(aside, os.path.basename(os.path.normpath(run)), facts.get("declared") or {})
        writer.metrics(metrics, words)
        for name, stream in tables.items():
            writer.table(name, stream)
        manifest.write(aside, _manifest(run, facts, writer))
        return _publish(run, aside, os.path.join(run, stem + manifest.SUFFIX))
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _manifest(run: str, facts: Mapping[str, Any], writer: SetWriter) -> dict[str, Any]:
    shared = {}
    if writer.hashes is not None:
        shared[repeated_ids.KEY] = repeated_ids.compared(run, writer.hashes, facts["sources"])
    return {**facts, **shared, "files": writer.files, "sidecars": writer.sidecars, "made_ns": time.time_ns()}


def _publish(run: str, aside: str, path: str) -> bool:
    """Sync a folder and rename it; False if the name is taken."""
    for name in os.listdir(aside):
        _sync(os.path.join(aside, name))
    _sync(aside)
    try:
        os.rename(aside, path)
    except OSError:  # not empty: another sealer was here first, with the same rows
        if not os.path.isdir(path):
            raise
        return False
    _sync(run)
    return True


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def clear_forgotten(run: str) -> None:
    """Remove folders that a killed sealer left aside."""
    for entry in os.scandir(run):
        if entry.name.startswith(ASIDE):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime > FORGOTTEN_SECONDS:
                    shutil.rmtree(entry.path, ignore_errors=True)


def remove_set(path: str) -> None:
    """Hide a set by one rename, then delete it."""
    aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, aside)
        shutil.rmtree(aside, ignore_errors=True)
