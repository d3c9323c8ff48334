"""A file that cannot be written any more is left for the next one, and nothing is lost or
doubled.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.record import clock as clocks
from rollscope.record.clock import STEP_NS, Clock
from rollscope.record.write import log_files

STEPS = 60


class Faults:
    """`os.writev` of log files that fails with an error while `broken` says so."""

    def __init__(self, code: int, broken: Callable[[int], bool]) -> None:
        self.code, self.broken, self.real = code, broken, os.writev
        self.failed: set[int] = set()  # descriptors that were broken once: their handle is dead for good

    def writev(self, fd: int, parts: Any) -> int:
        if self.broken(fd):
            self.failed.add(fd)
            raise OSError(self.code, os.strerror(self.code))
        return self.real(fd, parts)


def record(folder: Path, at: int, break_: Callable[[], None]) -> rs.Run:
    run = rs.init(id="r", dir=folder, host=False)
    for step in range(STEPS):
        run.log({"a": float(step)}, step=step)
        if step == at:
            assert run.flush(60)
            break_()
        if step % 7 == 0:
            run.flush(0.05)
    assert run.flush(60)
    run.finish()
    return run


def values(folder: Path) -> list[float]:
    return list(rs.open(folder).run("r").series("a")["value"].tolist())


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EBADF, errno.EFBIG, errno.EIO])
def test_a_handle_that_is_dead_for_good_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The file's handle is dead; a new file of the same folder can be written."""
    dead: set[int] = set()
    faults = Faults(code, lambda fd: fd in dead)
    monkeypatch.setattr(os, "writev", faults.writev)
    opened: list[int] = []
    real = log_files.LogWriter.__init__

    def note(self: Any, path: Any) -> None:
        real(self, path)
        opened.extend([self._fd] if Path(path).is_relative_to(tmp_path) else [])

    monkeypatch.setattr(log_files.LogWriter, "__init__", note)
    run = record(tmp_path, 20, lambda: dead.add(opened[0]))
    assert faults.failed == {opened[0]} and len(opened) > 1, "the dead file was left, another begun"
    assert values(tmp_path) == [*map(float, range(STEPS))] and not run.losses


@pytest.mark.parametrize("call", ["fstat", "fdatasync"])
def test_a_handle_that_takes_writes_but_is_dead_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """An NFS server may take writes to a file that was replaced, and say ESTALE to all else."""
    dead, opened = set[int](), list[int]()
    real_init, real = log_files.LogWriter.__init__, getattr(os, call)

    def note(self: Any, path: Any) -> None:
        real_init(self, path)
        opened.append(self._fd)

    def stale(fd: int) -> Any:
        if fd in dead:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(fd)

    def replace() -> None:
        (log,) = (tmp_path / "r").glob("*.log")
        shutil.copy(log, tmp_path / "copy")
        os.replace(tmp_path / "copy", log)
        dead.add(opened[0])

    monkeypatch.setattr(log_files.LogWriter, "__init__", note)
    monkeypatch.setattr(os, call, stale)
    run = record(tmp_path, 20, replace)
    monkeypatch.undo()  # the reader's handles have the same numbers
    assert values(tmp_path) == [*map(float, range(STEPS))] and not run.losses


