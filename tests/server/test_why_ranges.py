"""Why a metric moved from one range of steps to another: in Python, over HTTP, in the terminal."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from tests.web.rollout_runs import FALL, TASKS

BEFORE, NOW = (FALL - 10, FALL - 1), (FALL, FALL + 5)


def mean_of(folder: Path, first: int, last: int) -> float:
    where = f"step between {first} and {last} and split is distinct from 'eval'"
    rewards = rs.open(folder).run("rolls").samples(where=where, columns=["reward"])["reward"]
    return float(np.nanmean(np.asarray(rewards, float)))


def test_ranges_are_means_over_their_samples_and_the_prompts_add_up(rolls_folder: Path) -> None:
    why = rs.open(rolls_folder).run("rolls").why("reward/mean", NOW, BEFORE)
    assert math.isclose(why.now, mean_of(rolls_folder, *NOW)) and math.isclose(
        why.before, mean_of(rolls_folder, *BEFORE)
    )
    assert (why.since, why.step, why.against_since, why.against) == (*NOW, *BEFORE)
    assert math.isclose(math.fsum(part.adds for part in why.parts), why.change, abs_tol=1e-9)
    assert {part.group for part in why.parts} >= set(TASKS) and why.agrees is None
    counts = {part.group: part.count for part in why.parts}
    assert counts[TASKS[1]] == 8 * (NOW[1] - NOW[0] + 1)  # one part for all visits of a prompt


def test_a_step_is_compared_with_a_range_before_it(rolls_folder: Path) -> None:
    why = rs.open(rolls_folder).run("rolls").why("reward/mean", FALL, BEFORE)
    assert math.isclose(why.now, mean_of(rolls_folder, FALL, FALL)) and why.since == FALL
    with pytest.raises(BadInput, match="30 to 20 does not"):
        rs.open(rolls_folder).run("rolls").why("reward/mean", (30, 20))
    with pytest.raises(BadInput, match="no samples were recorded at step 900"):
        rs.open(rolls_folder).run("rolls").why("reward/mean", (900, 910))


def test_ranges_over_http(rolls: TestClient, rolls_folder: Path) -> None:
    asked = {"metric": "reward/mean", "since": NOW[0], "step": NOW[1], "against_since": BEFORE[0], "against": BEFORE[1]}
    answer = rolls.get("/api/runs/rolls/why", params={**asked, "top": 2}).json()
    assert [answer[name] for name in ("since", "step", "against_since", "against")] == [*NOW, *BEFORE]
    parts = [part["adds"] for part in answer["parts"]]
    assert math.isclose(sum(parts) + answer["rest"]["down_adds"] + answer["rest"]["up_adds"], answer["change"])
    wrong = rolls.get("/api/runs/rolls/why", params={**asked, "since": 39, "step": 30})
    assert wrong.status_code == 400 and "39 to 30 does not" in wrong.json()["says"]


def test_ranges_in_the_terminal(rolls_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--dir", str(rolls_folder)]
    assert main(["why", "rolls", "reward/mean", "30-35", "--against", "20-29", *place]) == 0
    said = capsys.readouterr().out
    assert "steps 20-29 to 30-35" in said and "prompts" in said and TASKS[0] in said
    with pytest.raises(SystemExit):
        main(["why", "rolls", "reward/mean", "30-x", *place])
    assert "a range such as 230-240" in capsys.readouterr().err
