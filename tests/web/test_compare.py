"""Compare in a real browser: is it noise, which change mattered, and the runs of a project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.compare_runs import record
from tests.web.conftest import Served, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def math_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("math")
    record(folder)
    served = Served(folder)
    yield served.url
    served.stop()


def test_is_b_better_than_a_or_is_it_noise(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-0")
    tab.wait_for_selector('.compare-card[data-metric="policy/entropy"] canvas[data-ink="runs=6 groups=2"]')
    said = tab.inner_text(".compare-head")
    assert "is better on gsm8k by" in said and "3 seeds each" in said and "first in entropy" in said
    tab.wait_for_selector("text=within the noise of repeats here (18 runs, 6 configurations)")
    first = tab.query_selector(".compare-card")
    assert "entropy" in first.inner_text().lower() and "A" in first.inner_text() and "0.4" in first.inner_text()
    assert first.get_attribute("data-metric") == "policy/entropy", "charts stand in the order in which they part"
    assert "0.28" in tab.inner_text(".what-differs") and "lr" not in tab.inner_text(".what-differs tbody")
    tab.goto(math_site + "r/base-0/compare?runs=fast-0")
    tab.wait_for_selector("text=No difference beyond noise on gsm8k")


def test_which_of_five_changed_settings_mattered(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-masked-0,fast-0,wide-0,free-0")
    tab.wait_for_selector(".factors tbody tr")
    sure = [row.inner_text() for row in tab.query_selector_all(".factors tbody tr.sure")]
    assert len(sure) == 1 and sure[0].startswith("clip_eps_high") and "6, 12" in sure[0]
    assert len(tab.query_selector_all(".factors tbody tr")) == 5


def test_on_gpu_time_one_is_told_what_is_missing(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-0")
    tab.wait_for_selector(".compare-card canvas")
    tab.select_option('.compare-choices [aria-label="x axis"]', "gpu")
    tab.wait_for_selector("text=6 of 6 runs do not say how many GPUs they had")
    assert tab.query_selector(".compare-card") is None and "x=gpu" in tab.url
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("g")
    tab.keyboard.press("m")
    until(tab, "location.pathname.endsWith('/metrics')")
    until(tab, "document.querySelector('.seg[aria-label=\"x axis\"] [aria-pressed=true]')?.textContent === 'step'")


def test_who_solved_which_and_another_grouping_is_in_the_address(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-0")
    tab.wait_for_selector(".same-tasks")
    tab.click(".same-tasks .flip-words button >> nth=1")
    tab.wait_for_selector(".task-links >> text=B answered")
    tab.select_option('[aria-label="Which runs stand together"]', "alone")
    tab.wait_for_selector("text=another seed may differ")
    assert "by=alone" in tab.url
    tab.click("text=Swap")
    until(tab, "location.pathname.endsWith('/r/hi-0/compare')")
    tab.click(".task-links a, .same-tasks .flip-words button >> nth=0")


def test_seeds_are_one_row_and_stand_against_the_baseline(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "?by=configuration")
    tab.wait_for_selector('tr.seeds[data-seeds="3"]')
    assert len(tab.query_selector_all("tr.seeds")) == 6 and not tab.query_selector_all("tr[data-run]")
    tab.click("tr.seeds .c-name button:has-text('base')")
    tab.click('tr[data-run="base-0"] input')
    tab.click(".bulk >> text=Baseline")
    tab.wait_for_selector("tr.seeds .delta.rose")
    rows = {row.query_selector(".c-name b").inner_text(): row for row in tab.query_selector_all("tr.seeds")}
    assert "baseline" in rows["base"].inner_text()
    assert rows["hi"].query_selector(".delta.rose") and not rows["fast"].query_selector(".delta.rose, .delta.fell")


SAY = """(value) => fetch("/api/project", {method: "POST", headers: {"content-type": "application/json"},
  body: JSON.stringify({changes: [{kind: "baseline", name: "math", value}]})}).then((reply) => reply.ok)"""


def test_a_chart_of_several_runs_says_the_difference_to_the_baseline(math_site: str, tab: Any) -> None:
    tab.goto(math_site)
    assert tab.evaluate(SAY, "base-0")
    late: list[Any] = []
    tab.route("**/api/project", lambda route: late.append(route))
    tab.goto(math_site + "r/hi-0/metrics?runs=base-0&q=entropy")
    card = '[data-metric="policy/entropy"]'
    tab.hover(f"{card} .u-over")
    until(tab, f"document.querySelectorAll('{card} .tip div').length === 2")
    while not late:  # the baseline comes when the pointer rests already
        tab.wait_for_timeout(10)
    tab.unroute("**/api/project")  # the request that waits goes on
    until(tab, f"document.querySelectorAll('{card} .tip em:not(:empty)').length === 1")
    rows = {row.query_selector("span").inner_text(): row for row in tab.query_selector_all(f"{card} .tip div")}
    assert rows["hi-0"].query_selector("em").inner_text()[0] in "+\u2212"
    assert rows["base-0"].query_selector("em").text_content() == "", "the baseline has no difference to itself"
    assert tab.evaluate(SAY, None)
