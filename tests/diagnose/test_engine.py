"""The engine: what a rule may ask for, what it says when that is missing, and a run that grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.diagnose import Case, Finding, all_rules, diagnosis, story
from rollscope.diagnose.aggregates import Chunk, compute
from rollscope.diagnose.engine import examine
from rollscope.diagnose.needs import AboutRun, Evaluations, FromSamples, HostOf, Need
from rollscope.diagnose.reading import live_numbers
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.live_numbers import MOST_STEPS, LiveNumbers, spread_steps
from rollscope.diagnose.rule import make
from rollscope.store.run import Run


def speaks(*given: object, least: float = 1.0) -> Iterator[Finding]:
    """It speaks of whatever it is given."""
    yield Finding(step=int(least), claim="It was given", evidence=repr([type(one).__name__ for one in given]))


def said(run: Run, *needs: str | Need, settings: dict[str, dict[str, float]] | None = None) -> Finding | str:
    """The finding of a rule with these needs, or what it lacked."""
    seen = examine(Case.of(run), {"r": make("r", speaks, needs)}, settings)
    return seen.findings[0] if seen.findings else seen.skipped[0].needs


def samples(step: int) -> list[dict[str, object]]:
    return [
        {"id": f"{step}.{i}", "group": f"g{step}", "reward": float(i), "completion_tokens": 3 * i + 1} for i in range(4)
    ]


def record(folder: Path) -> rs.Run:
    return rs.init(name="run", dir=str(folder), host=False, config={"optim": {"lr": 0.5}})


def test_a_rule_gets_series_samples_evaluations_and_the_record(tmp_path: Path) -> None:
    with record(tmp_path) as run:
        run.log({"policy/entropy": 1.0}, step=0)
        run.log_samples(samples(0), step=0)
        run.log_eval("held-out", [{"task": "a", "scores": {"acc": 0.5}}], step=0)
    reader = rs.open(tmp_path).run(run.id)
    found = said(reader, "policy/entropy", FromSamples("length_reward"), Evaluations(), AboutRun())
    assert isinstance(found, Finding) and found.evidence == "['Series', 'Series', 'list', 'About']"
    assert Case.of(reader).about().setting("lr") == 0.5


@pytest.mark.parametrize(
    ("need", "lacks"),
    [
        ("policy/entropy", "policy/entropy"),
        (("policy/kl_ref_k3", "policy/kl_ref_k1"), "policy/kl_ref_k3 or policy/kl_ref_k1"),
        (FromSamples("length_reward"), "samples with reward, completion_tokens"),
        (Evaluations(3), "3 evaluations of one set"),
        (HostOf("gpu_memory_share"), "gpu_memory_share of the host"),
    ],
    ids=["a series", "either of two series", "samples", "evaluations", "the host"],
)
def test_a_rule_without_what_it_needs_is_skipped_and_says_so(tmp_path: Path, need: str | Need, lacks: str) -> None:
    with record(tmp_path) as run:
        run.log({"reward/mean": 1.0}, step=0)
    assert said(rs.open(tmp_path).run(run.id), need) == lacks


def test_no_rule_asks_for_what_the_samples_have(tmp_path: Path) -> None:
    """The ten lines of the README: id, group, completion and reward, and short answers."""
    with record(tmp_path) as run:
        for step in range(8):
            rows = [{"id": f"{step}.{i}", "group": "g", "completion": "…", "reward": i % 2} for i in range(32)]
            run.log_samples(rows, step=step)
    needs = {one.rule: one.needs for one in diagnosis(rs.open(tmp_path).run(run.id)).skipped}
    assert needs["environment-failures"] == "samples with error or stop_reason"
    assert needs["degenerate-text"] == "samples with a completion of 32 words or more"
    assert needs["reward-noise"].startswith("samples with reward that varies, and rewards or score")


def test_a_threshold_can_be_set(tmp_path: Path) -> None:
    with record(tmp_path) as run:
        run.log({"policy/entropy": 1.0}, step=0)
    found = said(rs.open(tmp_path).run(run.id), "policy/entropy", settings={"r": {"least": 7.0}})
    assert isinstance(found, Finding) and found.step == 7


def test_a_growing_run_gives_the_numbers_of_one_read_at_once(tmp_path: Path) -> None:
    with record(tmp_path) as run:
        run.log_samples(samples(0), step=0)
        run.flush(60)
        reader = rs.open(tmp_path).run(run.id)
        assert Case.of(reader).aggregate("length_reward") is not None
        run.log_samples(samples(1), step=1)
        run.log_samples([{"id": "0.0", "reward": 9.0}], step=0)  # a sample of a step that was read changes
        run.flush(60)
        reader.refresh()
        grown = Case.of(reader).aggregate("length_reward")
    once = Case.of(rs.open(tmp_path).run(run.id)).aggregate("length_reward")
    assert grown is not None and once is not None and grown.step.tolist() == [0, 1]
    np.testing.assert_allclose(grown.value, once.value)
    assert grown.value[0] < 0.5 < grown.value[1]


def test_samples_that_could_not_be_read_are_read_when_one_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with record(tmp_path) as run:
        run.log_samples(samples(0), step=0)
    numbers = LiveNumbers(rs.open(tmp_path).run(run.id))
    with monkeypatch.context() as patch, pytest.raises(FileNotFoundError):
        patch.setattr(live_numbers, "compute", _sealed_meanwhile)
        numbers.series("length_reward")
    assert numbers.series("length_reward") is not None


def _sealed_meanwhile(*_: object) -> None:
    raise FileNotFoundError


def test_one_can_ask_what_it_would_have_said_at_an_earlier_step(tmp_path: Path) -> None:
    with record(tmp_path) as run:
        for step in range(80):
            run.log({"policy/entropy": 1.0 if step < 40 else 0.01}, step=step)
    reader = rs.open(tmp_path).run(run.id)
    assert [f.rule for f in diagnosis(reader).findings] == ["entropy-collapse"]
    assert diagnosis(reader, until=39).findings == []


def test_reward_and_length_are_compared_inside_groups_alone() -> None:
    """Hard prompts have long answers and low rewards; inside a group longer is better."""
    hard = {"reward": [0.0, 0.1, 0.2], "completion_tokens": [90, 95, 99], "group": ["h"] * 3}
    easy = {"reward": [0.8, 0.9, 1.0], "completion_tokens": [10, 15, 19], "group": ["e"] * 3}
    numbers = compute(Chunk.of(**{name: [*hard[name], *easy[name]] for name in hard}), text=False)
    assert numbers["length_reward"][0] > 0.9


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({}, 0.25),
        ({"stop_reason": ["length"] * 10 + ["stop"] * 30}, 0.0),
        ({"stop_reason": ["timeout"] * 10 + ["stop"] * 30}, 0.25),
        ({"completion_tokens": [64] * 10 + [20] * 30}, 0.0),
        ({"completion_tokens": list(range(20, 60))}, 0.25),
    ],
    ids=["times alone", "cut by length", "cut by time", "the longest answers", "answers of any length"],
)
def test_a_time_limit_is_told_from_a_limit_of_tokens(more: dict[str, list[Any]], share: float) -> None:
    times = [60.0] * 10 + [20.0] * 30
    samples = Chunk.of(reward=[0.0] * 10 + [1.0] * 30, generate_seconds=times, **more)
    assert compute(samples, text=False)["zero_at_limit"][0] == share


def test_a_price_for_each_token_is_0_where_nothing_is_added_and_unknown_where_length_is_the_same() -> None:
    def price(added: float, tokens: list[int]) -> float:
        reward = [1.0 + added * n for n in tokens]
        samples = Chunk.of(reward=reward, score=[1.0] * len(tokens), completion_tokens=tokens)
        return float(compute(samples, text=True)["added_per_token"][0])

    assert price(0.0, [6] * 8) == 0.0
    assert price(0.125, [5, 6, 7, 8] * 2) == pytest.approx(0.125)
    assert np.isnan(price(0.125, [6] * 8))


def test_few_samples_do_not_replace_what_was_logged(tmp_path: Path) -> None:
    with rs.init(name="run", dir=str(tmp_path), host=False, framework="trl:grpo") as run:
        for step in range(40):
            run.log({"reward": 0.5 + step / 100, "frac_reward_zero_std": 0.2, "kl": 0.01}, step=step)
            if step % 10 == 0:
                run.log_samples(samples(step), step=step)
    series = Case.of(rs.open(tmp_path).run(run.id)).series(("reward/mean",))
    assert series is not None and len(series) == 40


def test_few_steps_are_chosen_for_text_and_stay_chosen() -> None:
    before, after = spread_steps(np.arange(1000)), spread_steps(np.arange(1010))
    assert len(after) <= MOST_STEPS + 20 and 0 in after and 1009 in after
    assert {*before[:-10]} <= {*after}


def finding(rule: str, step: int, severity: str = "watch") -> Finding:
    return Finding(step=step, claim=rule, evidence="", severity=severity, rule=rule)  # type: ignore[arg-type]


def test_what_was_over_long_before_is_no_cause() -> None:
    from rollscope.diagnose.story import linked

    over, lasting = (replace(finding("non-finite", 30), until=until) for until in (60, 100))
    assert [f.cause for f in linked([over, finding("kl-takeoff", 90)])] == ["", ""]
    assert [f.cause for f in linked([lasting, finding("kl-takeoff", 90)])] == ["", "non-finite"]


def test_a_story_begins_with_the_cause() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("reward-falling", 60), finding("kl-takeoff", 30, "bad"), finding("truncation", 45)]))
    (chapter,) = told
    assert [f.rule for f in chapter.findings()] == ["kl-takeoff", "truncation", "reward-falling"]


def test_a_cause_comes_before_a_plateau_that_nothing_explains() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("plateau", 10), finding("dead-groups", 90)]))
    assert [chapter.finding.rule for chapter in told] == ["dead-groups", "plateau"]


def test_a_noisy_reward_explains_spikes_of_the_gradient() -> None:
    from rollscope.diagnose.story import linked

    (chapter,) = story(linked([finding("gradient-spikes", 24), finding("reward-noise", 22)]))
    assert [f.rule for f in chapter.findings()] == ["reward-noise", "gradient-spikes"]


def test_what_began_long_before_is_no_consequence() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("reward-falling", 10), finding("kl-takeoff", 90)]))
    assert [chapter.finding.rule for chapter in told] == ["reward-falling", "kl-takeoff"]


def test_a_spike_explains_what_begins_shortly_after_it_alone() -> None:
    from rollscope.diagnose.story import linked

    spikes = replace(finding("gradient-spikes", 10), moments=(10, 12, 14, 200))
    assert [f.cause for f in linked([spikes, finding("kl-takeoff", 120)])] == ["", ""]
    assert [f.cause for f in linked([spikes, finding("kl-takeoff", 25)])] == ["", "gradient-spikes"]


def test_of_two_that_begin_at_once_the_one_nearer_the_machine_leads() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("dead-groups", 0, "bad"), finding("truncation", 0, "bad")]))
    assert [f.rule for f in told[0].findings()] == ["truncation", "dead-groups"] and len(told) == 1


def test_engine_and_trainer_are_compared_on_the_same_tokens() -> None:
    same, other = [[-1.0, -2.0], [-0.5]], [[-1.0, -2.0 + 0.3], [-0.5]]
    steps = {"step": [0, 0, 1, 1], "rollout_logp": [*same, *same], "old_logp": [*same, *other]}
    values = compute(Chunk.of(**steps), text=True)["sampler_k3"]
    assert values.tolist() == pytest.approx([0.0, (np.expm1(0.3) - 0.3) / 3])


def test_a_row_whose_sides_differ_in_length_is_left_out() -> None:
    samples = Chunk.of(rollout_logp=[[-1.0], [-1.0, -2.0], None], old_logp=[[-1.5], [-1.0], [-1.0]])
    assert compute(samples, text=True)["sampler_k3"].tolist() == pytest.approx([np.expm1(-0.5) + 0.5])


def test_a_plateau_follows_from_what_began_before_it_could_be_seen() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("plateau", 200), finding("entropy-collapse", 250)]))
    assert [(c.finding.rule, [f.finding.rule for f in c.follows]) for c in told] == [("entropy-collapse", ["plateau"])]


def test_what_no_rule_explains_is_told_after_what_one_does() -> None:
    told = story([finding("catalogue-alarms", 5), finding("engine-mismatch", 20)])
    assert [c.finding.rule for c in told] == ["engine-mismatch", "catalogue-alarms"]


def test_a_threshold_of_the_catalogue_follows_what_has_a_name() -> None:
    from rollscope.diagnose.story import linked

    told = story(linked([finding("catalogue-alarms", 50, "bad"), finding("trainer-waits", 20)]))
    assert [[f.rule for f in chapter.findings()] for chapter in told] == [["trainer-waits", "catalogue-alarms"]]


def test_of_a_gap_to_the_held_out_score_and_a_collapse_the_earlier_one_leads() -> None:
    from rollscope.diagnose.story import linked

    for first, second in (("entropy-collapse", "proxy-gap"), ("proxy-gap", "entropy-collapse")):
        (chapter,) = story(linked([finding(second, 40, "bad"), finding(first, 0)]))
        assert [f.rule for f in chapter.findings()] == [first, second]


def test_old_samples_that_pause_for_some_steps_began_with_the_first() -> None:
    from rollscope.diagnose.testing import said

    ages = np.r_[np.ones(10), np.tile([2.0, 5.0], 15), np.full(12, 4.0), np.tile([2.0, 5.0], 10)]
    assert [f.step for f in said(all_rules()["staleness"], ages, About())] == [11]


def test_a_mismatch_began_where_exactness_ended() -> None:
    from rollscope.diagnose.testing import said

    gap = np.r_[np.full(30, 1e-13), np.geomspace(2e-5, 0.02, 40)]
    assert [f.step for f in said(all_rules()["engine-mismatch"], gap)] == [30]
