"""A name of any framework finds its chart, its palette item and its entry, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import rollscope as rs
from tests.web.conftest import PATIENCE, Served, ink, until

pytestmark = pytest.mark.browser

METRICS = {
    "reward/generated/mean": 0.25,
    "reward/trained/mean": 0.5,
    "time_per_token/generate": 0.002,
    "tool/calls/trained/mean": 3.0,
    "policy/kl_ref_k3": 0.01,
    "eval/gsm8k/accuracy/mean@4": 0.5,
    "pipeline/operator/0_reward_filter/in": 64.0,
}


@pytest.fixture(scope="module")
def named(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("named")
    with rs.init(project="p", id="ours", dir=folder, algorithm="grpo", host=False) as run:
        for step in range(5):
            run.log({name: value * (1 + step / 10) for name, value in METRICS.items()}, step=step)
            run.commit(step)
    served = Served(folder)
    yield served.url
    served.stop()


FOUND = [
    ("critic/rewards/mean", "it counts the trained samples"),
    ("reward/mean", "it counts the trained samples"),
    ("timing_per_token_ms/gen", "time_per_token/generate in verl"),
    ("total_tool_calls", "is another quantity"),
    ("kl", "policy/kl_ref_k3 in trl:grpo"),
    ("pipeline/operator/reward_filter/in", ""),
]


@pytest.mark.parametrize(("name", "says"), FOUND)
def test_the_search_of_metrics_shows_what_a_name_means(named: str, tab: Any, name: str, says: str) -> None:
    tab.goto(f"{named}r/ours/metrics")
    tab.fill("[data-search]", name)
    assert ink(tab, name)["series"] == 1
    until(tab, f"document.querySelector('#s-asked').innerText.includes({json.dumps(says)})")


GUIDES = {  # names of the guides -> the series they mean here
    "reward_sum_mean": "reward/trained/mean",  # Telescope
    "critic/rewards/*": "reward/trained/mean",  # glossary
    "objective/kl": "",  # TRL's sum over a sequence: not here
    "rewards/{reward_func_name}/mean": "",
    "actor/kl_loss": "policy/kl_ref_k3",
    "train/actor/kl_loss": "policy/kl_ref_k3",
    "val-core/gsm8k/acc/mean@4": "eval/gsm8k/accuracy/mean@4",
    "bench/gsm8k-eval/accuracy/best@4": "",  # Trinity; another set
    "eval/gsm8k/acc/mean@4": "eval/gsm8k/accuracy/mean@4",
}


def test_names_of_the_guides_typed_one_after_another(named: str, tab: Any) -> None:
    """The page says what the API says, in one visit: a chart, or a sentence that has the name."""
    tab.goto(f"{named}r/ours/metrics")
    for name, stored in GUIDES.items():
        tab.fill("[data-search]", name)
        answer = httpx.get(f"{named}api/runs/ours/find", params={"name": name}, timeout=PATIENCE).json()
        assert {one["stored"] for one in answer["found"]} == ({stored} if stored else set()), name
        if not stored:
            until(tab, f"document.body.innerText.includes({json.dumps(answer['says'][:60])})")
        else:
            ink(tab, answer["found"][0]["asked"])


def test_a_chart_asked_for_in_milliseconds_is_in_milliseconds(named: str, tab: Any) -> None:
    tab.goto(f"{named}r/ours/metrics?q=timing_per_token_ms/gen")
    ink(tab, "timing_per_token_ms/gen")
    card = "document.querySelector('#s-asked .card').innerText"
    until(tab, f"{card}.includes('2.8') && {card}.includes('ms/token')")


def test_an_unknown_name_gets_the_nearest_ones(named: str, tab: Any) -> None:
    tab.goto(f"{named}r/ours/metrics?q=critic/rewardz/mean")
    tab.wait_for_selector("text=Did you mean 'critic/rewards/mean'")


def test_the_palette_finds_a_framework_name(named: str, tab: Any) -> None:
    tab.goto(f"{named}r/ours/overview")
    tab.wait_for_selector(".bar")
    tab.keyboard.press("Control+k")
    tab.fill(".palette input", "critic/rewards/mean")
    tab.wait_for_selector(".palette li:first-child >> text=reward/trained/mean")
    tab.keyboard.press("Enter")
    assert ink(tab, "critic/rewards/mean")["series"] == 1


@pytest.mark.parametrize(
    "name", ["actor/entropy_loss", "response_length", "rewards/margins", "perf/mfu/actor", "entropy"]
)
def test_the_glossary_opens_the_entry_that_explain_opens(named: str, tab: Any, name: str) -> None:
    tab.goto(f"{named}glossary")
    tab.fill("[data-search]", name)
    entry = rs.explain(name).entry.name
    tab.wait_for_selector(f'.glossary .row[aria-current] >> text="{entry}"')
