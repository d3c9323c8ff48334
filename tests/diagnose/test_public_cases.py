"""Failures that teams reported in public, replayed with their numbers, and the doctor's word."""

from __future__ import annotations

from pathlib import Path

import rollscope as rs
from rollscope.diagnose import diagnosis, story
from tests.diagnose.worlds import Row, recorded, sample

ORPHANED = 1172  # of the 1,280 rollouts of steps 61 to 80


def orphaned_sessions(step: int) -> list[Row]:
    """NeMo-Gym#2552: sessions without an owner fail in reset, and enter the loss as a 0."""
    lost = ORPHANED // 20 + (step - 61 < ORPHANED % 20) if step >= 61 else 0
    failed = {"reward": 0.0, "error": f"ResetError: session s-{step:04x} has no owner", "stop_reason": "error"}
    return [sample(i, **(failed if (i * 37 + step) % 64 < lost else {})) for i in range(64)]


def test_1172_of_1280_rollouts_trained_as_zeros_are_named_within_two_steps(tmp_path: Path) -> None:
    finding = recorded(tmp_path, orphaned_sessions, 81)["environment-failures"]
    assert (finding.severity, finding.step) == ("bad", 61)
    assert finding.claim == "Failures of the environment are trained on as wrong answers"
    assert f"{ORPHANED:,} in all" in finding.evidence and "ResetError: session" in finding.evidence
    assert "bunch in time" in finding.evidence and finding.cost is not None and finding.cost.samples == ORPHANED
    soon = diagnosis(rs.open(tmp_path).run(), until=63).findings
    assert story([f for f in soon if f.severity != "info"])[0].finding.rule == "environment-failures"


def cut_at_the_wall(step: int) -> list[Row]:
    """rllm#710: 76 of 178 episodes end at the wall clock, and are labelled as done."""
    cut = [(i * 61 + step) % 178 < 76 for i in range(178)]
    ended = [
        {"reward": 0.0, "generate_seconds": 600.0} if c else {"generate_seconds": 90.0 + i} for i, c in enumerate(cut)
    ]
    return [sample(i, stop_reason="env_done", **row) for i, row in enumerate(ended)]


def test_episodes_cut_at_the_wall_clock_are_named_although_they_say_that_they_are_done(tmp_path: Path) -> None:
    finding = recorded(tmp_path, cut_at_the_wall, 12, algorithm="grpo")["time-limit-zeros"]
    assert finding.severity == "bad" and finding.step == 0
    assert finding.evidence.startswith("43 % of samples end within 2 % of the longest time")


def unknown_errors(step: int) -> list[Row]:
    """GAIR-NLP/ToRL#27: 61.7 % of the executions of code end as an UnknownError."""
    broken = [(i * 7 + step) % 60 < 37 for i in range(60)]
    return [
        sample(i, tool_calls=2, tool_failures=2 * b, **({"reward": 0.0} if b else {})) for i, b in enumerate(broken)
    ]


def test_an_executor_that_fails_in_six_of_ten_calls_is_named_once_it_breaks(tmp_path: Path) -> None:
    finding = recorded(tmp_path, lambda step: unknown_errors(step) if step >= 10 else whole(step), 30)["tool-failures"]
    assert (finding.severity, finding.step) == ("bad", 10)
    assert finding.evidence.startswith("62 % of calls fail now, 0 % at the opening")


def whole(step: int) -> list[Row]:
    return [sample(i, tool_calls=2, tool_failures=0) for i in range(60)]


def test_a_set_of_merely_hard_prompts_is_no_failure_of_the_environment(tmp_path: Path) -> None:
    hard = recorded(tmp_path, lambda step: [sample(i, reward=float(i % 64 == step % 64)) for i in range(64)], 40)
    assert not {"environment-failures", "time-limit-zeros", "tool-failures", "grader-drift"} & set(hard)
