"""What a page says is so: a crash, NaN, read-outs at any step, and samples behind a point."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from tests.web.conftest import Served, ink, until

pytestmark = pytest.mark.browser
STEPS = 10_000
REWARD = '[data-metric="reward/mean"]'
SCORE = '[data-metric="eval/set/acc/mean@1"]'


class Ended(Exception):
    """Ends a run."""


def crashed(folder: Path) -> None:
    with rs.init(project="p", name="crash", id="crash", dir=folder, host=False) as run:
        for step in range(40):
            run.log({"reward/mean": 0.5, "policy/entropy": 1.0}, step=step)
        raise Ended("no trainable groups in 21 batches in a row")


def with_nan(folder: Path) -> None:
    with rs.init(project="p", name="nan", id="nan", dir=folder, host=False) as run:
        for step in range(60):
            run.log({"reward/mean": step / 60, "policy/entropy": 1.0 if step < 31 else float("nan")}, step=step)


def long(folder: Path) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(1).uniform(0.1, 0.99, STEPS)
    with rs.init(project="p", name="long", id="long", dir=folder, host=False) as run:
        for step in range(STEPS):
            run.log({"reward/mean": float(values[step])}, step=step)
            run.commit(step, tokens=10 * (step + 1))
        for step in (0, 5000):
            run.log({"eval/set/acc/mean@1": 0.5}, step=step)
    return values


def evaluated(folder: Path) -> None:
    with rs.init(project="p", name="evaluated", id="evaluated", dir=folder, host=False) as run:
        for step in range(20):
            run.log({"reward/mean": 0.5}, step=step)
            run.commit(step)
        trained = [{"id": f"t{i}", "reward": 0.5, "completion": "of training", "split": "train"} for i in range(8)]
        scored = [{"id": f"e{i}", "reward": 0.5, "completion": "of the evaluation", "split": "eval"} for i in range(5)]
        run.log_samples(step=10, samples=trained)
        run.log_samples(step=10, samples=scored)
        rows = [{"task": f"k{i}", "repeat": 0, "scores": {"acc": 1.0}, "sample": f"e{i}"} for i in range(5)]
        run.log_eval("set", rows, step=10)
        run.log_eval("set", rows, step=20)
        run.commit(20)


def paced(folder: Path, id: str, tokens: int, slow: int) -> None:
    """A run of 20 steps; the step `slow` takes 40 times as many tokens as the others."""
    total = 0
    with rs.init(project="p", name=id, id=id, dir=folder, host=False) as run:
        for step in range(20):
            total += tokens * (40 if step == slow else 1)
            run.log({"reward/mean": step / 100}, step=step)
            run.commit(step, tokens=total)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    folder = tmp_path_factory.mktemp("truth")
    with pytest.raises(Ended):
        crashed(folder)
    with_nan(folder)
    evaluated(folder)
    paced(folder, "paced", 1000, slow=-1)
    paced(folder, "slow", 2000, slow=5)
    values = long(folder)
    served = Served(folder)
    yield served.url, values
    served.stop()


def at_step(tab: Any, step: int) -> None:
    tab.evaluate(
        f"history.pushState(null, '', location.pathname + '?step={step}'); dispatchEvent(new PopStateEvent('popstate'))"
    )


def test_a_crash_has_its_verdict_and_its_reason(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/crash/overview")
    verdict = "Crashed at step 39: Ended: no trainable groups in 21 batches in a row."
    until(tab, f"document.querySelector('.verdict h1').innerText === '{verdict}'")
    assert "Learning" not in tab.inner_text("#page") and "Nothing stands out" not in tab.inner_text("#page")


def test_nan_is_bad_on_its_card_and_in_the_verdict(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/nan/overview")
    card = '[data-metric="policy/entropy"]'
    tab.wait_for_selector(f"{card} .status.bad")
    assert "NaN since step 31" in tab.inner_text(f"{card} .reading")
    assert "last a number at step 30" in tab.inner_text(f"{card} .against")
    until(
        tab,
        "document.querySelector('.verdict h1').innerText.includes('not a number') || "
        "document.querySelector('.verdict h1').innerText.includes('NaN')",
    )


def test_a_read_out_is_the_stored_value_at_any_step(world: Any, tab: Any) -> None:
    url, values = world
    tab.goto(url + "r/long/metrics")
    assert ink(tab, "reward/mean")["points"] < STEPS / 10, "a bucket holds many steps"
    for step in random.Random(7).sample(range(STEPS), 50):
        at_step(tab, step)
        words = f"{values[step]:.3g} at step {step:,}"
        until(tab, f"document.querySelector('{REWARD} .value').textContent === '{words}'")


def test_an_evaluation_has_no_value_where_none_ran(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/long/metrics?step=5000")
    ink(tab, "eval/set/acc/mean@1")
    until(tab, f"document.querySelector('{SCORE} .value').textContent === '0.5 at step 5,000'")
    at_step(tab, 5007)
    until(tab, f"document.querySelector('{SCORE} .value').textContent === '– at step 5,007'")


def test_the_headers_of_the_overview_follow_the_caret(world: Any, tab: Any) -> None:
    url, values = world
    tab.goto(url + "r/long/overview?step=1234")
    ink(tab, "reward/mean")
    until(tab, f"document.querySelector('{REWARD} .value').textContent.includes('at step 1,234')")
    until(tab, f"document.querySelector('{REWARD} .value b').innerText === '{values[1234]:.3g}'")


def test_on_another_axis_the_read_out_names_that_axis(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/long/metrics?x=relative")
    ink(tab, "reward/mean")
    tab.hover(f"{REWARD} .u-over")
    until(tab, f"/^0\\.\\d+ at [\\d.]+ (ms|s|min)/.test(document.querySelector('{REWARD} .value').textContent)")


def test_a_value_under_a_resting_pointer_is_that_of_its_step_when_the_tape_comes_late(world: Any, tab: Any) -> None:
    """The tape says which step a place on another axis is."""
    held: list[Any] = []
    tab.route("**/api/runs/long/tape", lambda route: held.append(route))
    tab.goto(world[0] + "r/long/metrics?x=tokens")
    ink(tab, "reward/mean")
    tab.hover(f"{REWARD} .u-over")
    until(tab, f"document.querySelector('{REWARD} .value').textContent.includes('mean of')")
    for route in held:
        route.continue_()
    until(tab, f"/^0\\.\\d+ at .* tokens$/.test(document.querySelector('{REWARD} .value').textContent)")


def test_on_another_axis_every_run_is_read_at_its_own_step_and_a_slow_step_is_no_gap(world: Any, tab: Any) -> None:
    """At 10,000 tokens one run is at step 9, the other at step 4, whose next is slow."""
    tab.goto(world[0] + "r/slow/metrics?x=tokens&step=4&runs=paced")
    assert ink(tab, "reward/mean")["gaps"] == 0
    box = tab.query_selector(f"{REWARD} .u-over").bounding_box()
    tab.mouse.move(box["x"] + box["width"] * (10_000 - 1000) / (118_000 - 1000), box["y"] + 20)
    tab.wait_for_selector(f"{REWARD} .tip:not([hidden])")
    until(tab, f"document.querySelectorAll('{REWARD} .tip b').length === 2")
    names, values = (
        tab.eval_on_selector_all(f"{REWARD} .tip {tag}", "all => all.map(e => e.textContent)") for tag in ("span", "b")
    )
    shown = dict(zip(names, values, strict=True))
    assert shown == {"paced": "0.09", "slow": "0.04"}


def test_on_another_axis_the_mean_of_another_run_names_its_steps(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/slow/metrics?x=tokens&runs=long")
    tab.wait_for_selector(f'{REWARD} .plot[data-ink*="series=2"]')
    tab.hover(f"{REWARD} .u-over")
    until(tab, f"/mean of [\\d,]+ to [\\d,]+/.test(document.querySelector('{REWARD} .tip').textContent)")
    rows = tab.eval_on_selector_all(f"{REWARD} .tip b", "all => all.map(e => e.textContent)")
    value, _, steps = next(row for row in rows if "mean of" in row).partition(" mean of ")
    first, last = (int(step.replace(",", "")) for step in steps.split(" to "))
    assert last > first and value == f"{world[1][first : last + 1].mean():.3g}"


def test_one_now_on_a_page(world: Any, tab: Any) -> None:
    """An evaluation after the last update is no step that trained."""
    tab.goto(world[0] + "r/evaluated/overview")
    until(tab, "document.querySelector('.bar .state')?.innerText.startsWith('finished, 20 steps')")
    until(tab, "document.querySelector('.rail .run.here .what')?.innerText === 'finished, 20 steps'")


def test_samples_behind_an_evaluation_are_its_own(world: Any, tab: Any) -> None:
    name = "eval/set/acc/mean@1"
    tab.goto(world[0] + f"r/evaluated/metrics?step=10&open=point:{name}")
    tab.wait_for_selector(".drawer >> text=5 of 5, worst first")
    assert "of training" not in tab.inner_text(".drawer")
    tab.goto(world[0] + "r/evaluated/metrics?step=10&open=point:reward/mean")
    tab.wait_for_selector(".drawer >> text=6 of 8, worst first")
    assert "of the evaluation" not in tab.inner_text(".drawer")


def test_the_first_key_leads_past_rail_and_tape(world: Any, tab: Any) -> None:
    tab.goto(world[0] + "r/crash/overview")
    tab.wait_for_selector(".verdict h1")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the page"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "page"
