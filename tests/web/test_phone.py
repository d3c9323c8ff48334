"""A phone, and a window at 200 %: every page can be reached, and the bar stays whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.web.conftest import Watched, until

pytestmark = pytest.mark.browser
PAGES = (
    *("overview", "metrics", "rollouts", "timeline", "system", "environment", "evals", "compare"),
    *("findings", "glossary", "sql", "facts", "console"),
)


def test_every_page_is_reached_by_touch_on_a_phone(site: str, browser: Any) -> None:
    watched = Watched(browser, viewport={"width": 400, "height": 844}, has_touch=True)
    page = watched.page
    page.goto(site + "r/grpo-6/overview")
    for name in PAGES:
        page.tap(".rail .more")
        page.tap(f'.all-pages a[href*="/r/grpo-6/{name}"]')
        page.wait_for_selector(f'#page[data-page="{name}"]')
        page.wait_for_selector(".all-pages", state="detached")  # a tap is a click a little later
    page.tap(".rail .more")
    page.tap(".sheet .seg button:has-text('tokens')")
    until(page, "location.search.includes('x=tokens')")
    watched.context.close()
    assert watched.errors == []


@pytest.mark.parametrize(("width", "run"), [(720, "grpo-6"), (720, "ppo-critic"), (960, "ppo-critic")])
def test_the_bar_is_whole_at_twice_the_size(site: str, browser: Any, width: int, run: str) -> None:
    watched = Watched(browser, viewport={"width": width, "height": 450})
    watched.page.goto(site + f"r/{run}/overview")
    watched.page.wait_for_selector(".bar .at")
    outside = """[...document.querySelectorAll('.bar > *')].filter((e) => {
      const { left, right } = e.getBoundingClientRect();
      return right > innerWidth + 0.5 || left < 0;
    }).map((e) => e.className)"""
    assert watched.page.evaluate(outside) == []
    boxes = watched.page.evaluate(
        "[...document.querySelectorAll('.bar > :not(.gap)')].map(e => e.getBoundingClientRect())"
        ".filter(r => r.width).map(r => [r.left, r.right])"
    )
    assert all(a[1] <= b[0] + 0.5 for a, b in pairwise(boxes)), "nothing covers another"
    watched.context.close()
