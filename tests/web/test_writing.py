"""What a person writes on the page: notes, hidden findings, SQL queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from tests.web.conftest import Served, until

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> \u202e lowered lr"


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """KL takes off at step 60; every step has two samples."""
    folder = tmp_path_factory.mktemp("sick")
    with rs.init(project="p", name="sick", id="sick", dir=folder, algorithm="grpo", host=False) as run:
        for step in range(120):
            run.log(
                {"reward/mean": 0.3 + step / 1000, "policy/kl_ref_k3": 0.001 + 0.002 * max(0, step - 60)}, step=step
            )
            run.log_samples(
                step=step,
                samples=[
                    {"id": f"{step}-{i}", "group": "g", "reward": float(i), "completion": HOSTILE} for i in range(2)
                ],
            )
            run.commit(step)
    return folder


@pytest.fixture(scope="module")
def site(sick: Path) -> Iterator[str]:
    served = Served(sick)
    yield served.url
    served.stop()


def test_a_note_written_on_the_page_is_on_the_tape_and_in_the_run(site: str, sick: Path, tab: Any) -> None:
    tab.goto(site + "r/sick/metrics?step=42")
    tab.wait_for_selector(".tape canvas[data-ink]")
    tab.keyboard.press("m")
    until(tab, "document.activeElement?.matches('.drawer textarea')")
    tab.keyboard.type(HOSTILE)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(".drawer .noted")
    assert "step 42" in tab.inner_text(".noted") and "lowered lr" in tab.inner_text(".noted")
    assert tab.title() != "owned" and tab.query_selector(".drawer img") is None
    tab.wait_for_selector('.tape canvas[data-ink*="notes=1"]')
    notes = rs.open(sick).run("sick").notes()
    assert list(notes["text"]) == [HOSTILE] and list(notes["step"]) == [42]
    tab.keyboard.press("Escape")  # out of the box
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".drawer", state="detached")
    at = tab.evaluate("(e => e.getBoundingClientRect())(document.querySelector('.tape'))")
    x = at["x"] + 20 + (at["width"] - 40) * 0.91 * 42 / 119
    tab.mouse.click(x + 4, at["y"] + 6)  # its flag opens it
    tab.wait_for_selector(".drawer .noted")


def test_not_a_problem_here_hides_a_finding_with_a_word_and_can_be_taken_back(site: str, sick: Path, tab: Any) -> None:
    tab.goto(site + "r/sick/overview")
    tab.wait_for_selector('[data-finding="kl-takeoff"]')
    tab.click('[data-finding="kl-takeoff"] .claim')
    tab.click(".drawer >> text=Not a problem here")
    tab.fill(".drawer .hiding input", "beta is 0 here")
    tab.click(".drawer >> text=Hide for this run")
    tab.wait_for_selector(".drawer >> text=Show it again")
    until(tab, "document.querySelector('.drawer').innerText.includes('beta is 0 here')")
    until(tab, "/Nothing|^Learning/.test(document.querySelector('.verdict h1').textContent)")
    tab.wait_for_selector('[data-finding="kl-takeoff"]', state="detached")
    assert main(["doctor", "sick", "--dir", str(sick)]) == 0
    tab.goto(site + "r/sick/findings")
    tab.wait_for_selector("text=Hidden here")
    until(tab, "document.querySelector('#page').innerText.includes('beta is 0 here')")
    tab.click("#page .rulerow >> text=KL to the reference took off")
    tab.click(".drawer >> text=Show it again")
    tab.wait_for_selector('[data-finding="kl-takeoff"]')
    assert main(["doctor", "sick", "--dir", str(sick)]) == 1


def test_sql_is_asked_on_the_page_and_the_address_holds_the_query(site: str, tab: Any) -> None:
    tab.goto(site + "r/sick/sql")
    tab.wait_for_selector('[data-answer="120"]')
    assert "Read only" in tab.inner_text("#page")
    tab.wait_for_selector(".answer-chart .plot[data-ink]")
    tab.fill(".editor textarea", "SELECT id, completion FROM samples ORDER BY step, id")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector('[data-answer="240"]')
    assert "SELECT%20id" in tab.evaluate("location.href")
    until(tab, "document.querySelector('.grid').innerText.includes('lowered lr')")
    assert tab.query_selector(".grid img") is None
    assert len(tab.query_selector_all(".grid .rows .row")) < 80  # only rows in view
    tab.evaluate("document.querySelector('.grid').scrollTop = 1e6")
    tab.wait_for_selector(".grid >> text=119-1")
    tab.click("text=Copy CSV")
    until(tab, "toasts.includes('240 rows copied as CSV')")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("id,completion\n0-0,") and copied.count("\n") == 241
    tab.go_back()
    tab.wait_for_selector('[data-answer="120"]')


def test_what_is_no_question_is_said_and_changes_nothing(site: str, browser: Any, sick: Path) -> None:
    from tests.web.conftest import Watched

    watched = Watched(browser)
    watched.page.goto(site + "r/sick/sql?q=DELETE FROM samples")
    watched.page.wait_for_selector(".sql .wrong")
    assert "only questions are allowed" in watched.page.inner_text(".wrong")
    watched.context.close()
    assert len(rs.open(sick).run("sick").samples(columns=["id"])["id"]) == 240


def test_zooming_does_not_change_what_smoothing_says(site: str, tab: Any) -> None:
    tab.goto(site + "r/sick/metrics?smooth=.9&range=80-119")
    plot = '[data-metric="policy/kl_ref_k3"] .plot'
    tab.wait_for_selector(f'{plot}[data-smooth][data-ink*="lo=80"]')
    ends = dict(part.split("=") for part in tab.get_attribute(plot, "data-smooth").split())
    total = mass = 0.0
    smooth = []
    for step in range(120):
        total, mass = total * 0.9 + 0.001 + 0.002 * max(0, step - 60), mass * 0.9 + 1
        smooth.append(total / mass)
    assert float(ends["first"]) == pytest.approx(smooth[80], rel=1e-5) and float(ends["last"]) == pytest.approx(
        smooth[119], rel=1e-5
    )
    tab.keyboard.press("z")
    tab.wait_for_selector(f'{plot}[data-ink*="lo=0"]')
    assert float(
        dict(part.split("=") for part in tab.get_attribute(plot, "data-smooth").split())["last"]
    ) == pytest.approx(smooth[119], rel=1e-5)


def test_normalised_the_axis_says_of_which_range_and_the_header_keeps_the_value(site: str, tab: Any) -> None:
    tab.goto(site + "r/sick/metrics?norm=1")
    card = '[data-metric="policy/kl_ref_k3"]'
    tab.wait_for_selector(f"{card} .plot[data-ink]")
    until(tab, f"document.querySelector('{card} .of').textContent.startsWith('observed range 0.001')")
    until(tab, f"document.querySelector('{card} .value').innerText.includes('0.119')")
    tab.hover(f"{card} .u-over", position={"x": 280, "y": 20})
    until(tab, f"/at step \\d+/.test(document.querySelector('{card} .value').textContent)")
    value = tab.inner_text(f"{card} .value b")
    assert 0.08 < float(value) < 0.12


def test_the_drawer_of_a_point_has_value_change_and_every_rank(tmp_path: Path, tab: Any) -> None:
    runs = [
        rs.init(project="p", name="many", id="many", dir=tmp_path, host=False, shard=shard, shards=3, resume="allow")
        for shard in range(3)
    ]
    for step in range(5):
        for shard, run in enumerate(runs):
            run.log({"policy/entropy": 1.0 + shard + step}, step=step)
            run.commit(step)
    for run in runs:
        run.finish()
    served = Served(tmp_path)
    try:
        tab.goto(served.url + "r/many/metrics?open=point:policy/entropy&step=4")
        tab.wait_for_selector(".drawer .ranks")
        for words in ("policy/entropy, step 4", "6 nats/token", "Change since 3", "+1 nats/token"):
            until(tab, f"document.querySelector('.drawer').innerText.includes('{words}')")
        assert [line.strip() for line in tab.inner_text(".ranks").splitlines() if "nats" in line] == [
            "5 nats/token",
            "6 nats/token",
            "7 nats/token",
        ]
        tab.close()
    finally:
        served.stop()