def test_blocks_that_only_the_dead_handle_had_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server took writes into its memory and forgot them:
    what a new handle does not find is written again.
    """
    monkeypatch.setattr(log_files.LogWriter, "sync", lambda self: None)  # the server says yes and syncs nothing
    dead: list[bool] = []

    def forget() -> None:
        log = next((tmp_path / "r").glob("*.log"))
        os.truncate(log, os.path.getsize(log) // 2)
        dead.append(True)

    first: list[int] = []
    faults = Faults(errno.ESTALE, lambda fd: bool(dead) and fd == (first or first.append(fd) or first)[0])
    monkeypatch.setattr(os, "writev", faults.writev)
    run = record(tmp_path, 30, forget)
    assert values(tmp_path) == [*map(float, range(STEPS))] and not run.losses


@pytest.mark.parametrize("rotate", [1 << 30, 3_000], ids=["at the end", "grown"])
def test_a_handle_that_dies_before_its_file_is_closed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rotate: int
) -> None:
    """The server took rows into its memory, and forgot them before the sync of a close."""
    monkeypatch.setattr(log_files, "ROTATE", rotate)
    run = rs.init(id="r", dir=tmp_path, host=False)
    run.log({"a": 0.0}, step=0)
    assert run.flush(60)
    (log,) = (tmp_path / "r").glob("*.log")
    real, first, size = os.fdatasync, os.stat(log).st_ino, os.path.getsize(log)
    died: list[int] = []

    def forget(fd: int) -> None:
        if os.fstat(fd).st_ino == first and os.fstat(fd).st_size > size:
            died.append(fd)
            os.truncate(log, size)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        real(fd)

    monkeypatch.setattr(os, "fdatasync", forget)
    for step in range(1, STEPS):
        run.log({"a": float(step)}, step=step)
        assert run._recorder.settle(60)
    run.finish()
    monkeypatch.undo()
    assert died and values(tmp_path) == [*map(float, range(STEPS))] and not run.losses
    assert rs.open(tmp_path).run("r").state == "finished"


def test_a_grown_file_that_cannot_be_synced_is_said_and_no_row_is_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "ROTATE", 4_000)
    real, failed = os.fdatasync, list[int]()

    def sync(fd: int) -> None:
        real(fd)
        if not failed and os.fstat(fd).st_size >= 4_000:
            failed.append(fd)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", sync)
    run = rs.init(id="r", dir=tmp_path, host=False)
    for step in range(STEPS):
        with run.span("x" * 300, step=step):
            pass
        run.flush(60)
    run.finish()
    monkeypatch.undo()
    steps = rs.open(tmp_path).run("r").sql("select step from spans order by step")["step"]
    assert failed and steps.tolist() == [*range(STEPS)]
    assert "bytes" in str(run.losses), "what a failed sync covered is in doubt, and said"


def test_a_full_disk_is_waited_for_in_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [True]
    faults = Faults(errno.ENOSPC, lambda fd: bool(full))
    run = rs.init(id="r", dir=tmp_path, host=False)
    run.log({"a": 0.0}, step=0)
    assert run.flush(60)
    monkeypatch.setattr(os, "writev", faults.writev)
    run.log({"a": 1.0}, step=1)
    assert run.flush(0.2) is False, "what is not on the disk is not called flushed"
    full.clear()
    assert run.flush(60)
    run.finish()
    assert values(tmp_path) == [0.0, 1.0]


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The three clocks of a machine, in nanoseconds, to be moved by hand."""
    now = {"wall": 10**18, "ticks": 5 * 10**9, "slept": 0}
    monkeypatch.setattr(clocks.time, "time_ns", lambda: now["wall"])
    monkeypatch.setattr(clocks.time, "perf_counter_ns", lambda: now["ticks"])
    monkeypatch.setattr(clocks, "_asleep_ns", lambda: now["slept"])
    return now


def pass_time(now: dict[str, int], clock: Clock, seconds: int) -> None:
    for _ in range(10 * seconds):
        now["wall"] += 10**8
        now["ticks"] += 10**8
        before = clock.now()
        clock.tend()
        assert clock.now() >= before - STEP_NS


def test_a_glitch_of_the_wall_clock_does_not_last(wall: dict[str, int]) -> None:
    clock = Clock()
    wall["wall"] += 3600 * 10**9
    pass_time(wall, clock, 20)
    wall["wall"] -= 3600 * 10**9
    pass_time(wall, clock, 5)
    assert abs(clock.now() - wall["wall"]) < 2 * 10**9


def test_a_wall_clock_that_stays_ahead_is_followed(wall: dict[str, int]) -> None:
    clock = Clock()
    wall["wall"] += 3600 * 10**9
    pass_time(wall, clock, 90)
    assert abs(clock.now() - wall["wall"]) < 2 * 10**9


def test_after_a_glitch_that_was_believed_time_slows_down_until_both_meet(wall: dict[str, int]) -> None:
    clock = Clock()
    wall["wall"] += 100 * 10**9
    pass_time(wall, clock, 90)
    wall["wall"] -= 100 * 10**9
    pass_time(wall, clock, 250)
    assert abs(clock.now() - wall["wall"]) < 2 * 10**9


def test_a_writer_that_was_held_up_does_not_take_back_half_of_that_time(wall: dict[str, int]) -> None:
    clock = Clock()
    wall["wall"] -= 100 * 10**9
    for clock_of in ("wall", "ticks"):
        wall[clock_of] += 30 * 10**9  # a disk that hangs
    before = clock.now()
    assert clock.tend() > 0 and clock.now() >= before - STEP_NS


def test_sleep_of_the_machine_is_time(wall: dict[str, int]) -> None:
    clock = Clock()
    wall["wall"] += 500 * 10**9
    wall["slept"] += 500 * 10**9
    pass_time(wall, clock, 1)
    assert abs(clock.now() - wall["wall"]) < 2 * 10**9
