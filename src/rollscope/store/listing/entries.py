"""One look at a folder of runs: which of its folders are runs, with marks that tell of changes.

A look costs two `stat` calls a run. Nothing is opened.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rollscope.store import regular_file
from rollscope.store.log.files import NAME
from rollscope.store.run_json import NAME as RUN_JSON

HOME = ".rollscope"  # our own folder beside the runs
BIN = ".bin"  # where deleted runs wait
NEVER_RUNS = (HOME, BIN, "lost+found")
FEW = 50  # looks that tell how fast the disk is
SLOW_SECONDS = 3e-4  # for one look; a local disk takes 10 microseconds
AT_ONCE = 16
Marks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A run's folder as a look at the disk shows it.

    `marks` are the time of the folder's last change, and the time and size of `run.json`: adding,
    sealing and resuming change them. A log that grows does not. The times are those of the inode,
    which no program can set back.
    """

    id: str
    path: str
    marks: Marks = ()
    public: bool = False  # all who can look into the root can read this run
    problem: str = ""  # why the folder cannot be looked into

    def again(self) -> Entry | None:
        """The same folder, looked at now; None if it is no run any more."""
        return look(self.id, self.path)


def entries(root: str) -> list[Entry]:
    """The runs in a folder in the order of their ids; the folder itself if it is a run.

    A folder that cannot be looked into may be a run, so it is listed with its problem.
    """
    if is_run(root):
        own = look(os.path.basename(os.path.abspath(root)), root)
        return [] if own is None else [own]
    status, names = os.stat(root), sorted(folders(root))
    began = time.perf_counter()
    first = [look(name, os.path.join(root, name), status) for name in names[:FEW]]
    others = _looks(root, names[FEW:], status, time.perf_counter() - began > FEW * SLOW_SECONDS)
    return [entry for entry in (*first, *others) if entry is not None]


def _looks(root: str, names: list[str], status: os.stat_result, slow: bool) -> list[Entry | None]:
    """The same for many folders; on a slow disk, such as one on the network, several at a time."""
    if not slow:
        return [look(name, os.path.join(root, name), status) for name in names]
    from concurrent.futures import ThreadPoolExecutor  # few need it

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda name: look(name, os.path.join(root, name), status), names))


def folders(root: str) -> Iterator[str]:
    """Names of the folders that may be runs. No folder is looked into."""
    with os.scandir(root) as found:
        for entry in found:
            if entry.name not in NEVER_RUNS and _is_folder(entry):
                yield entry.name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle, or on a disk that is gone
        return False


def is_run(path: str) -> bool:
    """True if a folder is a run: it has a `run.json` or a log."""
    entry = look("", path)
    return entry is not None and not entry.problem


def look(id: str, path: str, root: os.stat_result | None = None) -> Entry | None:
    """The run in a folder; None if the folder is no run."""
    try:
        folder = os.stat(path)
        try:
            facts = _status(os.path.join(path, RUN_JSON))
        except FileNotFoundError:
            return _without_facts(Entry(id, path), folder)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        return None if id.startswith(".") else Entry(id, path, problem=regular_file.why(error))
    marks = (folder.st_ctime_ns, facts.st_ctime_ns, facts.st_size)
    return Entry(id, path, marks, root is not None and _is_public(root, folder, facts))


def _status(path: str) -> os.stat_result:
    """The status of a file, or of the link itself if it leads in a circle."""
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return os.lstat(path)
        raise


def _without_facts(entry: Entry, folder: os.stat_result) -> Entry | None:
    """A run without `run.json`: a folder that has a log."""
    try:
        with os.scandir(entry.path) as found:
            has_log = any(NAME.fullmatch(file.name) for file in found)
    except OSError:
        return None
    return replace(entry, marks=(folder.st_ctime_ns, -1, -1)) if has_log else None


def _is_public(root: os.stat_result, folder: os.stat_result, facts: os.stat_result) -> bool:
    """True if all who can look into the root can look into the folder and read `run.json`."""
    group, others = root.st_mode & stat.S_IXGRP, root.st_mode & stat.S_IXOTH
    if others and not (_has(folder, 0o005) and _has(facts, 0o004)):
        return False
    same_group = folder.st_gid == root.st_gid == facts.st_gid or others
    return not group or bool(same_group and _has(folder, 0o050) and _has(facts, 0o040))


def _has(status: os.stat_result, bits: int) -> bool:
    return stat.S_IMODE(status.st_mode) & bits == bits


def log_marks(run: str, names: list[str]) -> Marks:
    """Size and time of some logs of a run; they change when a log grows or its writer beats."""
    marks: list[int] = []
    for name in names:
        status = os.stat(os.path.join(run, name))
        marks += [status.st_size, status.st_ctime_ns]
    return tuple(marks)
