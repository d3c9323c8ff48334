"""Boards: built by hand, shared by link, taken along as JSON, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.store.project.log import ProjectLog
from tests.web.conftest import Served, Watched, until

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> read me first"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for id in ("a", "b"):
        with rs.init(project="p", name=id, id=id, dir=tmp_path, host=False, algorithm="grpo") as run:
            for step in range(40):
                metrics = {
                    "reward/mean": step / 40,
                    "policy/entropy": 900 - step,
                    "policy/kl_ref_k3": 0.001,
                    "c/one": 1.0,
                }
                run.log({**metrics, "t/mean": 2.0 + step, "t/min": 1.0 + step, "t/max": 3.0 + step}, step=step)
                sample = {"id": f"{step}.0", "group": "g", "reward": 1.0, "completion": "hello"}
                run.log_samples(step=step, samples=[sample])
                run.commit(step)
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


def add(tab: Any, kind: str, title: str) -> None:
    tab.click("text=Add a panel")
    tab.click(f'.panel-form [aria-label="kind of panel"] >> text={kind}')
    tab.fill('.panel-form [aria-label="title"]', title)


def keep(tab: Any, count: int) -> None:
    tab.click('.panel-form button:text-is("Keep")')
    until(tab, f"document.querySelectorAll('.board .panel').length === {count}")
    tab.wait_for_selector(".panel-form", state="detached")  # an event may show the panel before the form is done


def use(tab: Any, panel: int, tool: str) -> None:
    """Press a tool of a panel. Focus keeps the tools where a pointer loses them to a new layout."""
    tab.focus(f".panel:nth-child({panel})")
    tab.click(f'.panel:nth-child({panel}) [aria-label="{tool}"]')


def test_a_board_is_built_and_its_link_opens_in_a_fresh_browser(
    site: str, folder: Path, browser: Any, tab: Any
) -> None:
    tab.goto(site + "r/a/metrics")
    tab.click("text=+ New board")
    tab.fill('[aria-label="name of the board"]', "Mine & yours")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=An empty board")
    add(tab, "Chart", "Reward and entropy")
    for name in ("reward/mean", "policy/entropy"):
        tab.fill('[aria-label="add a metric"]', name)
        tab.keyboard.press("Enter")
        tab.wait_for_selector(f'.panel-form .tag:has-text("{name}")')
    tab.click('.panel-form .tag:has-text("policy/entropy") >> text=left')  # now on the right axis
    keep(tab, 1)
    add(tab, "Text", "Read me")
    tab.fill('.panel-form [aria-label="text"]', HOSTILE)
    keep(tab, 2)
    add(tab, "Samples", "Worst")
    keep(tab, 3)
    add(tab, "SQL", "By step")
    tab.fill('.panel-form [aria-label="query"]', "SELECT step, avg(reward) AS reward FROM samples GROUP BY step")
    keep(tab, 4)

    other = Watched(browser)
    page = other.page
    page.goto(tab.evaluate("location.href"))
    page.wait_for_selector(".panel .plot[data-ink*='series=2']")
    page.wait_for_selector(".right-axis span")
    until(page, "((t) => t.includes('0.975') && t.includes('861'))(document.querySelector('.panel .outs').innerText)")
    right = page.evaluate("[...document.querySelectorAll('.right-axis span')].map(s => Number(s.textContent))")
    assert right and all(850 <= value <= 900 for value in right)
    assert "read me first" in page.inner_text(".panel-text") and page.title() != "owned"
    page.wait_for_selector(".panel-samples .sample")
    page.wait_for_selector(".panel-sql .plot[data-ink]")
    assert page.query_selector(".panel img") is None
    errors = other.errors
    other.context.close()
    assert errors == []

    use(tab, 4, "Earlier")
    until(tab, "document.querySelectorAll('.panel')[2].innerText.includes('By step')")
    use(tab, 2, "Take this panel away")
    until(tab, "document.querySelectorAll('.panel').length === 3")
    panels = ProjectLog(str(folder)).current("board")["Mine & yours"]["panels"]
    assert [panel["kind"] for panel in panels] == ["chart", "sql", "samples"]
    assert panels[0]["metrics"] == [{"name": "reward/mean"}, {"name": "policy/entropy", "right": True}]


def test_two_editors_lose_nothing(site: str, folder: Path, browser: Any) -> None:
    log = ProjectLog(str(folder))
    one, two = ({"id": word, "kind": "text", "text": word} for word in ("one", "two"))
    log.append("board", "b", {"panels": [one]})
    watched = Watched(browser)
    tab = watched.page
    try:
        tab.route("**/api/live*", lambda route: route.abort())  # this page hears of nothing
        tab.goto(site + "r/a/metrics?board=b")
        tab.wait_for_selector("text=1 panel")
        log.append("board", "b", {"panels": [one, two]}, "bob")
        add(tab, "Text", "three")
        tab.fill('.panel-form [aria-label="text"]', "three")
        keep(tab, 3)
    finally:
        watched.context.close()
    assert any(error.startswith("409") for error in watched.errors)  # its first try was refused
    assert [panel.get("text") for panel in log.current("board")["b"]["panels"]] == ["one", "two", "three"]


def test_a_board_of_the_catalogue_and_hostile_json(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site + "r/a/metrics")
    tab.click('[data-board="GRPO watch list"]')
    tab.wait_for_selector("text=comes with the catalogue")
    tab.wait_for_selector(".panel .plot[data-ink]")
    tab.click("text=JSON")
    for text, says in (
        ("{", "This is no JSON"),
        ("[]", "A board is an object"),
        ('{"panels": [{"kind": "script"}]}', "is unknown"),
    ):
        tab.fill('[aria-label="board as JSON"]', text)
        tab.click("text=Import")
        tab.wait_for_selector(f"text={says}")
    board = {"panels": [{"kind": "chart", "metrics": ["nobody/logs"]}, {"kind": "text", "text": "mine"}]}
    tab.fill('[aria-label="board as JSON"]', json.dumps(board))
    tab.click("text=Import")
    tab.wait_for_selector("text=No run shown here logs nobody/logs")
    assert ProjectLog(str(folder)).current("board")["GRPO watch list"]["panels"][1]["text"] == "mine"


def test_a_mean_is_drawn_with_its_minimum_and_maximum_and_constants_can_be_hidden(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?section=t")
    tab.wait_for_selector('[data-metric="t/mean"] .plot[data-ink*="series=3"]')
    assert tab.query_selector('[data-metric="t/min"]') is None
    tab.click('.index [data-section="c"]')
    tab.wait_for_selector('[data-metric="c/one"]')
    tab.click("text=hide constant")
    tab.wait_for_selector("text=constant hidden")
    tab.wait_for_selector('[data-metric="c/one"]', state="detached")
