"""A log is over only if that is proven:
by its process, by its lock, or by a lease on another kernel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.store.log import liveness, process
from rollscope.store.log.lock import Lock, hold, look, taking
from rollscope.store.seal import compact, logs
from rollscope.store.sealed.coverage import covered
from tests.store.second_reader import Reader

ELSEWHERE = {"boot": "another-kernel", "pid_namespace": 1, "pid": 1, "start_ticks": 1, "host": os.uname().nodename}


def ended() -> dict[str, Any]:
    """The facts of a process of this namespace that has ended."""
    code = "import json; from rollscope.store.log import process; print(json.dumps(process.here()))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(json.loads(said))


def test_a_process_knows_itself_and_one_that_ended() -> None:
    assert process.is_alive(process.here()) is True and process.is_this(process.here())
    gone = ended()
    assert process.is_alive(gone) is False and not process.is_this(gone)


def test_a_pid_that_is_used_again_is_another_process() -> None:
    reused = process.here() | {"start_ticks": 1}
    assert process.is_alive(reused) is False


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(process.here() | {"pid_namespace": 1}, id="another namespace of this kernel"),
        pytest.param(process.here() | {"boot": "x"}, id="another boot"),
        pytest.param({"pid": os.getpid(), "host": os.uname().nodename}, id="an older version said pid and host alone"),
        pytest.param({}, id="nothing is known"),
        pytest.param(process.here() | {"pid": "7"}, id="a pid that is no number"),
    ],
)
def test_a_process_that_cannot_be_seen_is_neither_alive_nor_dead(facts: dict[str, Any]) -> None:
    assert process.is_alive(facts) is None


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0123456789abcdef.0001.log"
    path.write_bytes(b"")
    return path


def test_a_lock_is_seen_from_another_open_file_and_goes_with_its_own(log: Path) -> None:
    assert look(str(log)) is Lock.TAKEN
    fd = os.open(log, os.O_RDWR)
    hold(fd)
    assert look(str(log)) is Lock.HELD
    with taking(str(log)) as state:
        assert state is Lock.HELD
    os.close(fd)
    assert look(str(log)) is Lock.TAKEN


@pytest.mark.parametrize(
    ("facts", "held", "old", "over"),
    [
        pytest.param(
            process.here(), False, True, False, id="a process that can be seen to live, whatever the file says"
        ),
        pytest.param(process.here() | {"start_ticks": 1}, False, False, True, id="its pid belongs to another process"),
        pytest.param(process.here() | {"pid_namespace": 1}, True, True, False, id="same kernel, lock held: alive"),
        pytest.param(process.here() | {"pid_namespace": 1}, False, False, True, id="same kernel, lock free: over"),
        pytest.param(ELSEWHERE, True, True, False, id="another kernel, lock held"),
        pytest.param(ELSEWHERE, False, False, False, id="another kernel, lock free, written just now"),
        pytest.param(ELSEWHERE, False, True, True, id="another kernel, lock free, lease expired"),
        pytest.param(
            {"host": os.uname().nodename, "pid": 1}, False, False, False, id="an older writer, written just now"
        ),
    ],
)
def test_a_log_is_over_only_if_that_is_proven(
    log: Path, facts: dict[str, Any], held: bool, old: bool, over: bool
) -> None:
    fd = os.open(log, os.O_RDWR)
    if held:
        hold(fd)
    if old:
        os.utime(log, (0, time.time() - liveness.LEASE_SECONDS - 60))
    assert liveness.is_over(str(log), facts) is over
    os.close(fd)


def test_the_age_of_a_log_is_read_off_its_own_file_system(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(log, (0, os.stat(log).st_mtime - 100))
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a host whose clock is decades behind
    assert 99 < liveness.age(str(log)) < 160


def rows(world: Any) -> list[float]:
    return sorted(row["value"] for row in Reader(world.run).tables["metrics"])


def test_forced_sealing_of_a_growing_log_loses_and_doubles_nothing(world: Any) -> None:
    """Sealed three times while it grows, compacted between:
    every row once, in both readers, and the log stays.
    """
    writer = world.writer()
    for part in range(3):
        writer.metrics(part, {"a": float(part)})
        logs.seal(str(world.run), force=True)
        compact.compact(str(world.run), everything=True)
        assert list(world.run.glob("*.log")), "a log whose writer lives is never removed"
        assert rows(world) == [float(i) for i in range(part + 1)]
        assert rs.open(world.root).run("r1").series("a")["value"].tolist() == [float(i) for i in range(part + 1)]
    writer.finish()
    logs.seal(str(world.run))
    compact.compact(str(world.run), everything=True)
    assert not list(world.run.glob("*.log")) and rows(world) == [0.0, 1.0, 2.0]


def test_a_log_is_kept_if_the_standing_set_holds_less_of_it(world: Any) -> None:
    """Another sealer read less of the log before it grew:
    its set stands, and the rest must not go with the log.
    """
    writer = world.writer()
    writer.metrics(0, {"a": 0.0})
    assert logs.seal(str(world.run), force=True) == 1
    writer.metrics(1, {"a": 1.0})
    writer.finish()
    assert logs.seal(str(world.run)) == 1
    assert not list(world.run.glob("*.log")) and rows(world) == [0.0, 1.0]
    assert len(list(world.run.glob("*@*.sealed"))) == 1


def test_what_sets_cover_is_counted_without_gaps() -> None:
    class Set:
        def __init__(self, **sources: int) -> None:
            self.sources = {name.replace("_at_", "@"): end for name, end in sources.items()}

    assert covered([], "w") == 0
    assert covered([Set(w=10)], "w") == 10
    assert covered([Set(w_at_10=20), Set(w=10)], "w") == 20
    assert covered([Set(w=10, v=7, w_at_20=30)], "w") == 10, "bytes 10 to 20 are in no set"
