"""Rules that read samples, evaluations and spans, on small recorded runs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.diagnose import diagnosis
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.rule import Series
from rollscope.diagnose.rules.liveness.stalled import stalled
from tests.diagnose.run_tables import RUN_TABLES, Recipe, evaluated
from tests.diagnose.worlds import Row, answers, failing, recorded, sample

ROWS = [
    pytest.param(rule, recipe, speaks, id=f"{rule}: {sentence}")
    for rule, (quiet, firing) in RUN_TABLES.items()
    for rows, speaks in ((quiet, False), (firing, True))
    for sentence, recipe in rows.items()
]


@pytest.mark.parametrize(("rule", "recipe", "speaks"), ROWS)
def test_a_rule_is_quiet_or_speaks(tmp_path: Path, rule: str, recipe: Recipe, speaks: bool) -> None:
    said = recipe(tmp_path)
    assert (rule in said) is speaks, said.get(rule)


def test_failures_that_are_trained_on_as_zeros_are_bad_and_have_their_cause(tmp_path: Path) -> None:
    finding = recorded(tmp_path, failing(0.9))["environment-failures"]
    assert finding.severity == "bad" and finding.step == 10
    assert finding.claim == "Failures of the environment are trained on as wrong answers"
    assert "SandboxError: session … is gone" in finding.evidence and "bunch in time" in finding.evidence
    assert len(finding.sample_ids) == 5 and finding.cost is not None and finding.cost.samples == 140


def test_masked_failures_that_moved_a_baseline_are_counted(tmp_path: Path) -> None:
    masked = failing(0.25, trained=False, discard_reason="error")
    finding = recorded(tmp_path, masked)["environment-failures"]
    assert finding.claim == "Some tasks fail in the environment"  # the four samples of one task
    assert "moved the mean" not in finding.evidence
    mixed = recorded(tmp_path / "b", failing(0.1875, trained=False, discard_reason="error"))["environment-failures"]
    assert "30 masked ones still moved the mean of their group" in mixed.evidence


def test_an_outage_that_is_over_has_an_end(tmp_path: Path) -> None:
    finding = recorded(tmp_path, failing(0.5, 6, 9), steps=30)["environment-failures"]
    assert finding.step <= 7 and finding.until is not None and 9 <= finding.until <= 12


def test_a_grader_that_changed_is_found_at_its_step(tmp_path: Path) -> None:
    finding = recorded(tmp_path, answers(lambda step: 1.0 if step < 12 else 0.5))["grader-drift"]
    assert finding.step == 12 and "1 and then 0.5" in finding.evidence and len(finding.sample_ids) == 2


def test_a_leak_counts_the_tasks_that_training_has_seen(tmp_path: Path) -> None:
    finding = evaluated(["e1", "t2", "t3"])(tmp_path)["eval-leak"]
    assert finding.evidence.startswith("2 of 3 evaluation tasks were seen in training")


def test_every_rule_has_what_its_tables_need(tmp_path: Path) -> None:
    """No rule raises on an empty run, and each that is skipped says what it needs."""
    with rs.init(name="run", dir=str(tmp_path), host=False) as run:
        run.log({"custom/x": 1.0}, step=0)
    seen = diagnosis(rs.open(tmp_path).run(run.id))
    assert seen.findings == [] and seen.looked >= 2
    assert all(skipped.needs for skipped in seen.skipped)


def test_a_time_limit_is_one_of_sampling_not_of_data_made_before(tmp_path: Path) -> None:
    def at_sixty_seconds(step: int) -> list[Row]:
        seconds = [60.0 if i < 6 else 20.0 + i for i in range(24)]
        return [sample(i, reward=float(i >= 6), generate_seconds=s) for i, s in enumerate(seconds)]

    assert "time-limit-zeros" in recorded(tmp_path / "online", at_sixty_seconds, algorithm="grpo")
    assert "time-limit-zeros" not in recorded(tmp_path / "pairs", at_sixty_seconds, algorithm="dpo")


def test_a_silent_run_says_what_is_under_way(tmp_path: Path) -> None:
    run = rs.init(name="r", dir=str(tmp_path), host=False)
    run.log({"time/step": 10.0}, step=0)
    run.span("update_actor", "ray:WorkerDict/3", step=1).announce(time.time_ns() - 42 * 60 * 10**9)
    reader, until = rs.open(tmp_path).run(run.id), time.monotonic() + 60
    while not reader.open_spans() and time.monotonic() < until:
        time.sleep(0.05)
        reader.refresh()
    [finding] = stalled(About(silent_seconds=7200), Series.of([10.0] * 20, "time/step"), Case(reader))
    run.finish()
    assert "Under way: update_actor on ray:WorkerDict/3 for 42 minutes." in finding.evidence
