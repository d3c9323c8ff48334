"""Which calls of Ray's workers become spans, at which step and on which lane."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rollscope
from rollscope.sources.ray.follow import Follow
from rollscope.sources.ray.lanes import Lanes
from rollscope.sources.ray.steps import Steps
from rollscope.sources.ray.task import START, Task
from rollscope.store import store as rs

MS = 1_000_000
CALL = Task("t", 0, "ACTOR_TASK", "module.Engine.generate", "a", "w", 7, "n", 0, 0, 0, "")


@pytest.fixture
def run(tmp_path: Path) -> Any:
    with rollscope.init(dir=str(tmp_path), id="r", host=False) as run:
        yield run


def log(run: Any, *steps: int) -> list[int]:
    """Log steps and wait until they are on the disk; when each was logged."""
    for step in steps:
        run.log({"loss": 1.0}, step=step)
    run.flush(60)
    times = Steps(run.folder)
    times.look()
    return [times._logged[step][1] for step in steps]


def recorded(run: Any) -> list[dict[str, Any]]:
    run.flush(60)
    rows = rs.open(run.folder.parent).run(run.id).table("spans", as_arrow=True).to_pylist()
    return [{**row, "data": json.loads(row["data"] or "{}")} for row in rows]


def follow(run: Any, own: str = "") -> Follow:
    return Follow(run, Steps(run.folder), own)


def look(follow: Follow, *tasks: Task, now_ns: int = 0, is_last: bool = False) -> None:
    follow.learn(tasks)
    follow._steps.look()
    follow.record(now_ns, is_last)


def test_a_call_belongs_to_the_step_that_was_logged_after_it_began(run: Any) -> None:
    first, second = log(run, 0, 1)
    steps = Steps(run.folder)
    steps.look()
    assert [steps.at(time) for time in (first - 1, first, first + 1, second, second + 1)] == [0, 0, 1, 1, None]
    assert (steps.last, steps.next) == (1, 2)


def test_what_is_logged_late_of_a_step_is_not_its_end(run: Any) -> None:
    log(run, 0, 1)
    run.log({"late": 1.0}, step=0, split="eval")
    (third,) = log(run, 2)
    steps = Steps(run.folder)
    steps.look()
    assert steps.at(third) == 2 and steps.at(steps._logged[0][1]) == 2


def test_a_clock_of_its_own_is_no_step(run: Any) -> None:
    run.log({"explored": 1.0}, step=50, clock="explore_step")
    (only,) = log(run, 3)
    steps = Steps(run.folder)
    steps.look()
    assert steps.at(only) == 3 and steps.last == 3


def test_steps_of_an_attempt_that_was_abandoned_count_no_more(tmp_path: Path) -> None:
    with rollscope.init(dir=str(tmp_path), id="r", host=False) as run:
        log(run, 0, 1, 2, 3)
    with rollscope.init(dir=str(tmp_path), id="r", resume=1, host=False) as run:
        (again,) = log(run, 2)
        steps = Steps(run.folder)
        steps.look()
        assert steps.at(again) == 2 and steps.at(again + 1) is None


def test_a_call_waits_for_its_step_and_is_recorded_once(run: Any) -> None:
    (first,) = log(run, 0)
    call = replace(CALL, start_ns=first + 1, end_ns=first + 5 * MS)
    seen = follow(run)
    look(seen, call)
    assert recorded(run) == []
    log(run, 1)
    look(seen)  # Ray has forgotten the call meanwhile
    look(seen, call)
    (row,) = recorded(run)
    assert (row["name"], row["lane"], row["step"], row["end_ns"]) == ("generate", "ray:Engine/0", 1, call.end_ns)


def test_a_call_that_is_run_again_is_another(run: Any) -> None:
    first, _ = log(run, 0, 1)
    failed = replace(CALL, start_ns=first + 1, end_ns=first + 2 * MS, error="WorkerDied: exit code 1")
    look(follow(run), failed, replace(failed, attempt=1, start_ns=first + 1, error=""))
    assert [row["data"].get("error") for row in recorded(run)] == ["WorkerDied: exit code 1", None]


def test_the_end_of_the_run_records_what_no_step_follows(run: Any) -> None:
    (first,) = log(run, 0)
    ended = replace(CALL, start_ns=first + 1, end_ns=first + 2 * MS)
    running = replace(CALL, id="u", function="Engine.hang", start_ns=first + 3 * MS)
    look(follow(run), ended, running, now_ns=first + 9 * MS, is_last=True)
    done, hung = recorded(run)
    assert (done["step"], done["end_ns"], "unfinished" in done["data"]) == (0, ended.end_ns, False)
    assert (hung["name"], hung["end_ns"], hung["data"]["unfinished"]) == ("hang", first + 9 * MS, True)


@pytest.mark.parametrize(
    ("steps", "change"),
    [
        (2, {"end_ns": MS - 1}),
        (7, {"end_ns": 10**18}),
        (2, {"worker": "own"}),
    ],
    ids=["shorter than a millisecond", "a loop through all steps", "of the process that holds the run"],
)
def test_what_is_no_work_of_one_step_is_left_out(run: Any, steps: int, change: dict[str, Any]) -> None:
    first = log(run, *range(steps))[0]
    call = replace(CALL, start_ns=first - 10 * MS, end_ns=first)
    look(follow(run, own="own"), call, replace(call, id="u", **_later(change, call.start_ns)), is_last=True)
    assert [row["end_ns"] for row in recorded(run)] == [first]


def _later(change: dict[str, Any], start_ns: int) -> dict[str, Any]:
    return {key: start_ns + value if key == "end_ns" else value for key, value in change.items()}


def test_actors_are_numbered_in_the_order_in_which_they_were_made() -> None:
    made = [
        replace(CALL, id=f"m{i}", kind=START, function="Engine.__init__", actor=f"a{i}", handed_ns=100 - i, start_ns=i)
        for i in range(3)
    ]
    lanes = Lanes()
    assert lanes.learn(made) and not lanes.learn(made)
    assert [lanes.of(replace(CALL, actor=f"a{i}")) for i in (2, 1, 0)] == [f"ray:Engine/{i}" for i in range(3)]
    lanes.learn([replace(CALL, function="module.grade", actor="", worker="w9")])
    assert lanes.of(replace(CALL, actor="", worker="w9")) == "ray:tasks/0"
