"""Rollouts: from a point of a chart to the texts that explain it, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.views.samples.groups import groups
from tests.web.conftest import Served, Watched, ink, until
from tests.web.rollout_runs import FALL, TASKS, record

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rolls")
    record(path)
    return path


@pytest.fixture(scope="module")
def rolls(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


def shown(tab: Any) -> list[str]:
    return tab.evaluate("[...document.querySelectorAll('[data-sample]')].map(e => e.dataset.sample)")  # type: ignore[no-any-return]


def address(tab: Any) -> str:
    """The address as the page has it. Playwright's own may be older."""
    return tab.evaluate("location.href")  # type: ignore[no-any-return]


def rows(tab: Any) -> list[str]:
    return tab.evaluate("[...document.querySelectorAll('#groups [data-group]')].map(e => e.dataset.group)")  # type: ignore[no-any-return]


def test_from_the_falling_reward_to_the_group_that_did_it(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/metrics?q=reward/generated/mean&step={FALL}")
    ink(tab, "reward/generated/mean")
    box = tab.query_selector('[data-metric="reward/generated/mean"] .u-over').bounding_box()
    tab.mouse.click(box["x"] + box["width"] * (FALL / 39), box["y"] + box["height"] / 2)  # one
    tab.wait_for_selector(f'.drawer .why[data-why="{FALL}"] .whylist button')
    change = tab.inner_text(".drawer .why .facts dd.fell")
    assert change.startswith("−")
    total = float(tab.get_attribute(".drawer .whylist", "data-sum") or "nan")
    assert abs(total - float(change.replace("−", "-"))) < 2e-3
    worst = tab.inner_text(".drawer .whylist li:first-child .cut")
    tab.click(".drawer .whylist li:first-child button")  # two
    tab.wait_for_selector("[data-sample] .conversation")
    assert f"group=g{FALL}." in address(tab) and f"step={FALL}" in address(tab)
    # The first words of a prompt come after its chips.
    until(tab, f"document.querySelector('.group.at').textContent.includes({worst!r})")


@pytest.mark.parametrize(
    "metric",
    [
        "length/completion/generated/mean",
        "length/truncated",
        "reward_component/format/generated/mean",
        "tool/failures/generated/mean",
        "stop/length",
    ],
)
def test_why_from_a_point_of_any_mean_or_share(folder: Path, rolls: str, tab: Any, metric: str) -> None:
    why = rs.open(folder).run("rolls").why(metric, FALL)
    tab.goto(f"{rolls}r/rolls/metrics?q={metric}&step={FALL}&open=point:{metric}")
    tab.wait_for_selector(f'.drawer .why[data-why="{FALL}"] .whylist')
    assert abs(float(tab.get_attribute(".drawer .whylist", "data-sum") or "nan") - why.change) < 1e-9
    sums = tab.evaluate("[...document.querySelectorAll('.drawer .whykinds')].map(e => Number(e.dataset.sum))")
    assert len(sums) == len(why.kinds) and all(abs(s - why.change) < 1e-9 for s in sums)
    agrees = {True: "true", False: "false", None: "null"}[why.agrees]
    assert tab.get_attribute(".drawer [data-agrees]", "data-agrees") == agrees
    assert f": {why.counted[1]} and {why.counted[0]}" in tab.inner_text(".drawer [data-agrees]")
    bars = tab.evaluate(
        """[...document.querySelectorAll('.drawer .whylist li')].map((item) =>
          [item.querySelector('.n').textContent === '0', item.querySelector('.whybar i').offsetWidth])"""
    )
    assert all((width == 0) == zero for zero, width in bars)  # only 0 has no bar


def test_finding_every_sample_with_a_phrase(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35")
    tab.wait_for_selector("#groups .group")
    tab.keyboard.press("/")
    tab.keyboard.type("division by zero")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('[data-search-state="all"]')
    assert tab.inner_text("[data-search-state]").startswith("120 samples")
    until(tab, "document.querySelectorAll('[data-hit].at').length === 1")  # the first is selected
    first = tab.get_attribute("[data-hit].at", "data-hit")
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    until(tab, f"document.querySelector('[data-hit].at').dataset.hit !== '{first}'")
    fourth = tab.get_attribute("[data-hit] >> nth=3", "data-hit")
    tab.click(f'[data-hit="{fourth}"]')
    tab.wait_for_selector(f'[data-sample="{fourth}"] .call.failed')
    tab.click(".word.phrase")
    tab.wait_for_selector("#groups .group")
    assert "q=" not in address(tab)


def test_a_search_is_narrowed_by_words_and_by_fate(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35")
    tab.wait_for_selector("#groups .group")
    tab.fill("[data-search]", "env:countdown reward>1 let me think")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('[data-search-state="all"]')
    both = int(tab.inner_text("[data-search-state]").split()[0].replace(",", ""))
    assert tab.evaluate(
        "[...document.querySelectorAll('[data-hit] .r')].every(e => e.classList.contains('r6'))"
    ) and "pass the filters" in tab.inner_text("[data-search-state]")
    tab.click("text=/^Dropped/")
    until(tab, f"parseInt(document.querySelector('[data-search-state=all]')?.textContent) < {both}")
    tab.click("text=/^All/")
    tab.wait_for_selector(f'[data-search-state="all"] >> text=/^{both}/')
    tab.click(".word.filter >> nth=1")
    until(tab, f"parseInt(document.querySelector('[data-search-state=all]')?.textContent) > {both}")


def test_the_dropped_groups_and_why(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35")
    tab.wait_for_selector("#groups .group")
    assert "g35.3" not in rows(tab)
    tab.click("text=/^Dropped \\d/")
    tab.wait_for_selector('[data-group="g35.3"]')
    assert "zero advantage" in tab.inner_text('[data-group="g35.3"]') and "view=dropped" in address(tab)
    tab.click(".word.reason")
    until(tab, "decodeURIComponent(location.search).includes('reason=zero_advantage')")
    tab.wait_for_selector(".column .who .tag")


def test_a_prompt_that_was_solved_and_forgotten(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35")
    tab.click("role=tab[name=Prompts]")
    tab.click("text=/^Forgotten 1/")
    strip = tab.wait_for_selector(f'[data-task="{TASKS[0]}"] .strip')
    assert strip.get_attribute("data-visits") == "40"
    strip.click(position={"x": strip.bounding_box()["width"] * 20.5 / 40, "y": 8})
    until(tab, "/group=g(19|20|21)\\.0/.test(location.search)")
    tab.wait_for_selector("[data-sample] .conversation")
    tab.click(".visit >> nth=0")
    tab.wait_for_selector(".visit.at")


def test_which_list_of_prompts_is_in_the_address(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&view=prompts")
    tab.click("text=/^Never/")
    never = f'#prompts [data-task="{TASKS[3]}"]'
    tab.wait_for_selector(never)
    assert "never" in address(tab)
    tab.reload()
    tab.wait_for_selector(never)
    tab.click("role=tab[name=/Groups/]")
    tab.wait_for_selector("#groups .group")
    assert "never" not in address(tab)


def test_two_samples_compared(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&group=g35.0")
    tab.wait_for_selector("[data-sample] .conversation")
    until(tab, "document.querySelectorAll('[data-sample] .conversation').length === 2")
    tab.keyboard.press("d")
    tab.wait_for_selector(".differs")
    words = tab.evaluate(
        """[...document.querySelectorAll('[data-sample]')].map((column) =>
          [...column.querySelectorAll('.differs')].map((e) => e.textContent).join(''))"""
    )
    first, second = shown(tab)
    assert first[-1] in words[0] and second[-1] in words[1]  # the number in "Answer 3:" is what differs
    assert "diff" in address(tab)


def test_a_tool_call_that_failed(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&group=g35.2&sample=s35.2.0")
    call = tab.wait_for_selector('[data-sample="s35.2.0"] .call.failed')
    assert "12 ms" in call.inner_text() and "failed" in call.inner_text()
    call.query_selector("summary").click()
    tab.wait_for_selector(".call.failed[open] >> text=Traceback: division by zero")


def test_tokens_in_colour(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&group=g35.1&sample=s35.1.2&view=all")
    tab.wait_for_selector('[data-sample="s35.1.2"] .conversation')
    before = tab.inner_text('[data-sample="s35.1.2"] .written .ink')
    for colour in ("logprob", "entropy", "advantage", "gap"):
        tab.keyboard.press("v")
        tab.wait_for_selector(f'[data-ink*="colour={colour}"]')
        assert colour in address(tab)
        assert tab.inner_text('[data-sample="s35.1.2"] .written .ink') == before  # colour changes no character
    tab.wait_for_selector(".reader .top >> text=was")  # the head has all its words, and moves nothing any more
    tab.hover('[data-sample="s35.1.2"] .written .ink span >> nth=1')
    until(tab, "/token 1, logprob .*sampler gap 0.02/.test(document.querySelector('[data-token-line]').textContent)")


def test_keys_walk_groups_and_samples_and_the_address_is_the_view(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=20&view=all,n1")
    tab.wait_for_selector("[data-sample] .conversation")
    names = rows(tab)
    tab.keyboard.press("j")
    until(tab, f"document.querySelector('.group.at').dataset.group === {names[1]!r}")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    until(tab, f"document.querySelector('.group.at').dataset.group === {names[1]!r}")
    first = shown(tab)
    tab.keyboard.press("h")
    until(tab, f"document.querySelector('[data-sample]').dataset.sample !== {first[0]!r}")
    held = shown(tab)
    tab.keyboard.press("l")
    until(tab, f"document.querySelector('[data-sample]').dataset.sample === {first[0]!r}")
    tab.keyboard.press("h")
    until(tab, f"document.querySelector('[data-sample]').dataset.sample === {held[0]!r}")
    tab.reload()
    tab.wait_for_selector(f'[data-sample="{held[0]}"] .conversation')
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector('.rollouts[data-step="21"]')


def test_enter_reads_and_escape_comes_back(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35")
    tab.wait_for_selector("[data-sample] .conversation")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    until(tab, "document.activeElement.matches('.reader .scroll')")
    assert "sample=" in address(tab)
    tab.keyboard.press("Escape")
    until(tab, "document.activeElement === document.body")
    tab.keyboard.press("Escape")
    until(tab, "!location.search.includes('group=')")
    tab.focus("role=tab[name=Prompts]")
    tab.keyboard.press("Enter")  # on a control it is the control's
    tab.wait_for_selector(".strip")


def test_the_text_of_a_step_comes_with_its_list(rolls: str, tab: Any) -> None:
    """The server knows which samples a list opens with. Only other samples are requested."""
    requests: list[str] = []
    tab.on("request", lambda r: requests.append(r.url) if "/rollouts/samples" in r.url else None)
    for step in (0, 5, 12, 29, 30, 35, 37):
        tab.goto(f"{rolls}r/rolls/rollouts?step={step}")
        until(tab, "document.querySelectorAll('[data-sample] .conversation').length === 2")
    assert requests == []
    tab.goto(f"{rolls}r/rolls/rollouts?sort=best&step=35")
    until(tab, "document.querySelectorAll('[data-sample] .conversation').length === 2")
    assert len(requests) >= 1


def test_a_link_to_a_group_that_the_list_leaves_out_still_leads_there(rolls: str, tab: Any) -> None:
    tab.goto(
        f"{rolls}r/rolls/rollouts?step=35&group=g35.3&sample=s35.3.5"
    )  # dropped, while the list shows trained groups
    tab.wait_for_selector('[data-sample="s35.3.5"] .conversation')
    tab.wait_for_selector("#groups .group")
    assert "g35.3" not in rows(tab)


def test_every_order_of_the_list_is_by_what_it_says(folder: Path, rolls: str, tab: Any) -> None:
    run = rs.open(folder).run("rolls")
    now, before = run.samples(step=35), run.samples(step=34)
    values = {name: now[name].astype(float) for name in ("reward", "advantage", "completion_tokens")}
    for column in ("rewards", "sample_metrics"):
        values |= {f"{column}/{name}": np.array([cell[name] for cell in now[column]], float) for name in now[column][0]}
    tasks = dict(zip(now["group"], now["task"], strict=True))
    means = {name: {g: float(v[now["group"] == g].mean()) for g in tasks} for name, v in values.items()}
    was = {t: float(before["reward"][before["task"] == t].astype(float).mean()) for t in tasks.values()}
    change = {g: means["reward"][g] - was[t] for g, t in tasks.items()}
    each = groups(run, 35)
    gini = dict(zip(each["group"], each["gini"], strict=True))
    largest = {g: float(np.abs(values["advantage"][now["group"] == g]).max()) for g in tasks}
    by = {
        "": (means["reward"], 1),
        "best": (means["reward"], -1),
        "length": (means["completion_tokens"], -1),
        "advantage": (largest, -1),
        "gini": (gini, -1),
        "change": (change, 1),
        "rose": (change, -1),
    }
    by |= {f"{sign}{name}": (means[name], -1 if sign else 1) for name in means if "/" in name for sign in ("", "-")}
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&view=all")
    tab.wait_for_selector("#groups .fell")  # the last visits are known
    assert set(
        tab.evaluate("[...document.querySelector('[aria-label=\"Order of groups\"]').options].map(o => o.value)")
    ) == set(by)
    for order, (key, sign) in by.items():
        tab.select_option('select[aria-label="Order of groups"]', order)
        until(tab, f"(new URLSearchParams(location.search).get('sort') ?? '') === {order!r}")
        keys = [sign * key[g] for g in rows(tab)]
        assert len(keys) == 4 and all(a <= b + 1e-6 for a, b in pairwise(keys)), order


def test_filters_are_words_and_the_histogram_is_one(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&view=all")
    tab.wait_for_selector(".rollouts [aria-label=Environment]")  # stands above the histogram, and may come after it
    box = tab.wait_for_selector(".histogram canvas[data-ink]").bounding_box()
    tab.mouse.move(box["x"] + 2, box["y"] + 10)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 10)
    tab.mouse.up()
    tab.wait_for_selector(".word.filter")
    assert re.match(r"reward:0\.\.0\.\d+", tab.inner_text(".word.filter"))
    assert tab.evaluate("document.querySelectorAll('#groups .r:not(.r0)').length") == 0
    tab.fill("[data-search]", "env:tools")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelectorAll('#groups .group').length === 1")
    for _ in range(2):
        tab.click(".word.filter")
    until(tab, "document.querySelectorAll('#groups .group').length === 4")
    tab.select_option('select[aria-label="Order of groups"]', "best")
    until(tab, "document.querySelector('#groups .group').dataset.group === 'g35.1'")
    tab.select_option('select[aria-label="Order of groups"]', "rewards/equation")
    assert "sort=rewards/equation" in address(tab)


def test_the_selection_is_exported(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&q=env:tools")
    tab.wait_for_selector("#groups .group")
    with tab.expect_download() as download:
        tab.select_option('select[aria-label="Export these samples"]', "jsonl")
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 8 and download.value.suggested_filename == "rolls-step-35-samples.jsonl"


def test_hostile_text_is_text_and_files_outside_are_not_shown(rolls: str, browser: Any) -> None:
    watched = Watched(browser)
    page = watched.page
    dialogs: list[str] = []
    page.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    page.goto(f"{rolls}r/rolls/rollouts?step=39&view=all,n2,diff&group=hostile&sample=hostile-1")
    page.wait_for_selector('[data-sample="hostile-1"] .pill')
    until(page, "document.querySelectorAll('.media .missing').length === 5")
    page.wait_for_selector('.why[data-why="39"]')
    for action in ("d", "v", "j", "k"):
        page.keyboard.press(action)
    page.click("role=tab[name=Prompts]")
    page.click("text=/^Never/")
    page.wait_for_selector(".strip")
    page.goto(f"{rolls}r/rolls/rollouts?step=39&view=all&q=%22%3Cimg%20src%3Dx%22")
    page.wait_for_selector('[data-hit="hostile-1"]')
    assert "owned" not in page.title() and dialogs == []
    active = "img:not(.thumb img), script:not([src]):not([type=importmap]), a[href^=javascript]"
    assert page.query_selector_all(active) == []
    assert page.evaluate("getComputedStyle(document.querySelector('.model')).unicodeBidi") == "isolate"
    # The text of the sample comes after the hit.
    until(page, "['U+202E', 'ESC[31m'].every((words) => document.body.textContent.includes(words))")
    texts = page.evaluate("document.body.textContent")
    assert "\u202e" not in texts and "\x1b" not in texts
    assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in watched.requests)
    refused = [e for e in watched.errors if "/media/" in e]
    assert {e.split("/media/")[1] for e in refused} == {"media/link.png", "media/none.png"} and all(
        e.startswith("404") for e in refused
    )
    watched.context.close()


def test_an_svg_opened_by_itself_runs_nothing(rolls: str, browser: Any) -> None:
    watched = Watched(browser)
    watched.page.goto(f"{rolls}api/runs/rolls/media/media/page.svg")
    assert watched.page.evaluate("document.title") == ""
    watched.context.close()


@pytest.mark.parametrize("size", [(400, 860), (800, 900), (1440, 900)])
@pytest.mark.parametrize("query", ["step=35", "step=35&group=g35.2", "step=35&view=prompts"])
def test_nothing_is_wider_than_the_window(rolls: str, browser: Any, size: tuple[int, int], query: str) -> None:
    watched = Watched(browser, viewport={"width": size[0], "height": size[1]})
    watched.page.goto(f"{rolls}r/rolls/rollouts?{query}")
    watched.page.wait_for_selector(".group, .conversation", state="attached")
    over = watched.page.evaluate(
        "[document.documentElement, document.querySelector('#page')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert watched.errors == []
    watched.context.close()
    assert over == [0, 0]


def test_a_phone_swipes_between_samples(rolls: str, browser: Any) -> None:
    watched = Watched(browser, viewport={"width": 400, "height": 860}, has_touch=True, is_mobile=True)
    page = watched.page
    page.goto(f"{rolls}r/rolls/rollouts?step=35")
    page.tap('[data-group="g35.2"]')
    page.wait_for_selector("[data-sample] .conversation")
    layout = page.evaluate(
        """((columns) => [columns.children.length, columns.children[0].clientWidth === columns.clientWidth,
          getComputedStyle(columns).scrollSnapType])(document.querySelector('.columns'))"""
    )
    assert layout == [8, True, "x mandatory"]  # all samples of the group
    second = shown(page)[1]
    page.evaluate("(c => c.scrollTo(c.clientWidth, 0))(document.querySelector('.columns'))")
    until(page, "document.querySelectorAll('.reader .top .r.on').length === 1")
    until(page, f"document.querySelector('.reader .top .r.on').title.startsWith('{second}:')")
    # The facts are those of the sample in view.
    until(page, f"document.querySelector('.side').textContent.includes('Sample{second}')")
    page.tap('[aria-label="Back to the groups"]')
    page.wait_for_selector('[data-group="g35.2"]')
    watched.context.close()
