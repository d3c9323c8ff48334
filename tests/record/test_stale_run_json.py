"""A `run.json` that cannot be read for a moment is not damaged: it is read again and left alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from rollscope.errors import CannotRead
from rollscope.record import run_json
from rollscope.store import regular_file
from rollscope.store import run_json as read_side

PASSING = [errno.ESTALE, errno.EIO, errno.EMFILE, errno.ETIMEDOUT]


class StaleHandles:
    """`os.open` that fails for `run.json`, as over NFS: `times` times, then no more."""

    def __init__(self, code: int, times: float) -> None:
        self.code, self.left, self.real = code, times, os.open

    def open(self, path: Any, *rest: Any, **more: Any) -> int:
        if os.fspath(path).endswith("run.json") and self.left > 0:
            self.left -= 1
            raise OSError(self.code, os.strerror(self.code), path)
        return self.real(path, *rest, **more)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, float], StaleHandles]:
    def begin(code: int, times: float) -> StaleHandles:
        handles = StaleHandles(code, times)
        monkeypatch.setattr(os, "open", handles.open)
        return handles

    return begin


@pytest.mark.parametrize("code", PASSING)
def test_a_rank_reads_again_and_leaves_the_file_of_shard_0(init: Any, fail: Any, code: int, recorded: Any) -> None:
    zero = init(id="r", shard=0, shards=2, config={"lr": 1.0})
    assert zero.flush(60)
    before = (zero.folder / "run.json").read_bytes()
    handles = fail(code, 3)
    one = init(id="r", shard=1, shards=2)
    assert handles.left == 0 and one.folder == zero.folder and (zero.folder / "run.json").read_bytes() == before
    for run in (one, zero):
        run.finish()
    states = [row.get("state") for row in recorded(zero).rows["runs"]]
    assert not one.losses and states.count("finished") == 1


def test_a_resumed_run_counts_its_attempts_on(init: Any, fail: Any) -> None:
    for resume in (None, True):
        init(id="r", resume=resume, config={"lr": 1.0}).finish()
    fail(errno.ESTALE, 3)
    third = init(id="r", resume=True)
    assert [a["attempt"] for a in run_json.read(third.folder)["attempts"]] == [1, 2, 3]


def test_an_error_that_does_not_pass_is_said_and_the_file_is_left(
    init: Any, fail: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(run_json, "PATIENCE_SECONDS", 0.05)
    first = init(id="r", config={"lr": 1.0})
    first.finish()
    before = (first.folder / "run.json").read_bytes()
    handles = fail(errno.ESTALE, float("inf"))
    with pytest.raises(CannotRead, match=r"run\.json cannot be read \(Stale file handle, for 0\.05 s\)"):
        run_json.read(first.folder)
    second = init(id="r", resume=True)
    assert second.id != "r" and "Stale file handle" in capsys.readouterr().err
    handles.left = 0
    assert (first.folder / "run.json").read_bytes() == before


def test_a_run_whose_run_json_cannot_be_written_over_is_recorded_all_the_same(
    init: Any, fail: Any, monkeypatch: pytest.MonkeyPatch, recorded: Any, capsys: Any
) -> None:
    """The file turns unreadable between the decision for the run and its first row."""
    monkeypatch.setattr(run_json, "PATIENCE_SECONDS", 0.05)
    zero = init(id="r", shard=0, shards=2)
    one = init(id="r", shard=1, shards=2)
    assert zero.flush(60)
    before = (zero.folder / "run.json").read_bytes()
    handles = fail(errno.ESTALE, float("inf"))
    one.log({"a": 1.0}, step=0)
    assert one.flush(60)
    one.finish()
    handles.left = 0
    assert recorded(one).values["a", 0] == [1.0] and (zero.folder / "run.json").read_bytes() == before
    assert "run.json cannot be read (Stale file handle" in capsys.readouterr().err


@pytest.mark.parametrize("code", PASSING)
def test_a_reader_reads_again_and_sees_no_damage(init: Any, fail: Any, code: int) -> None:
    run = init(id="r", project="p")
    run.finish()
    handles = fail(code, 2)
    facts, damage = read_side.read(str(run.folder))
    assert handles.left == 0 and facts["project"] == "p" and not damage


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError, IsADirectoryError])
def test_an_error_that_stays_is_not_waited_for(error: type[OSError]) -> None:
    code = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, IsADirectoryError: errno.EISDIR}[error]
    reads = []

    def read() -> None:
        reads.append(1)
        raise OSError(code, os.strerror(code))

    with pytest.raises(error):
        regular_file.patiently(read, 60)
    assert len(reads) == 1
