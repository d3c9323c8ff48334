"""Whole runs in veRL's names: a healthy one is quiet, and one fault is told first and soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rollscope as rs
from rollscope.diagnose import diagnosis, story

STEPS, START, SOON = 140, 70, 20
Curves = dict[str, np.ndarray]
Fault = Callable[[Curves, np.ndarray], None]


def healthy(seed: int) -> Curves:
    """Curves of a run that learns, each with its noise."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 1, STEPS)

    def noisy(curve: np.ndarray, size: float) -> np.ndarray:
        return np.asarray(curve * (1 + size * random.normal(size=STEPS)))

    return {
        "critic/score/mean": noisy(0.2 + 0.5 * t, 0.03),
        "actor/entropy": noisy(0.9 - 0.3 * t, 0.03),
        "actor/kl_loss": noisy(0.002 + 0.02 * t, 0.1),
        "actor/grad_norm": noisy(0.6 - 0.2 * t, 0.12),
        "actor/pg_clipfrac": noisy(0.02 + 0 * t, 0.2),
        "response_length/mean": noisy(400 + 60 * t, 0.02),
        "response_length/clip_ratio": noisy(0.01 + 0 * t, 0.2),
        "timing_s/step": noisy(60 + 4 * t, 0.02),
    }


def _since_start(name: str, change: Callable[[np.ndarray], np.ndarray], learns: bool = False) -> Fault:
    """A fault that changes one curve since START; the reward stops rising, unless it `learns`."""

    def inject(curves: Curves, later: np.ndarray) -> None:
        if not learns:
            curves["critic/score/mean"][later] = curves["critic/score/mean"][START - 1]
            curves["critic/score/mean"] += 0.01 * np.sin(np.arange(STEPS))
        curves[name][later] = change(curves[name][later])

    return inject


FAULTS: dict[str, tuple[Fault, str]] = {
    "the gradient is forty times as large": (_since_start("actor/grad_norm", lambda x: 40 * x), "gradient-spikes"),
    "the gradient is gone": (_since_start("actor/grad_norm", lambda x: 0.01 * x), "gradient-vanished"),
    "KL takes off": (_since_start("actor/kl_loss", lambda x: 30 * x), "kl-takeoff"),
    "half of the tokens are clipped": (_since_start("actor/pg_clipfrac", lambda x: x + 0.5), "clip-saturation"),
    "entropy is gone": (_since_start("actor/entropy", lambda x: 0.01 * x), "entropy-collapse"),
    "steps take twice as long": (_since_start("timing_s/step", lambda x: 2 * x, learns=True), "slower"),
}


def record(folder: Path, curves: Curves) -> str:
    with rs.init(name="run", dir=str(folder), framework="verl", algorithm="grpo", host=False) as run:
        for step in range(STEPS):
            run.log({name: float(curve[step]) for name, curve in curves.items()}, step=step)
    return run.id


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_healthy_run_is_quiet(tmp_path: Path, seed: int) -> None:
    found = diagnosis(rs.open(tmp_path).run(record(tmp_path, healthy(seed)))).findings
    assert [f.rule for f in found if f.severity != "info"] == []


@pytest.mark.parametrize("what", FAULTS)
def test_one_fault_is_told_first_within_twenty_steps(tmp_path: Path, what: str) -> None:
    inject, rule = FAULTS[what]
    curves = healthy(seed=4)
    inject(curves, np.arange(STEPS) >= START)
    run = rs.open(tmp_path).run(record(tmp_path, curves))
    for until in (START + SOON, STEPS):
        serious = [f for f in diagnosis(run, until=until).findings if f.severity != "info"]
        assert [chapter.finding.rule for chapter in story(serious)][:1] == [rule], until
        assert abs(next(f.step for f in serious if f.rule == rule) - START) <= 10
