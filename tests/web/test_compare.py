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
    first = tab.inner_text(".compare-card >> nth=0")
    assert "entropy" in first.lower() and "A" in first and "0.4" in first
    at = tab.get_attribute(".compare-card >> nth=0", "data-metric")
    assert at == "policy/entropy", "charts stand in the order in which they part"
    assert "0.28" in tab.inner_text(".what-differs") and "lr" not in tab.inner_text(".what-differs tbody")
    tab.goto(math_site + "r/base-0/compare?runs=fast-0")
    tab.wait_for_selector("text=No difference beyond noise on gsm8k")


def test_which_of_five_changed_settings_mattered(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-masked-0,fast-0,wide-0,free-0")
    tab.wait_for_selector(".factors tbody tr")
    until(tab, "document.querySelectorAll('.factors tbody tr').length === 5")
    sure = tab.evaluate("[...document.querySelectorAll('.factors tbody tr.sure')].map((row) => row.innerText)")
    assert len(sure) == 1 and sure[0].startswith("clip_eps_high") and "6, 12" in sure[0]


def test_on_gpu_time_one_is_told_what_is_missing(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "r/base-0/compare?runs=hi-0")
    tab.wait_for_selector(".compare-card canvas")
    tab.select_option('.compare-choices [aria-label="x axis"]', "gpu")
    tab.wait_for_selector("text=6 of 6 runs do not say how many GPUs they had")
    tab.wait_for_selector(".compare-card", state="detached")
    assert "x=gpu" in tab.evaluate("location.search")
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
    assert "by=alone" in tab.evaluate("location.search")
    tab.click("text=Swap")
    until(tab, "location.pathname.endsWith('/r/hi-0/compare')")
    tab.click(".task-links a, .same-tasks .flip-words button >> nth=0")


def test_seeds_are_one_row_and_stand_against_the_baseline(math_site: str, tab: Any) -> None:
    tab.goto(math_site + "?by=configuration")
    tab.wait_for_selector('tr.seeds[data-seeds="3"]')
    until(tab, "document.querySelectorAll('tr.seeds').length === 6")
    assert not tab.query_selector_all("tr[data-run]")
    tab.click("tr.seeds .c-name button:has-text('base')")
    tab.click('tr[data-run="base-0"] input')
    tab.click(".bulk >> text=Baseline")
    tab.wait_for_selector("tr.seeds .delta.rose")
    rows = tab.evaluate(SEEDS)
    assert "baseline" in rows["base"][0]
    assert rows["hi"][1] == "rose" and rows["fast"][1] == ""


# Configuration -> its words, and whether its difference to the baseline is more than noise.
SEEDS = """Object.fromEntries([...document.querySelectorAll('tr.seeds')].map((row) => {
  const sure = row.querySelector('.delta.rose, .delta.fell')?.classList.contains('rose');
  return [row.querySelector('.c-name b').innerText, [row.innerText, sure === undefined ? '' : sure ? 'rose' : 'fell']];
}))"""

SAY = """(value) => fetch("/api/project", {method: "POST", headers: {"content-type": "application/json"},
  body: JSON.stringify({changes: [{kind: "baseline", name: "math", value}]})}).then((reply) => reply.ok)"""


TIP = """(card) => [...document.querySelectorAll(`${card} .tip div`)].map((row) =>
  [row.querySelector('span').innerText, row.querySelector('em').textContent])"""


def test_a_chart_of_several_runs_says_the_difference_to_the_baseline(math_site: str, tab: Any) -> None:
    tab.goto(math_site)
    assert tab.evaluate(SAY, "base-0")
    late: list[Any] = []
    tab.route("**/api/project", lambda route: late.append(route))
    tab.goto(math_site + "r/hi-0/metrics?runs=base-0&q=policy/entropy")
    card = '[data-metric="policy/entropy"]'
    tab.hover(f"{card} .u-over")
    until(tab, f"document.querySelectorAll('{card} .tip div').length === 2")
    while not late:  # the baseline comes when the pointer rests already
        tab.wait_for_timeout(10)
    tab.unroute("**/api/project")  # the request that waits goes on
    until(tab, f"document.querySelectorAll('{card} .tip em:not(:empty)').length === 1")
    rows = dict(tab.evaluate(TIP, card))
    assert rows["hi-0"][0] in "+\u2212"
    assert rows["base-0"] == "", "the baseline has no difference to itself"
    assert tab.evaluate(SAY, None)
