"""A run with samples that name a step and samples that name none: Rollouts leads to both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.store.conftest import T0, World
from tests.web.conftest import Served, until


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Steps 3 and 4 with two samples each, and three samples without a step."""
    folder = tmp_path_factory.mktemp("mixed")
    writer = World(folder).writer()
    for step in (3, 4):
        writer.metrics(step, {"reward/mean": 0.5})
        rows = [{"id": f"{step}.{i}", "step": step, "completion": f"of step {step}.{i}"} for i in range(2)]
        writer.rows("samples", [{**row, "prompt": "q", "group": f"g{step}", "reward": 0.5} for row in rows])
    rows = [{"id": f"s{i}", "prompt": f"question {i}", "completion": f"answer {i}", "reward": i} for i in range(3)]
    writer.rows("samples", [{**row, "time_ns": T0 + i} for i, row in enumerate(rows)])
    writer.finish()
    served = Served(folder)
    yield served.url
    served.stop()


def test_the_page_leads_to_samples_without_a_step_and_back(mixed: str, tab: Any) -> None:
    tab.goto(mixed + "r/r1/rollouts")
    tab.wait_for_selector(".reader >> text=of step 4")
    said = "[data-stepless]"
    assert tab.inner_text(said).split("\n")[0] == "3 samples name no step."
    tab.click(f"{said} >> text=Show them")
    tab.wait_for_selector(".reader >> text=answer 0")
    assert "show=no-step" in tab.url and "All 3" in tab.inner_text(".left .head")
    tab.reload()
    tab.wait_for_selector(".reader >> text=answer 0")
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_selector(".reader >> text=of step 4")
    assert "show" not in tab.url
    tab.goto(mixed + "r/r1/rollouts?show=no-step")
    tab.click(f"{said} >> text=Show the steps")
    tab.wait_for_selector(".reader >> text=of step 4")
    assert "show" not in tab.url


def test_a_hit_without_a_step_opens_its_sample(mixed: str, tab: Any) -> None:
    tab.goto(mixed + "r/r1/rollouts?step=3")
    tab.wait_for_selector(".reader >> text=of step 3")
    tab.fill("[data-search]", '"answer 2"')
    tab.keyboard.press("Enter")
    tab.click(".left .hit >> text=answer 2")
    tab.wait_for_selector(".reader >> text=answer 2")
    until(tab, "document.querySelector('.rollouts').dataset.step === undefined")


def test_the_overview_says_what_it_does_not_count(mixed: str, tab: Any) -> None:
    tab.goto(mixed + "r/r1")
    tab.wait_for_selector("text=Best, median, worst step 4")
    assert tab.inner_text("[data-stepless]") == "3 more samples name no step and are not counted here."
    tab.click("[data-stepless] a")
    tab.wait_for_selector(".reader >> text=answer 0")
    tab.goto("about:blank")  # the page follows its server, which stops now
