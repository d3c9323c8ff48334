"""What a page asks the server for, and what it does not ask again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.store.project.log import ProjectLog
from tests.web.conftest import Served, answer_late, until

PANELS = 30


def recorded(folder: Path, name: str, steps: int = 40) -> None:
    with rs.init(project="p", name=name, id=name, dir=folder, host=False) as run:
        for step in range(steps):
            run.log({f"custom/m{i}": step * (i + 1) for i in range(PANELS)}, step=step)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        recorded(tmp_path, name)
    for path in [*tmp_path.rglob("*"), tmp_path]:
        os.utime(path, (10**9, 10**9))  # long ago: the stream has nothing to tell of them
    panels = [{"id": str(i), "kind": "chart", "metrics": [f"custom/m{i}"]} for i in range(PANELS)]
    ProjectLog(str(tmp_path)).append("board", "thirty", {"panels": panels})
    return tmp_path


@pytest.fixture
def url(folder: Path) -> Any:
    served = Served(folder)
    yield served.url
    served.stop()


def test_a_run_that_comes_elsewhere_costs_no_series(folder: Path, url: str, tab: Any) -> None:
    asked: list[str] = []
    tab.goto(f"{url}r/one/metrics?q=m2&runs=two")
    tab.wait_for_selector('.plot[data-ink*="series=2"]')
    until(tab, "document.documentElement.dataset.stream === 'mine'")
    tab.wait_for_selector(".rail .run:has-text('two')")
    until(tab, "document.querySelectorAll('.plot').length === document.querySelectorAll('.plot[data-ink]').length")
    tab.on("request", lambda r: asked.append(r.url))
    recorded(folder, "three", 2)
    tab.wait_for_selector(".rail .run:has-text('three')", timeout=60_000)
    tab.reload()  # what the event led to has left by then
    asked = asked[: asked.index(next(address for address in asked if address.endswith("/metrics?q=m2&runs=two")))]
    assert not [address for address in asked if address.endswith("/series")]


def test_the_bar_counts_steps_and_numbers_them(url: str, tab: Any) -> None:
    tab.goto(f"{url}r/one/metrics")
    tab.wait_for_selector(".bar .state:has-text('40 steps (0 to 39)')")
    until(tab, "/step\\s+39/.test(document.querySelector('.bar .at').innerText)")


def test_a_board_of_thirty_panels_asks_for_a_screen_at_a_time(url: str, tab: Any) -> None:
    asked: list[list[str]] = []
    tab.on("request", lambda r: asked.append(r.post_data_json["names"]) if r.url.endswith("/series") else None)
    tab.goto(f"{url}r/one/metrics?board=thirty")
    tab.wait_for_selector('.panel[data-panel="0"] .plot[data-ink]')
    until(tab, "[...document.querySelectorAll('.panel .plot')].filter((p) => p.dataset.ink).length >= 12")
    assert len(asked) <= 4
    names = [name for names in asked for name in names]
    assert len(names) == len(set(names)), "no series is asked for twice"


PAGES = [
    "",
    *("r/one", "r/one/metrics", "r/one/system", "r/one/evals", "r/one/findings"),
    *("r/one/timeline", "r/one/timeline?step=3", "r/one/timeline?step=3&view=0.5-2.25"),
]
BEGUN = "[...document.querySelectorAll('link[rel=preload][as=fetch]')].map((link) => link.href)"
HERE = f"{BEGUN}.every((one) => performance.getEntriesByName(one).some((entry) => entry.responseEnd > 0))"


def test_what_a_page_begins_before_its_modules_is_what_they_ask(url: str, tab: Any) -> None:
    """An address that differs by one sign from what a module asks would be asked twice."""
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for page in PAGES:
        tab.goto("about:blank")  # what the page before asked has been heard of
        asked.clear()
        tab.goto(url + page)
        until(tab, "document.querySelector('#page')?.innerText.length > 3")
        until(tab, HERE)
        begun = tab.evaluate(BEGUN)
        assert begun
        ways = {one.partition("?")[0] for one in begun}
        assert {one for one in asked if one.partition("?")[0] in ways} == {*begun}, page


def test_names_of_a_run_that_left_the_charts_do_not_come_late(folder: Path, url: str, tab: Any) -> None:
    with rs.init(project="p", name="more", id="more", dir=folder, host=False) as run:
        run.log({"custom/only_here": 1.0}, step=0)
    held: list[Any] = []
    tab.route("**/runs/more/names", lambda route: held.append(route))
    tab.goto(f"{url}r/one/metrics")
    tab.wait_for_selector(".plot[data-ink]")
    with tab.expect_request("**/runs/more/names"):
        tab.click('.rail button[aria-label$="more on charts"]')
    tab.click('.rail button[aria-label$="more on charts"]')
    until(tab, "!location.search.includes('more')")
    answer_late(tab, held[0])
    assert not tab.query_selector_all('[data-metric="custom/only_here"]')
