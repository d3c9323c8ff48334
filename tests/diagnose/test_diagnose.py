"""Every rule over a recorded run, the finding's JSON, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.diagnose import Finding, all_rules, diagnose
from rollscope.diagnose.finding import FindingShape
from rollscope.diagnose.rule import RULES, make


def record(folder: Path, entropy: np.ndarray, loss_at: dict[int, float] | None = None) -> str:
    with rs.init(project="p", name="run", dir=str(folder), host=False) as run:
        for step, value in enumerate(entropy):
            run.log({"policy/entropy": float(value), "policy/loss_total": (loss_at or {}).get(step, 0.1)}, step=step)
    return run.id


def test_a_healthy_run_has_no_findings(tmp_path: Path) -> None:
    id = record(tmp_path, np.linspace(1, 0.6, 60))
    assert diagnose(rs.open(tmp_path).run(id)) == []
    assert main(["doctor", id, "--dir", str(tmp_path)]) == 0


def test_a_collapse_is_found_with_its_step_and_the_doctor_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = record(tmp_path, np.r_[np.ones(40), np.full(40, 0.01)])
    (finding,) = diagnose(rs.open(tmp_path).run(id))
    assert finding.rule == "entropy-collapse" and finding.severity == "bad" and abs(finding.step - 40) <= 3
    assert main(["doctor", id, "--dir", str(tmp_path)]) == 1
    assert "Entropy collapsed" in capsys.readouterr().out


def test_a_nan_loss_goes_first_and_is_bad(tmp_path: Path) -> None:
    id = record(tmp_path, np.r_[np.ones(40), np.full(40, 0.05)], {70: float("nan"), 71: float("inf")})
    first, second = diagnose(rs.open(tmp_path).run(id))
    assert (first.rule, first.severity, first.step) == ("non-finite", "bad", 70)
    assert second.rule == "entropy-collapse"


def one_step(folder: Path, batch: dict[str, object], **more: object) -> list[str]:
    with rs.init(name="run", dir=str(folder), host=False) as run:
        run.log_batch(batch, step=0)
        run.log(more, step=0)
        run.log_eval("set", [{"task": "a", "repeat": 0, "scores": {"accuracy": 1.0}}], step=0)
        run.log_samples([{"id": "s", "reward": 1.0, "completion_tokens": 3}], step=0)
    return [f.rule for f in diagnose(rs.open(folder).run(run.id)) if f.rule == "non-finite"]


def test_what_one_sample_or_equal_values_cannot_have_is_no_alarm(tmp_path: Path) -> None:
    """One sample has no spread, one task no interval, equal rewards no correlation with length."""
    alone = {"reward": np.ones(1), "completion_tokens": np.full(1, 3.0), "score": np.ones(1), "group": ["g"]}
    equal = {"reward": np.ones(4), "completion_tokens": np.arange(4.0), "returns": np.ones((4, 2))}
    assert one_step(tmp_path / "one", alone) == []
    assert one_step(tmp_path / "equal", equal | {"old_values": np.ones((4, 2))}) == []


def test_a_nan_among_the_values_of_a_spread_is_an_alarm(tmp_path: Path) -> None:
    tokens = {"logp": np.array([[-1.0, np.nan]]), "action_mask": np.ones((1, 2))}
    assert one_step(tmp_path / "nan", tokens) == ["non-finite"]
    assert one_step(tmp_path / "inf", {"reward": np.array([1.0, np.inf])}) == ["non-finite"]


def test_a_frameworks_names_are_read_through_its_dialect(tmp_path: Path) -> None:
    with rs.init(project="p", name="verl", dir=str(tmp_path), framework="verl", host=False) as run:
        for step in range(80):
            run.log({"actor/entropy": 1.0 if step < 40 else 0.01}, step=step)
    assert [f.rule for f in diagnose(rs.open(tmp_path).run(run.id))] == ["entropy-collapse"]


def test_a_rule_that_fails_does_not_silence_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> Iterator[Finding]:
        raise ZeroDivisionError("by nothing")

    all_rules()
    monkeypatch.setitem(RULES, "broken", make("broken", breaks, ("policy/entropy",)))
    id = record(tmp_path, np.r_[np.ones(40), np.full(40, 0.01)])
    findings = {finding.rule: finding for finding in diagnose(rs.open(tmp_path).run(id))}
    assert findings["entropy-collapse"].severity == "bad"
    assert findings["broken"].severity == "info" and "by nothing" in findings["broken"].evidence


def test_the_api_sends_every_field_of_a_finding_and_whether_it_is_hidden() -> None:
    finding = Finding(
        step=3, claim="Reward is falling", evidence="0.1 now.", metrics=("reward",), rule="reward-falling"
    )
    shape = finding.shape("Look at entropy.", {"reward-falling": "expected here"})
    assert shape.keys() == FindingShape.__required_keys__
    assert shape.keys() == {field.name for field in fields(Finding)} | {"teaches", "hidden", "why_hidden"}
    assert (shape["title"], shape["hidden"], shape["why_hidden"]) == ("Reward is falling", True, "expected here")
    assert finding.shape("", {})["hidden"] is False
