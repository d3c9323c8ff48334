"""A run's facts and what it printed, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import COLLECT_TOASTS, Served, until

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for id, lr in (("first", 1e-3), ("second", 6e-4)):
        config = {"optim": {"lr": lr, "name": "adam"}, "seed": 3, "api_key": "hunter2", "text": HOSTILE}
        with rs.init(project="p", name=id, id=id, dir=tmp_path, host=False, config=config) as run:
            run.log({"reward/mean": 0.5}, step=0)
            for i in range(500):
                run.note(f"line {i} {HOSTILE if i == 7 else ''}", kind="output")
            run.commit(0)
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


def test_what_differs_comes_first_and_every_setting_can_be_found_and_copied(site: str, tab: Any) -> None:
    tab.goto(site + "r/second/facts")
    tab.wait_for_selector(".differs-table")
    assert tab.inner_text(".differs-table tbody").split() == ["optim.lr", "6e-4", "0.001"]
    config = tab.inner_text('[data-block="Configuration"]')
    assert "adam" in config and "[hidden]" in config and HOSTILE in config and "hunter2" not in config
    assert "python" in tab.inner_text('[data-block="Command and host"]')
    assert "numpy" in tab.inner_text('[data-block="Packages"]')
    tab.fill("[data-search]", "optim lr")
    until(tab, "!document.querySelector('[data-block=\"Packages\"]')")
    assert "adam" not in tab.inner_text('[data-block="Configuration"]')
    tab.evaluate(COLLECT_TOASTS)
    tab.click('[data-block="Configuration"] .value')
    until(tab, "window.toasts.some((words) => words.startsWith('Copied'))")
    assert float(tab.evaluate("navigator.clipboard.readText()")) == 6e-4
    assert tab.title() != "owned"


def test_the_output_is_searched_and_followed(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site + "r/second/console")
    tab.wait_for_selector('.output[data-lines="500"]')
    until(tab, "document.querySelector('.output').innerText.includes('line 499')")  # it begins at the end
    tab.fill("[data-search]", "line 7 ")
    tab.wait_for_selector('.output[data-lines="1"]')
    assert HOSTILE in tab.inner_text(".output") and tab.query_selector(".output img") is None
    tab.fill("[data-search]", "")
    until(tab, "document.documentElement.dataset.stream === 'mine'")
    with rs.init(project="p", id="second", dir=folder, host=False, resume=True) as run:
        run.note("a last word", kind="output")
        run.log({"reward/mean": 0.6}, step=1)
        run.commit(1)
        run.flush()
        tab.wait_for_selector('.output[data-lines="501"]')
    until(tab, "document.querySelector('.output').innerText.includes('a last word')")
