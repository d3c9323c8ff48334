"""The choice of an environment: on every page that has one, and in the address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

import rollscope as rs
from tests.web.conftest import PATIENCE, Served, ink, until

pytestmark = pytest.mark.browser

REWARDS = {"maths": 0.25, "code": 1.5}  # environment -> reward of its samples
SELECT = '[aria-label="Environment"]'
STEPS = 14


@pytest.fixture(scope="module")
def mixed(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A run in two environments with rewards of different scale, and a set of each."""
    folder = tmp_path_factory.mktemp("mixed")
    with rs.init(project="p", id="mixed", dir=folder, algorithm="grpo", host=False) as run:
        run.declare(env="maths", reward_min=0, reward_max=1)
        run.declare(env="code", reward_min=0, reward_max=2)
        for step in range(STEPS):
            record(run, step)
            run.commit(step)
    with rs.init(project="p", id="single", dir=folder, algorithm="grpo", host=False) as run:
        run.declare(env="maths", reward_min=0, reward_max=1)
        run.log({"reward/mean": 0.5}, step=0)
    served = Served(folder)
    yield served.url
    served.stop()


def record(run: rs.Run, step: int) -> None:
    envs = [env for env in REWARDS for _ in range(4)]
    ids = [f"{step}.{i}" for i in range(8)]
    batch = {"sample": ids, "env": envs, "reward": np.array([REWARDS[env] for env in envs]), "trained": np.ones(8)}
    run.log_batch({**batch, "group": envs, "lr": 1e-3}, step=step)
    rows = zip(ids, envs, strict=True)
    samples = [
        {"id": i, "env": e, "group": e, "task": e, "prompt": f"a {e} task", "completion": f"the {e} answer"}
        for i, e in rows
    ]
    run.log_samples(step=step, samples=[{**s, "reward": REWARDS[s["env"]], "trained": True} for s in samples])
    if step % 4 == 0:
        for env in REWARDS:
            own = {"id": f"eval.{env}.{step}", "env": env, "split": "eval", "prompt": "p", "completion": "c"}
            run.log_samples(step=step, samples=[own])
            row = {"task": "t", "repeat": 0, "scores": {"acc": 0.5}, "failed": False, "sample": own["id"]}
            run.log_eval(f"{env}-eval", step=step, results=[row])


def choose(tab: Any, env: str) -> None:
    """Pick an environment as a person does; the address tells it."""
    tab.wait_for_selector(SELECT)
    tab.select_option(SELECT, env)
    until(tab, f"new URL(location.href).searchParams.get('env') === {env or None!r}".replace("None", "null"))


def test_overview_shows_the_vital_signs_and_samples_of_an_environment(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/mixed/overview")
    ink(tab, "reward/generated/mean")
    until(tab, "document.querySelector('.vitals').innerText.includes('of 0 to 2')")
    choose(tab, "maths")
    until(tab, "document.querySelector('.vitals').innerText.includes('of 0 to 1')")
    until(tab, "document.querySelector('.vitals').innerText.includes('0.25')")
    sets = "document.querySelector('.vitals').innerText"  # of evaluations
    until(tab, f"{sets}.includes('maths') && !{sets}.includes('code')")
    until(
        tab,
        "!document.body.innerText.includes('the code answer') && document.body.innerText.includes('the maths answer')",
    )
    choose(tab, "")
    until(tab, "document.querySelector('.vitals').innerText.includes('of 0 to 2')")


def test_the_address_alone_is_enough(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/mixed/overview?env=code")
    until(tab, f"document.querySelector('{SELECT}').value === 'code'")
    until(tab, "document.querySelector('.vitals').innerText.includes('1.5')")


def test_metrics_draw_the_values_of_an_environment(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/mixed/metrics?q=reward/generated/mean")
    ink(tab, "reward/generated/mean")
    choose(tab, "code")
    until(tab, "document.querySelector('[data-metric=\"reward/generated/mean\"]').innerText.includes('1.5')")


def test_rollouts_list_the_samples_of_an_environment(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/mixed/rollouts")
    choose(tab, "code")
    until(
        tab,
        "document.body.innerText.includes('the code answer') && !document.body.innerText.includes('the maths answer')",
    )


def test_evals_show_the_sets_of_an_environment(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/mixed/evals")
    tab.wait_for_selector("text=code-eval")
    choose(tab, "maths")
    until(tab, "!document.body.innerText.includes('code-eval') && document.body.innerText.includes('maths-eval')")
    tab.goto(f"{mixed}r/mixed/evals?env=other")
    tab.wait_for_selector("text=No evaluation in other")


def test_a_run_in_one_environment_has_no_choice(mixed: str, tab: Any) -> None:
    tab.goto(f"{mixed}r/single/overview")
    ink(tab, "reward/mean")
    until(tab, "performance.getEntriesByType('resource').some((e) => e.name.endsWith('environments.js'))")
    assert tab.query_selector(SELECT) is None


def test_what_a_step_has_once_stays_and_the_verdict_is_of_the_run(mixed: str) -> None:
    def overview(env: str) -> Any:
        return httpx.get(f"{mixed}api/runs/mixed/overview", params={"env": env}, timeout=PATIENCE).json()

    whole, code, maths = (overview(env) for env in ("", "code", "maths"))
    assert (code["verdict"], code["findings"]) == (whole["verdict"], whole["findings"])
    assert (whole["reward_range"], code["reward_range"]) == ([0, 2], [0, 2])
    assert maths["reward_range"] == [0, 1] and {one["sample"]["env"] for one in maths["samples"]} == {"maths"}
