"""Rules that read samples, evaluations and spans, on small recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.diagnose import Finding, diagnosis

random = np.random.default_rng(5)
Row = dict[str, Any]


def recorded(
    folder: Path,
    rows: Callable[[int], list[Row]],
    steps: int = 20,
    log: Callable[[int], Row] | None = None,
    **facts: Any,
) -> dict[str, Finding]:
    """The findings of a run with these samples at each step, by rule."""
    with rs.init(name="run", dir=str(folder), host=False, **facts) as run:
        for step in range(steps):
            samples = [{"id": f"{step}.{i}", **row} for i, row in enumerate(rows(step))]
            if samples:
                run.log_samples(samples, step=step)
            run.log({"custom/x": 1.0, **(log(step) if log else {})}, step=step)
    found = diagnosis(rs.open(folder).run(run.id)).findings
    return {finding.rule: finding for finding in found}


def sample(i: int, **more: Any) -> Row:
    return {"group": f"g{i // 4}", "task": f"t{i // 4}", "reward": float(i % 2), "trained": True, **more}


def sixteen(step: int) -> list[Row]:
    return [sample(i) for i in range(16)]


def failing(share: float, since: int = 10, until: int = 99, **more: Any) -> Callable[[int], list[Row]]:
    """A share of samples fails between two steps."""

    def rows(step: int) -> list[Row]:
        broken = int(share * 16) if since <= step <= until else 0
        failed = {"error": f"SandboxError: session {step} is gone", "reward": 0.0, "stop_reason": "error", **more}
        return [sample(i, **(failed if i < broken else {})) for i in range(16)]

    return rows


def hard_tasks(step: int) -> list[Row]:
    """One task of four is merely hard: it earns nothing, and nothing fails."""
    return [sample(i, **({"reward": 0.0} if i < 4 else {})) for i in range(16)]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(sixteen, id="nothing fails"),
        pytest.param(hard_tasks, id="a merely hard prompt earns nothing"),
        pytest.param(failing(0.0625, 10, 10), id="one sample of one step"),
        pytest.param(lambda step: [sample(i, stop_reason="length") for i in range(16)], id="cut is not failed"),
        pytest.param(lambda step: [sample(i, stop_reason="max_turns") for i in range(16)], id="a policy out of turns"),
    ],
)
def test_environment_failures_stay_quiet(tmp_path: Path, rows: Callable[[int], list[Row]]) -> None:
    assert "environment-failures" not in recorded(tmp_path, rows)


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


def answers(reward: Callable[[int], float], **more: Any) -> Callable[[int], list[Row]]:
    def rows(step: int) -> list[Row]:
        return [sample(i, completion=f"the answer is four {i // 4}", reward=reward(step), **more) for i in range(16)]

    return rows


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(answers(lambda step: 1.0), id="the same answer earns the same"),
        pytest.param(lambda step: [sample(i, completion=f"{step} {i}") for i in range(16)], id="no answer twice"),
        pytest.param(lambda step: [sample(i) for i in range(16)], id="no text is kept"),
        pytest.param(answers(lambda step: 0.5 + 0.4 * np.sin(7.0 * step)), id="a judge that always varies"),
        pytest.param(answers(lambda step: 1 - 0.001 * step), id="a price for KL in the reward drifts"),
        pytest.param(answers(lambda step: 1 - 0.1 * (step > 12), score=1.0), id="the score of the grader is the same"),
        pytest.param(answers(lambda step: 0.5 if step == 12 else 1.0), id="one step was graded in another way"),
    ],
)
def test_grader_drift_stays_quiet(tmp_path: Path, rows: Callable[[int], list[Row]]) -> None:
    assert "grader-drift" not in recorded(tmp_path, rows)


def test_a_grader_that_changed_is_found_at_its_step(tmp_path: Path) -> None:
    finding = recorded(tmp_path, answers(lambda step: 1.0 if step < 12 else 0.5))["grader-drift"]
    assert finding.step == 12 and "1 and then 0.5" in finding.evidence and len(finding.sample_ids) == 2


def evaluated(folder: Path, tasks: list[str]) -> dict[str, Finding]:
    with rs.init(name="run", dir=str(folder), host=False) as run:
        for step in range(6):
            run.log_samples([{"id": f"{step}.{i}", **row} for i, row in enumerate(sixteen(step))], step=step)
            run.log_eval("held-out", [{"task": task, "scores": {"acc": 0.5}} for task in tasks], step=step)
    return {f.rule: f for f in diagnosis(rs.open(folder).run(run.id)).findings}


def test_an_evaluation_with_training_tasks_is_a_leak_and_one_without_is_none(tmp_path: Path) -> None:
    assert "eval-leak" not in evaluated(tmp_path / "apart", ["e1", "e2", "e3"])
    finding = evaluated(tmp_path / "leak", ["e1", "t2", "t3"])["eval-leak"]
    assert finding.evidence.startswith("2 of 3 evaluation tasks were seen in training")


@pytest.mark.parametrize(
    ("prompt", "leaks"),
    [("sum 2 and  3, please", True), ("Sum 2 and 3, please, now", False)],
    ids=["the same but for case and spaces", "nearly the same"],
)
def test_a_prompt_leaks_by_its_text_as_the_marks_on_evals_say(tmp_path: Path, prompt: str, leaks: bool) -> None:
    with rs.init(name="run", dir=str(tmp_path), host=False) as run:
        for step in range(6):
            trained = {"task": "t", "prompt": "Sum 2 and 3, please", "reward": 1.0}
            run.log_samples([{"id": f"{step}.{i}", **trained} for i in range(4)], step=step)
            asked = {"task": "e", "scores": {"acc": 0.5}, "sample": {"prompt": prompt, "completion": "5"}}
            run.log_eval("held-out", [asked], step=step)
    found = {f.rule: f for f in diagnosis(rs.open(tmp_path).run(run.id)).findings}
    assert ("eval-leak" in found) == leaks


@pytest.mark.parametrize(
    ("name", "value", "speaks"),
    [
        ("length/truncated", 0.4, False),
        ("length/truncated", 1.0, False),
        ("policy/kl_ref_k3", 1e-9, False),
        ("policy/kl_ref_k1", -0.2, False),
        ("policy/logp/mean", -0.7, False),
        ("reward/mean", 35.0, False),
        ("length/truncated", 1.5, True),
        ("policy/kl_ref_k3", -0.2, True),
        ("policy/logp/mean", 0.7, True),
    ],
    ids=[
        "a share",
        "a share of all",
        "a tiny k3",
        "a k1 may be negative",
        "a log-probability",
        "a reward has no natural range",
        "a share above 1",
        "a k3 below 0",
        "a log-probability above 0",
    ],
)
def test_impossible_numbers(tmp_path: Path, name: str, value: float, speaks: bool) -> None:
    found = recorded(tmp_path, lambda step: [], 5, lambda step: {name: value})
    assert ("impossible-number" in found) is speaks


def components(main: np.ndarray, form: np.ndarray) -> Callable[[int], Row]:
    return lambda step: {
        "reward/mean": float(main[step] + 0.1 * form[step]),
        "reward_component/correctness/mean": float(main[step]),
        "reward_component/format/mean": float(form[step]),
    }


LONG = 220
steady = 0.98 + 0.005 * random.normal(size=LONG)


@pytest.mark.parametrize(
    ("main", "form", "speaks"),
    [
        (np.linspace(0.2, 0.7, LONG), steady, False),
        (np.full(LONG, 0.4) + 0.02 * random.normal(size=LONG), steady, False),
        (np.r_[np.full(60, 0.1), np.linspace(0.1, 0.6, LONG - 60)], np.r_[np.linspace(0.2, 1, 60), steady[60:]], False),
        (0.01 + 0.005 * random.normal(size=LONG), 0.8 + 0.1 * random.normal(size=LONG), True),
        (
            np.full(LONG, 0.3) + 0.005 * random.normal(size=LONG),
            np.r_[np.full(80, 0.3), np.linspace(0.3, 1, 140)],
            True,
        ),
    ],
    ids=[
        "the answer is learned",
        "nothing is learned, format is saturated",
        "format first, then the answer",
        "format varies, the answer hardly does",
        "format grows alone",
    ],
)
def test_reward_composition(tmp_path: Path, main: np.ndarray, form: np.ndarray, speaks: bool) -> None:
    found = recorded(tmp_path, lambda step: [], LONG, components(main, form))
    assert ("reward-composition" in found) is speaks


@pytest.mark.parametrize(
    ("seconds", "length", "speaks"),
    [
        (np.full(80, 40.0), None, False),
        (np.linspace(40, 80, 80), np.linspace(300, 600, 80), False),
        (40 + 10 * random.normal(size=80), None, False),
        (np.r_[np.full(40, 40.0), 90, np.full(39, 40.0)], None, False),
        (np.r_[np.full(40, 40.0), np.linspace(40, 100, 40)], np.full(80, 300.0), True),
    ],
    ids=["level", "answers are as much longer", "noise", "one slow step", "slower at the same length"],
)
def test_slower_steps(tmp_path: Path, seconds: np.ndarray, length: np.ndarray | None, speaks: bool) -> None:
    def log(step: int) -> Row:
        of_length = {} if length is None else {"length/completion/mean": float(length[step])}
        return {"time/step": float(seconds[step]), **of_length}

    assert ("slower" in recorded(tmp_path, lambda step: [], 80, log)) is speaks


def waiting(folder: Path, wait: Callable[[int], float], lanes: tuple[int, int], stale: float) -> bool:
    """Does the doctor say that the trainer waits? `lanes` are requests of two workers a step."""
    with rs.init(name="run", dir=str(folder), host=False) as run:
        for step in range(40):
            end = (step + 1) * 1_000_000_000
            run.log({"time/waiting_for_data": wait(step), "time/step": 1.0, "staleness/max": stale}, step=step)
            for worker, requests in enumerate(lanes):
                for _ in range(requests):
                    run.log_span("generate", end - 10**8, end, lane=f"inference/{worker}", step=step)
    return "trainer-waits" in [f.rule for f in diagnosis(rs.open(folder).run(run.id)).findings]


@pytest.mark.parametrize(
    ("wait", "lanes", "stale", "speaks"),
    [
        (lambda step: 0.05, (3, 3), 1.0, False),
        (lambda step: 0.6, (3, 3), 0.0, False),
        (lambda step: 0.5, (3, 3), 1.0, False),
        (lambda step: 0.05, (1, 4), 1.0, False),
        (lambda step: 0.5, (1, 4), 1.0, True),
        (lambda step: 0.05 if step < 20 else 0.5, (3, 3), 1.0, True),
    ],
    ids=[
        "it hardly waits",
        "sampling and training in turns, by design",
        "it waits alike from the start, and all workers work",
        "one worker does less, and nobody waits",
        "one worker is slow and the trainer waits",
        "it began to wait at step 20",
    ],
)
def test_the_trainer_waits(
    tmp_path: Path, wait: Callable[[int], float], lanes: tuple[int, int], stale: float, speaks: bool
) -> None:
    assert waiting(tmp_path, wait, lanes, stale) is speaks


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


@pytest.mark.parametrize(
    ("name", "rings"), [("reward/length_correlation/trained", 1), ("discarded/reward/length_correlation", 0)]
)
def test_what_was_discarded_rings_no_alarm_of_the_catalogue(tmp_path: Path, name: str, rings: int) -> None:
    findings = recorded(tmp_path, lambda step: [], 40, lambda step: {name: 0.95})
    assert ("catalogue-alarms" in findings) == bool(rings)
