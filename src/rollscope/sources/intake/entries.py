"""What to import at a path: which files of a folder to look at, and why others are not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rollscope.sources import Skipped

IGNORED = {".git", "__pycache__", "node_modules", ".venv", "site-packages"}
LOGS = (".jsonl", ".csv", ".parquet", ".db", ".sqlite", ".wandb", ".duckdb", ".gz")  # files that look like logs


def children(folder: Path, root: Path, trust: bool = False) -> Iterator[Path | Skipped]:
    """The entries of a folder to look at. A link out of `root` is followed only with `trust`.

    A link to below the root (`latest-run`) would be read twice, one to above it forever.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield Skipped(f"the folder cannot be listed: {error.strerror}", folder)
        return
    for entry in entries:
        if entry.name in IGNORED or is_ours(entry):
            continue
        if not entry.is_symlink():
            yield entry
        elif target := _outside(entry, root):
            if trust and target.is_file():
                yield entry
            elif target.is_dir() or looks_like_a_log(entry):
                yield Skipped(
                    f"it is a link that leads out of the folder. Import {target} itself, or use --trust", entry
                )


def _outside(link: Path, root: Path) -> Path | None:
    """Where a link leads if that is neither inside the root nor above it; else None."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # a loop raises either, depending on the Python version
        return None
    return None if target.is_relative_to(root) or root.is_relative_to(target) else target


def is_ours(path: Path) -> bool:
    """True for a run folder of Rollscope. Importing the folder above it must not read it back."""
    try:
        return (path / "run.json").is_file() and any(child.suffix in (".log", ".sealed") for child in path.iterdir())
    except OSError:
        return False


def looks_like_a_log(path: Path) -> bool:
    """True for a file whose name says so. Below a folder, other unknown files are not reported."""
    return path.suffix.lower() in LOGS


def refusal(path: Path) -> str | None:
    """Why a path is not looked at: it is missing, ours, a pipe or a device; else None."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "there is no such file or folder"
    except OSError as error:
        return f"it cannot be opened: {error.strerror}"
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return "it is neither a file nor a folder"  # reading a pipe would block, a device may never end
    if is_ours(path):
        show = f"rollscope show {path.name} --dir {path.parent}"
        return f"it is already a run of Rollscope and needs no import: {show}"
    return None


def unknown(path: Path) -> str:
    """Why a file that no source knows is not imported."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | os.O_CLOEXEC)
        try:
            head = os.read(fd, 16)
        finally:
            os.close(fd)
    except OSError as error:
        return f"it cannot be opened: {error.strerror}"
    if head[:2] == b"\x1f\x8b":
        return f"it is compressed. Unpack it first: gunzip -k {path.name}"
    return "the file is empty" if not head else f"not a format Rollscope knows (it begins with {head!r})"


def signature(path: Path) -> tuple[int, int]:
    """Size and time of a file: two equal signatures mean that it has not changed."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns
