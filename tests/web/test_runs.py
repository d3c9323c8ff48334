"""The list of runs by the hundred: find, choose, tidy up, undo, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, Watched, until

pytestmark = pytest.mark.browser
COUNT = 60


def record(folder: Path) -> None:
    """Sixty runs: three learning rates, one in four tagged scratch; the eval of each is known."""
    for i in range(COUNT):
        config = {"lr": (1e-6, 5e-7, 2e-6)[i % 3], "seed": i}
        tags = ["scratch"] if i % 4 == 1 else []
        with rs.init(
            project="p", name=f"grpo-{i}", id=f"run-{i:02d}", dir=folder, host=False, tags=tags, config=config
        ) as run:
            run.log({"reward/mean": i / 100, "eval/gsm8k/score/mean@4": ((i * 37) % 60) / 100}, step=0)
            run.commit(0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    record(tmp_path)
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


FIRST_THREE = "[...document.querySelectorAll('tr[data-run]')].slice(0, 3).map((r) => r.dataset.run).join()"


def count_is(tab: Any, count: int) -> None:
    until(tab, f"document.querySelector('[data-shown]')?.dataset.shown === '{count}'")


def test_cleaning_up_fifty_runs(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site)
    count_is(tab, COUNT)
    tab.fill("[data-search]", "/grpo-([0-9]|[1-4][0-9])$/")
    count_is(tab, 50)
    tab.click("thead input")  # all that match
    tab.click(".bulk >> text=Tag")
    tab.fill(".bulk .field", "old")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('tr[data-run=\"run-49\"]').innerText.includes('old')")
    assert all("old" in run.tags for run in rs.open(folder).runs() if run.id < "run-50")

    tab.click(".bulk >> text=Archive")
    count_is(tab, 0)
    tab.wait_for_selector(".bulk >> text=Archived 50 runs")
    tab.click(".bulk >> text=Undo")
    count_is(tab, 50)

    tab.click("thead input")
    tab.click(".bulk >> text=Delete")
    count_is(tab, 0)
    assert len(rs.open(folder).ids()) == 10
    tab.click("text=Bin 50")
    tab.wait_for_selector("text=Remove all for good")
    tab.click('tr:has-text("run-07") >> text=Restore')
    tab.wait_for_selector("text=Bin 49")
    tab.click("text=Remove all for good")
    tab.wait_for_selector("text=The bin is empty")
    tab.wait_for_selector(".bulk >> text=Removed 49 runs for good")
    assert len(rs.open(folder).ids()) == 11 and not any((folder / ".bin").iterdir())


def test_the_three_runs_with_the_best_eval_at_one_learning_rate(site: str, tab: Any) -> None:
    tab.goto(site)
    count_is(tab, COUNT)
    tab.fill("[data-search]", "config.lr=1e-6")
    count_is(tab, 20)
    tab.click('th[data-column="eval"] button')
    best = sorted((i for i in range(COUNT) if i % 3 == 0), key=lambda i: -((i * 37) % 60))[:3]
    until(tab, "document.querySelector('th[aria-sort=descending]') !== null")
    until(tab, f"{FIRST_THREE} === '{','.join(f'run-{i:02d}' for i in best)}'")
    assert re.search(r"q=config.lr%3D1e-6&sort=-eval$", tab.evaluate("location.href"))


def test_columns_groups_and_a_saved_view_that_another_browser_opens(site: str, browser: Any, tab: Any) -> None:
    tab.goto(site + "?q=not+tag:scratch")
    count_is(tab, 45)
    tab.click("text=Columns")
    tab.fill(".popover .field", "lr")
    tab.click(".popover label:has-text('lr')")
    tab.fill(".popover .field", "reward/mean")
    tab.click(".popover label:has-text('reward/mean')")
    tab.click(".popover >> text=Done")
    tab.wait_for_selector('th[data-column="config.lr"]')
    until(tab, "/0\\.\\d/.test(document.querySelector('td.c-metric').innerText)")
    tab.select_option("select", "config.lr")
    tab.wait_for_selector("tr.group")
    assert "lr 2e-6" in tab.inner_text("tbody") and "15 runs" in tab.inner_text("tr.group >> nth=0")
    tab.click("text=Save view")
    tab.fill(".views .field", "By rate")
    tab.click(".views >> text=Save")
    tab.wait_for_selector(".views a[aria-current]:has-text('By rate')")
    other = Watched(browser)
    other.page.goto(site)
    other.page.click(".views >> text=By rate")
    other.page.wait_for_selector("tr.group")
    other.page.wait_for_selector('th[data-column="metric.reward/mean"]')
    count_is(other.page, 45)
    errors = other.errors
    other.context.close()
    assert errors == []


def test_a_stretch_is_selected_with_shift_and_a_run_renamed_with_a_note(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site + "?sort=name")
    count_is(tab, COUNT)
    tab.click('tr[data-run="run-03"] input')
    tab.click('tr[data-run="run-07"] input', modifiers=["Shift"])
    tab.wait_for_selector("text=5 runs selected")
    tab.click('.bulk [aria-label="select none"]')
    tab.click('tr[data-run="run-03"] input')
    tab.click(".bulk >> text=Rename")
    tab.fill(".bulk .field", '<img src=x onerror="document.title=1"> best')
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('tr[data-run=\"run-03\"] .name').innerText.includes('best')")
    tab.click(".bulk >> text=Note")
    tab.fill(".bulk .field", "keep this one")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.bulk form') === null")
    store = rs.open(folder)
    assert store.marks()["run-03"].note == "keep this one" and "best" in store.marks()["run-03"].name
    assert tab.query_selector("td img") is None


def test_a_page_hears_what_another_one_did(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site)
    count_is(tab, COUNT)
    until(tab, "document.documentElement.dataset.stream === 'mine'")
    rs.open(folder).project.append("archive", "run-03", True)
    count_is(tab, COUNT - 1)
    tab.wait_for_selector("text=Archived 1")


def test_a_wrong_expression_gets_a_sentence(site: str, tab: Any) -> None:
    tab.goto(site)
    count_is(tab, COUNT)
    tab.fill("[data-search]", "/grpo(/")
    tab.wait_for_selector("text=is no regular expression")
    count_is(tab, 0)
