"""Sign-in in a browser: paste a token, see one's runs, share one, sign out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollscope.access import tokens
from rollscope.access.sqlite_book import SqliteBook
from tests.server.two_projects import OURS, THEIRS, record, token
from tests.web.conftest import Served, Watched, until

pytestmark = pytest.mark.browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "runs"
    record(folder)
    token(folder, "ours")
    served = Served(folder, "--sign-in")
    yield served.url, folder
    served.stop()


def test_a_person_signs_in_looks_shares_and_signs_out(browser: Any, site: tuple[str, Path]) -> None:
    url, folder = site
    text = token(folder, "ours", may="record")
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{url}r/{OURS}/metrics?x=time")
    assert page.url == f"{url}sign-in?to=r%2F{OURS}%2Fmetrics%3Fx%3Dtime"
    page.fill("#token", "rsk_wrong")
    page.click("button[type=submit]")
    until(page, "document.getElementById('says').textContent.includes('unknown')")
    page.fill("#token", text)
    page.keyboard.press("Enter")
    page.wait_for_selector('[data-metric="reward/mean"] .plot[data-ink]')
    assert page.url.startswith(f"{url}r/{OURS}/metrics") and text not in page.content()
    page.goto(url)
    page.wait_for_selector(f'a[href*="{OURS}"]')
    assert "zebra" not in page.content()
    page.click(".signed-in")
    page.wait_for_selector("#token")
    page.goto(url)
    assert page.url == f"{url}sign-in?to="

    _, shared = tokens.make(SqliteBook(str(folder)), "a link", (), "read", 1, (THEIRS,))
    page.goto(f"{url}sign-in#to=r%2F{THEIRS}&token={shared}", wait_until="commit")  # it leads on by itself
    page.wait_for_selector(".rail .foot")
    assert page.url.startswith(f"{url}r/{THEIRS}") and shared not in page.url
    assert not any(shared in asked or text in asked for asked in (r.partition("#")[0] for r in watched.requests))
    page.goto(f"{url}r/{THEIRS}/metrics")
    page.wait_for_selector('[data-metric="zebra/metric"]')
    tokens.revoke(SqliteBook(str(folder)), "a link", "root")
    # The next request leads to the sign-in page: a person's click, or one of the page's own.
    page.evaluate("""document.querySelector('.pages a[href*="rollouts"]')?.click()""")
    page.wait_for_selector("#token")
    watched.context.close()
