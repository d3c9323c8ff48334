"""Whether a run is alive, and what it says about itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

import rollscope as rs
from rollscope.errors import NotFound
from rollscope.store.log import block, process
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter


def log_of(
    world: Any, writer: int, who: dict[str, Any], *rows: dict[str, Any], old: bool = False, closed: bool = False
) -> None:
    path = world.run / file_name(f"{writer:016x}", 1)
    log = LogWriter(path)
    log.append(
        [
            block.meta("open", who),
            block.table("runs", list(rows), {"attempt": 1}),
        ]
    )
    if closed:
        log.append([block.meta("end", {})])
    log.close()
    if old:
        for file in [world.run, *world.run.iterdir()]:
            os.utime(file, (time.time() - 300, time.time() - 300))


def gone() -> dict[str, Any]:
    """The facts of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    facts = process.here() | {"pid": child.pid, "start_ticks": process.start_ticks(child.pid)}
    child.communicate(b"\n")
    return facts


def state(world: Any) -> str:
    return str(rs.open(world.root).run("r1").state)


RUNNING, DONE, CRASHED = {"state": "running"}, {"state": "finished"}, {"state": "crashed", "reason": "ValueError: no"}


def test_a_process_that_says_so_has_finished(world: Any) -> None:
    log_of(world, 1, gone(), RUNNING, DONE, closed=True)
    assert state(world) == "finished"


def test_the_first_of_many_processes_says_when_it_is_over(world: Any) -> None:
    log_of(world, 1, gone(), RUNNING, DONE, closed=True)
    log_of(world, 2, gone(), RUNNING, closed=True, old=True)
    assert state(world) == "finished"


def test_one_crash_of_many_processes_is_a_crash(world: Any) -> None:
    log_of(world, 1, gone(), RUNNING, DONE, closed=True)
    log_of(world, 2, gone(), RUNNING, CRASHED, closed=True)
    assert state(world) == "crashed"
    assert rs.open(world.root).run("r1").facts["reason"] == "ValueError: no"


@pytest.mark.parametrize(
    ("alive", "old", "expected"),
    [(True, True, "running"), (True, False, "running"), (False, False, "running"), (False, True, "killed")],
)
def test_killed_is_silence_and_a_process_that_is_gone(world: Any, alive: bool, old: bool, expected: str) -> None:
    log_of(world, 1, process.here() if alive else gone(), RUNNING, old=old)
    assert state(world) == expected


def test_a_run_is_found_by_id_by_name_and_by_its_folder(world: Any) -> None:
    world.writer().metrics(3, {"a": 1.0})
    store = rs.open(world.root)
    assert [record.id for record in store.runs()] == ["r1"]
    assert store.runs()[0]["step"] == 3
    assert store.run("first").id == "r1" == rs.open(world.run).run().id
    with pytest.raises(NotFound, match=r"no run 'r2'.*rollscope ls"):
        store.run("r2")
    with pytest.raises(NotFound, match="no folder"):
        rs.open(world.root / "nowhere")


def test_what_is_written_later_fills_in(world: Any) -> None:
    world.writer().rows("runs", [{"declared": {"environments": {"e": {"reward_max": 1}}}, "algorithm": "grpo"}])
    run = rs.open(world.root).run()
    assert run.declared == {"environments": {"e": {"reward_max": 1}}}
    assert (run.facts["algorithm"], run.config) == ("grpo", {"lr": 1e-6})


def test_the_step_of_a_resume_is_what_was_said(world: Any) -> None:
    facts = json.loads((world.run / "run.json").read_text())
    facts["attempts"] = [{"attempt": 1, "resumed_from": None}, {"attempt": 2, "resumed_from": 4}]
    (world.run / "run.json").write_text(json.dumps(facts))
    first, second = world.writer(1), world.writer(2, attempt=2)
    for step in range(10):
        first.metrics(step, {"a": 1.0})
    second.metrics(8, {"a": 2.0})
    assert rs.open(world.root).run().series("a")["step"].tolist() == [0, 1, 2, 3, 4, 8]


def test_a_folder_with_a_broken_run_json_is_still_a_run(world: Any) -> None:
    world.writer().metrics(0, {"a": 1.0})
    (world.run / "run.json").write_text("{")
    assert rs.open(world.root).run("r1").series("a")["value"].tolist() == [1.0]
