"""A status is earned, and the verdict contradicts nothing: recorded failures and odd runs."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog import families  # noqa: F401  # fills METRICS, which the table below reads
from rollscope.catalog.spec import METRICS
from rollscope.diagnose import Finding, all_rules, diagnose
from rollscope.store.run import Run
from rollscope.views.health.pulse import Pulse
from rollscope.views.health.report import Health, health
from rollscope.views.health.status import Series, status
from rollscope.views.health.trend import Points, Trend
from rollscope.views.health.verdict import Situation, verdict

from .replay import FAILURES, record, replay

SAYS = {  # recorded run -> how the verdict begins without any finding, and its status
    "healthy": ("Learning. Nothing stands out.", "good"),
    "learning_rate_too_high": ("Crashed at step 0: Ended: Starved: step 1 found nothing to train on", "bad"),
    "learning_rate_too_high, groups kept": ("KL to reference, k3: nothing of the reference is left", "bad"),
    "entropy_collapse": ("Learning. Nothing stands out.", "good"),  # entropy falls by a quarter, and it learns
    "length_hack": ("Reward: 2.3 lies outside what is declared 0 to 2", "watch"),
    "constant_reward": ("Reward: every sample earns the same", "watch"),
    "noisy_reward": ("No progress beyond noise.", "none"),
    "dead_reward": ("Crashed at step 19: Ended: Starved: step 20 found nothing to train on", "bad"),
    "stale_rollouts": ("Reward: down from 0.648", "watch"),
    "truncation": ("Crashed at step 0: Ended: Starved: step 0 found nothing to train on", "bad"),
    "truncation, groups kept": ("KL to reference, k3: nothing of the reference is left", "bad"),
    "sampler_mismatch": ("KL to reference, k3: nothing of the reference is left", "bad"),
    "exploding_kl": ("Crashed at step 0: Ended: Starved: step 1 found nothing to train on", "bad"),
    "exploding_kl, groups kept": ("KL to reference, k3: nothing of the reference is left", "bad"),
    "slow_worker": ("Learning. Nothing stands out.", "good"),  # it waits, and it learns
    "worker_crash": ("Crashed at step 20: Ended: WorkerDied: rollout worker 0", "bad"),
    "tool_failure_loop, groups kept": ("Reward: 2.4 % of where it opened (0.938)", "watch"),
    "eval_leak": ("Throughput: half of where it opened", "watch"),
    "dead_critic": ("Learning, but value loss: up from 0.317 to 0.381", "watch"),
    "nan_loss": ("Learning. Nothing stands out.", "good"),  # the finding about step 20 says more
}
LEARNS = {"healthy", "entropy_collapse", "slow_worker", "dead_critic", "eval_leak"}


def judged(run: Run, claims: list[Finding] | None = None, **more: Any) -> Health[Finding]:
    return health(run, [] if claims is None else claims, rules=len(all_rules()), **more)


def signs(run: Run, claims: list[Finding] | None = None) -> dict[str, Any]:
    return {sign["title"]: sign for sign, _ in judged(run, claims).signs}


@pytest.mark.parametrize("name", FAILURES)
def test_a_recorded_run_gets_its_sentence(tmp_path: Path, name: str) -> None:
    said = judged(replay(tmp_path, name)).verdict
    begins, is_ = SAYS[name]
    assert (said["title"][: len(begins)], said["status"]) == (begins, is_), said


@pytest.mark.parametrize("name", FAILURES)
def test_with_findings_no_failure_learns_and_no_sign_contradicts(tmp_path: Path, name: str) -> None:
    run = replay(tmp_path, name)
    result = judged(run, diagnose(run))
    statuses = {sign["status"] for sign, _ in result.signs}
    assert name in LEARNS or "Learning" not in result.verdict["title"]
    assert result.verdict["status"] == "good" or name not in {"healthy"}
    assert not ({"bad", "watch"} & statuses and result.verdict["status"] in ("good", "none"))
    assert not ("bad" in statuses and result.verdict["status"] != "bad")


def test_every_sign_names_its_reference(tmp_path: Path) -> None:
    for name in FAILURES:
        for sign, _ in judged(replay(tmp_path / name, name)).signs:
            reference = sign["reference"]
            assert reference["text"] and (sign["status"] == "none" or reference["kind"] != "none"), (name, sign)
            assert (
                reference["kind"] in ("finding", "record") or reference["value"] is not None or sign["status"] == "none"
            )


# ---- runs that are not trained far, or not at all


def test_an_empty_run_says_that_nothing_is_recorded(tmp_path: Path) -> None:
    assert judged(record(tmp_path / "a", {})).verdict["title"] == "Nothing was recorded."
    run = rs.init(name="r", dir=str(tmp_path / "b"), host=False)
    said = judged(rs.open(tmp_path / "b").run(run.id)).verdict
    run.finish()
    assert (said["title"], said["status"]) == ("Nothing recorded yet.", "none")


def test_a_crash_at_the_first_step_says_why(tmp_path: Path) -> None:
    run = record(tmp_path, {0: {"reward/mean": 1.0}}, "CUDA out of memory. Tried to allocate 2 GiB.")
    said = judged(run).verdict
    assert said["title"] == "Crashed at step 0: Ended: CUDA out of memory." and said["status"] == "bad"
    assert said["context"].startswith("Tried to allocate 2 GiB.")


def test_a_crash_before_the_first_step_names_no_step(tmp_path: Path) -> None:
    assert judged(record(tmp_path, {}, "no such model")).verdict["title"] == (
        "Crashed before its first step: Ended: no such model."
    )


def test_a_killed_run_is_not_learning() -> None:
    pulse = Pulse("killed", step=40, steps=41)
    assert verdict(Situation(pulse, names=3, known=3)) == {
        "title": "Killed at step 40: the process ended without a word.",
        "context": "",
        "status": "bad",
    }


@pytest.mark.parametrize(("steps", "title"), [(1, "1 step in. "), (2, "2 steps in. "), (9, "9 steps in. ")])
def test_a_few_steps_are_too_early(tmp_path: Path, steps: int, title: str) -> None:
    run = record(tmp_path, {i: {"reward/mean": 0.1 * i, "policy/entropy": 1.0} for i in range(steps)})
    assert judged(run).verdict["title"] == f"{title}Too early to say."
    assert {sign["status"] for sign in signs(run).values()} == {"none"}
    assert not any("Steady" in sign["reading"] for sign in signs(run).values())


def test_names_of_ones_own_are_not_judged(tmp_path: Path) -> None:
    run = record(tmp_path, {i: {"my/score_thing": i / 50, "other": 1.0} for i in range(50)})
    said = judged(run).verdict
    assert (said["title"], said["status"]) == ("Nothing here can be judged.", "none")
    assert "2 metrics are logged" in said["context"]
    assert {sign["status"] for sign in signs(run).values()} <= {"none"}


def test_a_declared_range_is_a_reference_for_a_name_of_ones_own(tmp_path: Path) -> None:
    rows = {i: {"my/temperature": 0.5, "my/other": 9.0} for i in range(50)}
    ranges = {"ranges": {"my/temperature": [0, 1], "my/other": [0, 1]}}
    found = signs(record(tmp_path, rows, declared=ranges))
    inside, outside = found["My temperature"], found["My other"]
    assert (inside["status"], inside["reference"]["text"]) == ("good", "declared 0 to 1")
    assert (outside["status"], outside["reading"]) == ("watch", "9 lies outside what is declared 0 to 1.")


# ---- series with an end, and without a level


def test_nan_for_the_last_29_steps_is_bad_on_card_and_verdict(tmp_path: Path) -> None:
    rows = {i: {"reward/mean": i / 60, "policy/entropy": 1.0 if i < 31 else float("nan")} for i in range(60)}
    run = record(tmp_path, rows)
    entropy = signs(run)["Entropy"]
    assert (entropy["status"], entropy["reading"]) == ("bad", "NaN since step 31.")
    assert entropy["reference"]["text"] == "last a number at step 30: 1"
    assert judged(run).verdict["title"] == "Entropy: NaN since step 31"


def test_a_series_that_stopped_is_watched(tmp_path: Path) -> None:
    rows = {i: {"reward/mean": i / 60, **({"policy/entropy": 1.0} if i < 40 else {})} for i in range(60)}
    entropy = signs(record(tmp_path, rows))["Entropy"]
    assert (entropy["status"], entropy["reading"]) == ("watch", "Nothing logged since step 39.")


def test_a_kl_of_thousands_is_never_steady(tmp_path: Path) -> None:
    for steps in (1, 2, 60):
        run = record(tmp_path / str(steps), {i: {"policy/kl_ref_k3": 3650.0} for i in range(steps)})
        kl = signs(run)["KL to reference, k3"]
        assert kl["status"] == "bad" and "teady" not in kl["reading"] and "3.65k" in kl["reading"]


def test_how_a_constant_was_added_up_is_no_noise() -> None:
    trend = Trend.of(0.1 + np.arange(40) % 2 * 1e-17 + np.arange(40) % 3 * 1.4e-17)
    assert trend is not None and trend.spread == trend.noise == 0.0 and trend.steady
    small = Trend.of(1e-9 * (np.arange(40) % 2))
    assert small is not None and small.spread > 0


def test_noise_that_hides_a_change_is_not_called_steady() -> None:
    rng = np.random.default_rng(0)
    noisy = Trend.of(rng.normal(1.0, 1.0, 40))
    quiet = Trend.of(rng.normal(1.0, 0.02, 40))
    assert noisy is not None and quiet is not None
    assert not noisy.moved and not noisy.steady
    assert not quiet.moved and quiet.steady


def points(value: Any, last_step: int | None = None) -> Points:
    value = np.asarray(value, np.float64)
    return Points(np.arange(len(value)), value, len(value) - 1 if last_step is None else last_step)


def test_inside_a_range_is_no_merit_for_what_should_rise() -> None:
    reward = Series(points(np.full(60, 0.01)), METRICS["reward"], "mean", "reward", declared=(0.0, 1.0))
    assert status(reward)["status"] == "none"


@pytest.mark.parametrize("entry", [m for m in METRICS.values() if m.kind != "distribution"], ids=lambda m: m.name)
def test_no_entry_of_the_catalogue_is_good_without_a_reference(entry: Any) -> None:
    """Not for a point or two, not for NaN at the end, and not for a series that stopped."""
    flat = np.full(60, 0.5)
    for odd in (points([0.5]), points([0.5, 0.5]), points(np.r_[flat, np.nan]), points(flat, 200)):
        assert status(Series(odd, entry, "", entry.unit, (0.0, 1.0), entry.healthy))["status"] != "good"
    found = status(Series(points(flat), entry, "", entry.unit, healthy=entry.healthy))
    assert found["status"] != "good" or found["reference"]["value"] is not None


# ---- evaluations


def evaluated(folder: Path, scores: list[float], half: float) -> Run:
    name = "eval/set/acc/mean@4"
    rows = {
        10 * i: {name: value, f"{name}/ci_low": value - half, f"{name}/ci_high": value + half}
        for i, value in enumerate(scores)
    }
    for step in range(10 * len(scores)):
        rows.setdefault(step, {})["policy/entropy"] = 1.0
    return record(folder, rows)


def test_an_evaluation_is_watched_only_outside_its_interval(tmp_path: Path) -> None:
    inside = signs(evaluated(tmp_path / "a", [0.2, 0.5, 0.45, 0.44], 0.06))["Eval, set mean@4"]
    outside = signs(evaluated(tmp_path / "b", [0.2, 0.5, 0.3, 0.3], 0.06))["Eval, set mean@4"]
    flat = signs(evaluated(tmp_path / "c", [0.30, 0.31, 0.32], 0.06))["Eval, set mean@4"]
    assert inside["status"] == "good" and "against its first, 0.2 ± 0.06" in inside["reference"]["text"]
    assert outside["status"] == "watch" and "against its best, 0.5 ± 0.06" in outside["reference"]["text"]
    assert flat["status"] == "none"


def test_a_reward_that_rises_alone_is_not_learning(tmp_path: Path) -> None:
    rows = {i: {"reward/mean": i / 50} for i in range(50)}
    name = "eval/set/acc/mean@4"
    for step in (0, 10, 20, 30, 40):
        rows[step] |= {name: 0.3, f"{name}/ci_low": 0.25, f"{name}/ci_high": 0.35}
    said = judged(record(tmp_path / "b", rows)).verdict
    assert said["title"] == "Reward improves; the evaluation does not follow." and said["status"] == "none"


# ---- the run as a process


def test_a_silent_run_says_for_how_long(tmp_path: Path) -> None:
    run = rs.init(name="r", dir=str(tmp_path), host=False)
    for step in range(20):
        run.log({"reward/mean": step / 20}, step=step)
    run.flush(60)
    reader = rs.open(tmp_path).run(run.id)
    said = judged(reader, now=time.time() + 40).verdict
    run.finish()
    assert said["title"].startswith("Silent for 4") and said["status"] == "watch"


def test_a_run_that_is_heard_but_makes_no_step_is_stalled(tmp_path: Path) -> None:
    run = rs.init(name="r", dir=str(tmp_path), host=False)
    for step in range(20):
        run.log({"reward/mean": step / 20}, step=step)
    run.flush(60)
    reader = rs.open(tmp_path).run(run.id)
    later = time.time() + 600
    os.utime(reader.folder.path, (later, later))
    for entry in os.scandir(reader.folder.path):
        os.utime(entry.path, (later, later))
    said = judged(reader, now=later + 1).verdict
    run.finish()
    assert said["title"].startswith("Stalled: no step for 10 min.") and said["status"] == "watch"


def test_a_run_whose_samples_are_all_dropped_is_starved(tmp_path: Path) -> None:
    rows = {i: {"reward/generated/mean": 0.5, "discarded/share": 0.2 if i < 30 else 1.0} for i in range(40)}
    said = judged(record(tmp_path, rows)).verdict
    assert (said["title"], said["status"]) == ("Nothing to train on since step 30", "bad")


# ---- what else the verdict reads


def good(**more: Any) -> Situation:
    from rollscope.views.health.effect import Effect

    rose = Effect("Reward", True, False, "Reward rose from 0.1 to 0.5")
    return Situation(Pulse("running", step=60, steps=61), trained=rose, names=5, known=5, rules=6, **more)


def test_a_calm_verdict_says_what_it_rests_on() -> None:
    said = verdict(good())
    assert said["title"] == "Learning. Nothing stands out." and said["status"] == "good"
    assert said["context"] == "Reward rose from 0.1 to 0.5. Six rules read this run; none applies."


def test_a_value_beyond_its_alarm_is_not_called_good() -> None:
    """One spike rings no alarm, but the card shows it beside its status."""
    entry, steady = METRICS["policy/kl_ref_k3"], np.full(40, 0.1)
    calm = status(Series(points(steady), entry, "", entry.unit))
    spiked = status(Series(points(np.append(steady, 0.9)), entry, "", entry.unit))
    assert (calm["status"], spiked["status"]) == ("good", "none")
    assert "alarm above 0.5" in spiked["reference"]["text"]


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (0, "No rule has what it needs to read this run."),
        (1, "One rule read this run; none applies."),
        (18, "18 rules read this run; none applies."),
    ],
)
def test_rules_that_could_not_look_are_not_counted_as_calm(rules: int, says: str) -> None:
    assert verdict(replace(good(), rules=rules))["context"].endswith(says)


def test_hidden_findings_are_said_to_be_hidden() -> None:
    said = verdict(good(hidden=1))
    assert said["title"] == "Learning. Nothing else stands out." and said["context"].endswith("One finding is hidden.")


def test_rows_that_the_recorder_lost_stand_in_the_verdict() -> None:
    assert verdict(good(lost={"samples": 12})) == {
        "title": "Learning, but the recorder lost 12 of its samples",
        "context": "Notes say why. Reward rose from 0.1 to 0.5.",
        "status": "watch",
    }
    assert verdict(good(damaged=2))["title"] == "Learning, but 2 places of the run's files cannot be read"


def test_the_worst_finding_comes_first_and_the_rest_follow() -> None:
    kl = Finding(step=40, claim="KL to the reference took off", evidence="0.3 now.", severity="bad")
    cut = Finding(step=5, claim="Answers are cut at the length limit", evidence="30 %.", until=9)
    said = verdict(good(claims=[cut, kl]))
    assert said["title"] == "KL to the reference took off since step 40" and said["status"] == "bad"
    assert said["context"] == "0.3 now. Answers are cut at the length limit from step 5 to 9."


def test_a_crash_outweighs_everything() -> None:
    kl = Finding(step=40, claim="KL to the reference took off", evidence="0.3 now.", severity="bad")
    pulse = Pulse("crashed", "RuntimeError: no trainable groups", step=33, steps=34)
    said = verdict(Situation(pulse, claims=[kl], names=5, known=5))
    assert said["title"] == "Crashed at step 33: RuntimeError: no trainable groups."
    assert said["context"] == "KL to the reference took off since step 40."


def test_before_the_first_diagnosis_only_the_state_is_said() -> None:
    assert verdict(good(claims=None))["title"] == "Reading the run"
    assert verdict(Situation(Pulse("crashed", "boom", 3, 4), claims=None))["title"] == "Crashed at step 3: boom."


def test_every_failure_of_the_trainer_is_recorded() -> None:
    """Those that only cost time say nothing about what is learned."""
    pytest.importorskip("torch")
    from rollscope.trainer.failures import FAILURES as every

    time_only = {"slow_grader", "slow_sync", "long_tail"}
    assert {name.split(",")[0] for name in FAILURES} == {"healthy", *every} - time_only
