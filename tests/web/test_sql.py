"""SQL as a person uses it: another chart, series by a column, a query saved for all; and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, Watched, until

pytestmark = pytest.mark.browser
BY_ENV = "SELECT step, env, avg(reward) AS reward FROM samples GROUP BY ALL ORDER BY step, env DESC"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("sql")
    with rs.init(name="r", id="r", dir=folder, host=False) as run:
        for step in range(6):
            envs = ["maths", "code"]
            rows = [{"id": f"{step}-{i}", "env": env, "reward": step / 10 + i / 100} for i, env in enumerate(envs)]
            run.log_samples(rows, step=step)
            run.log({"reward/mean": step / 10}, step=step)
            run.commit(step)
    served = Served(folder)
    yield served.url
    served.stop()


def test_an_answer_is_drawn_as_one_likes_and_saved_for_everyone(site: str, browser: Any, tab: Any) -> None:
    tab.goto(site + f"r/r/sql?q={BY_ENV}")
    tab.wait_for_selector(".answer-chart .plot[data-ink*='series=1 points=12 ']")
    tab.select_option(".answer-chart select[aria-label=by]", label="env")
    tab.wait_for_selector(".answer-chart .plot[data-ink*='series=2 points=12 gaps=0']")
    assert tab.eval_on_selector_all(".answer-names li", "all => all.map(e => e.innerText.trim())") == ["maths", "code"]
    tab.click(".answer-chart .seg button:has-text('scatter')")
    tab.wait_for_selector(".answer-chart .plot[data-ink*='series=2 points=12 ']")
    tab.click(".answer-chart .seg button:has-text('bar')")
    tab.wait_for_selector(".bars[data-bars='12'] rect")
    until(tab, "location.search.includes('show=bar')")

    tab.fill(".tables input[aria-label='Name of the query']", "reward by environment")
    tab.click(".tables form button")
    tab.wait_for_selector(".saved li")
    other = Watched(browser)
    other.page.goto(site + "r/r/sql")
    other.page.click(".saved button:has-text('reward by environment')")
    other.page.wait_for_selector("[data-answer='12']")
    other.page.click(".saved button[aria-label='Remove reward by environment']")
    until(other.page, "document.querySelectorAll('.saved li').length === 0")
    other.page.click(".tables button:has-text('Undo')")
    other.page.wait_for_selector(".saved li")
    other.context.close()
    assert other.errors == []


def test_a_note_is_changed_removed_and_brought_back(site: str, tab: Any) -> None:
    late: list[Any] = []  # the first tape, which has no note, comes after the second
    tab.route("**/api/runs/r/tape", lambda route: late.append((route, route.fetch())), times=1)
    tab.goto(site + "r/r/metrics?open=notes:&step=3")
    tab.fill(".notebox textarea", "lowered lr")
    tab.click(".notebox button")
    tab.wait_for_selector(".noted")
    tab.wait_for_selector(".tape canvas[data-ink*='notes=1']")
    for route, answer in late:
        route.fulfill(response=answer)
    until(tab, "fetch('/api/health').then(() => true)")
    tab.wait_for_selector(".tape canvas[data-ink*='notes=1']")
    tab.click(".noted button:has-text('Edit')")
    tab.fill(".noted textarea", "lowered the learning rate")
    tab.click(".noted button:has-text('Keep')")
    until(tab, "document.querySelector('.noted')?.innerText.includes('lowered the learning rate')")
    assert "edited" in tab.inner_text(".noted")
    tab.click(".noted button:has-text('Remove')")
    until(tab, "!document.querySelector('.noted')")
    tab.wait_for_selector(".tape canvas[data-ink*='notes=0']")
    tab.wait_for_selector(".drawer [role=status]:has-text('Note removed')")  # an event may have said so before
    tab.click(".drawer button:has-text('Undo')")
    until(tab, "document.querySelector('.noted')?.innerText.includes('lowered the learning rate')")
    tab.wait_for_selector(".tape canvas[data-ink*='notes=1']")
