"""What people do with the web, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, Watched, ink, until

pytestmark = pytest.mark.browser


def test_first_open_of_an_empty_store_and_then_a_first_run(browser: Any, tmp_path: Path, tab: Any) -> None:
    served = Served(tmp_path)
    try:
        tab.goto(served.url)
        tab.wait_for_selector('[data-state="empty"]')
        assert "rs.init(" in tab.inner_text("pre") and "rollscope demo" in tab.inner_text(".empty")
        with rs.init(project="p", name="first", id="first", dir=tmp_path, host=False) as run:
            run.log({"reward/mean": 0.5}, step=0)
            run.commit(0)
            tab.wait_for_selector("text=first")
        tab.close()
    finally:
        served.stop()


def test_a_search_without_a_match_says_how_to_search(site: str, tab: Any) -> None:
    tab.goto(site)
    tab.wait_for_selector(".runs-page tbody tr")
    tab.fill("[data-search]", "no run has this name")
    until(tab, "document.querySelector('.runs-page').innerText.includes('config.lr<1e-5')")
    assert tab.query_selector(".runs-page tbody tr") is None
    tab.fill("[data-search]", "")
    tab.wait_for_selector(".runs-page tbody tr")


def test_following_a_live_run(tmp_path: Path, tab: Any) -> None:
    with rs.init(project="p", name="live", id="live", dir=tmp_path, host=False, steps=100) as run:
        for step in range(30):
            run.log({"reward/mean": step / 100, "policy/entropy": 1.0}, step=step)
            run.commit(step)
        run.flush()
        served = Served(tmp_path)
        try:
            tab.goto(served.url + "r/live/metrics")
            assert ink(tab, "reward/mean")["hi"] == 29
            tab.wait_for_selector(".state.live")
            run.log({"reward/mean": 0.9, "policy/entropy": 1.0}, step=30)
            run.commit(30)
            tab.wait_for_selector('[data-metric="reward/mean"] .plot[data-ink*="hi=30"]')
            until(tab, "document.querySelector('.bar .at').innerText.includes('step 30')")
            tab.keyboard.press("Home")  # elsewhere: new steps are offered, not forced
            tab.wait_for_selector(".tape .news")
            tab.keyboard.press(".")
            tab.wait_for_selector(".tape .news", state="detached")
            tab.close()
        finally:
            served.stop()


def test_since_when_kl_took_off_and_why_it_matters(site: str, tab: Any) -> None:
    tab.goto(site)
    tab.click("text=grpo-7")
    tab.wait_for_selector(".verdict h1")
    until(tab, "document.querySelector('.verdict').innerText.includes('KL to the reference took off since step 2')")
    tab.click("text=more on Findings")
    since = re.search(r"from step (\d+)", tab.inner_text('[data-page="findings"] [data-finding="kl-takeoff"]'))
    assert since and 205 <= int(since[1]) <= 225
    tab.click('[data-finding="kl-takeoff"] .claim')
    tab.wait_for_selector(".drawer >> text=First checks")
    until(tab, "document.querySelector('.drawer').innerText.includes('Learning rate against gradient norm')")
    tab.click(".drawer >> text=policy/kl_ref_k3")
    assert ink(tab, "policy/kl_ref_k3")["series"] == 1
    tab.click('[data-metric="policy/kl_ref_k3"] .title')
    tab.wait_for_selector(".drawer >> text=How to read it")
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".drawer", state="detached")


def test_two_runs_on_one_chart(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/metrics")
    assert ink(tab, "reward/generated/mean")["series"] == 1
    tab.click('.rail button[aria-label="show grpo-6 on charts"]')
    tab.wait_for_selector('[data-metric="reward/generated/mean"] .plot[data-ink^="series=2"]')
    until(tab, "location.search.includes('runs=grpo-6')")
    tab.hover('[data-metric="reward/generated/mean"] .u-over')
    names = "[...document.querySelectorAll('[data-metric=\"reward/generated/mean\"] .tip:not([hidden]) span')]"
    until(tab, f"{names}.map((name) => name.innerText).sort().join() === 'grpo-6,grpo-7'")


def test_the_header_is_the_read_out_of_every_chart(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/metrics")
    ink(tab, "reward/generated/mean")
    ink(tab, "reward/trained/mean")
    tab.hover('[data-metric="reward/generated/mean"] .u-over')
    for metric in ("reward/generated/mean", "reward/trained/mean"):
        until(tab, f"/at step \\d+/.test(document.querySelector('[data-metric=\"{metric}\"] .value').textContent)")
    tab.mouse.move(5, 500)
    until(tab, "!document.querySelector('[data-metric=\"reward/trained/mean\"] .value').textContent.includes(' at ')")


def test_looking_up_a_frameworks_name(site: str, tab: Any) -> None:
    tab.goto(site + "glossary")
    tab.fill("[data-search]", "actor/ppo_kl")
    tab.wait_for_selector(".glossary .right h1:has-text('actor/ppo_kl')")
    tab.wait_for_selector(".glossary .right .top a:has-text('policy/kl_update_k1')")
    tab.wait_for_selector(".glossary .right >> text=How to read it")
    assert "actor/ppo_kl" in tab.inner_text(".names-table")
    tab.goto(site + "r/grpo-7/metrics?q=ppo_kl")
    assert ink(tab, "policy/kl_update_k1")["points"] > 300


def test_a_shared_link_is_the_same_view(site: str, tab: Any, browser: Any) -> None:
    tab.goto(site + "r/grpo-7/metrics")
    tab.wait_for_selector(".rail .run:nth-child(4)")  # the colours of all runs are known
    plot = '[data-metric="reward/generated/mean"] .plot'
    tab.wait_for_selector(f'{plot}[data-ink]:not([data-ink*="marked=0"])')  # and the findings
    box = tab.locator(f"{plot} .u-over").first.bounding_box()
    tab.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 40, steps=4)
    tab.mouse.up()
    tab.wait_for_selector('[data-metric="reward/generated/mean"] .plot[data-ink*="lo=15"]')
    tab.click('.seg button:has-text("log")')
    tab.fill("[data-search]", "reward")
    tab.keyboard.press("Escape")
    until(tab, "location.search.includes('y=log') && location.search.includes('range=')")
    here = tab.get_attribute(plot, "data-ink")
    other = Watched(browser)
    other.page.goto(tab.evaluate("location.href"))
    other.page.wait_for_selector(f'{plot}[data-ink="{here}"]')
    assert other.page.input_value("[data-search]") == "reward"
    other.context.close()
    tab.go_back()
    until(tab, "!location.search.includes('range=')")


def test_every_key_of_the_sheet_has_words_and_the_palette_finds_a_metric(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/overview")
    tab.wait_for_selector(".verdict")
    tab.keyboard.press("?")
    tab.wait_for_selector(".sheet .key")
    tab.keyboard.press("Escape")
    tab.keyboard.press("Control+k")
    tab.fill(".palette input", "ppo_kl")
    tab.wait_for_selector(".palette li >> text=policy/kl_update_k1")
    tab.keyboard.press("Enter")
    ink(tab, "policy/kl_update_k1")
    tab.keyboard.press("Control+k")
    tab.fill(".palette input", "120")
    tab.wait_for_selector(".palette li >> text=Go to step 120")
    tab.keyboard.press("Enter")
    until(tab, "location.search.includes('step=120')")
    tab.keyboard.press("g")
    tab.keyboard.press("f")
    tab.wait_for_selector('[data-page="findings"]')


def test_hostile_text_is_only_text(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/overview?open=sample:s300-0-0")
    tab.wait_for_selector(".drawer >> text=<img src=x onerror=")
    assert tab.title() != "owned"
    assert tab.query_selector(".drawer img") is None and tab.query_selector(".drawer .model a") is None
    pills = "[...document.querySelectorAll('.drawer .pill')].map((pill) => pill.innerText)"
    until(tab, f"['U+202E', 'ESC[31m'].every((pill) => {pills}.includes(pill))")


@pytest.mark.parametrize("run", ["grpo-7", "ppo-critic"])
def test_every_page_opens_without_an_error_and_is_not_blank(site: str, tab: Any, run: str) -> None:
    for page in (
        "overview",
        "metrics",
        "rollouts",
        "timeline",
        "system",
        "environment",
        "evals",
        "compare",
        "findings",
        "glossary",
        "sql",
    ):
        tab.goto(f"{site}r/{run}/{page}")
        tab.wait_for_selector(f'[data-page="{page}"]')
        until(tab, "document.querySelector('#page').innerText.trim().length > 20")


# Every chart in view is drawn.
ALL_DRAWN = """[...document.querySelectorAll('.plot, .coming')].every((plot) => {
  const { top, bottom } = plot.getBoundingClientRect();
  return bottom < 0 || top > innerHeight || plot.dataset.ink;
})"""


def test_far_cards_give_their_canvas_back(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/metrics")
    ink(tab, "reward/generated/mean")
    most, seen = 0, set()
    for _ in range(40):
        tab.evaluate("document.querySelector('#page').scrollBy(0, 700)")
        until(tab, ALL_DRAWN)
        most = max(most, tab.evaluate("document.querySelectorAll('.plot canvas').length"))
        seen |= set(tab.evaluate("[...document.querySelectorAll('[data-metric]')].map(e => e.dataset.metric)"))
        if tab.evaluate("(e => e.scrollTop + e.clientHeight >= e.scrollHeight - 2)(document.querySelector('#page'))"):
            break
    assert most <= 40 and len(seen) > 70


def test_the_index_marks_the_section_that_is_in_view(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-7/metrics")
    ink(tab, "reward/generated/mean")
    marked = "document.querySelector('.index [aria-current]')?.dataset.section"
    until(tab, f"{marked} === 'watched'")
    tab.click('.index [data-section="length"]')
    until(tab, f"{marked} === 'length'")
    assert tab.evaluate("document.querySelectorAll('.index [aria-current]').length") == 1


def test_a_crash_is_said(site: str, tab: Any) -> None:
    tab.goto(site + "r/ppo-critic/overview")
    tab.wait_for_selector(".state.crashed")
    until(tab, "document.querySelector('.bar').innerText.includes('CUDA out of memory')")


def test_seven_tabs_live_at_once(site: str, browser: Any) -> None:
    watched = Watched(browser)
    pages = [watched.page] + [watched.context.new_page() for _ in range(6)]
    for page in pages:
        page.goto(site + "r/grpo-7/metrics")
        ink(page, "reward/generated/mean")
    until(pages[0], "document.documentElement.dataset.stream === 'mine'")
    holders = sum(page.evaluate("document.documentElement.dataset.stream === 'mine'") for page in pages)
    assert holders == 1
    watched.context.close()


def test_it_works_behind_a_prefix(recorded: Path, browser: Any) -> None:
    served = Served(recorded, "--root-path", "/x/y")
    watched = Watched(browser)
    try:
        watched.page.goto(served.url + "r/grpo-7/overview")
        watched.page.wait_for_selector(".verdict h1")
        watched.page.click(".rail .pages >> text=Metrics")
        ink(watched.page, "reward/generated/mean")
        until(watched.page, "location.pathname === '/x/y/r/grpo-7/metrics'")
        assert watched.errors == []
        assert all("/x/y/" in url for url in watched.requests)
    finally:
        watched.context.close()
        served.stop()


def test_charts_stay_when_the_server_goes(recorded: Path, browser: Any) -> None:
    served = Served(recorded)
    watched = Watched(browser)
    try:
        watched.page.goto(served.url + "r/grpo-7/metrics")
        before = ink(watched.page, "reward/generated/mean")
        served.stop()
        watched.page.keyboard.press("z")
        watched.page.evaluate("document.querySelector('.toolbar input[type=number]').value = 50")
        watched.page.dispatch_event(".toolbar input[type=number]", "change")
        watched.page.wait_for_selector(".notice.bad")
        assert "has not answered" in watched.page.inner_text(".notice.bad")
        assert ink(watched.page, "reward/generated/mean")["points"] == before["points"]
    finally:
        watched.context.close()
        served.stop()


FITS = "[document.documentElement, document.querySelector('#page')].every((e) => e.scrollWidth === e.clientWidth)"


@pytest.mark.parametrize("width", [400, 800, 1440])
def test_nothing_is_wider_than_the_window(site: str, browser: Any, width: int) -> None:
    watched = Watched(browser, viewport={"width": width, "height": 860})
    for page in ("overview", "metrics", "glossary", "findings"):
        watched.page.goto(f"{site}r/grpo-7/{page}")
        watched.page.wait_for_selector(f'[data-page="{page}"]')
        until(watched.page, "document.querySelector('#page').innerText.trim().length > 20")
        until(watched.page, ALL_DRAWN)
        until(watched.page, FITS)
    watched.context.close()
