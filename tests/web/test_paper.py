"""A page on paper: every chart is drawn, also far below the view, in light colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, until

CARDS = 120
BLANK = "[...document.querySelectorAll('.metrics .plot')].filter((p) => !p.dataset.ink).length"
ALL = f"document.querySelectorAll('.metrics .plot').length === {CARDS} && {BLANK} === 0"
DARK_INK = """() => {
  const canvas = [...document.querySelectorAll('.metrics .plot canvas')].at(-1);
  const { width, height } = canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
  let darkest = 255;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) darkest = Math.min(darkest, data[i]);
  return darkest;
}"""


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("paper")
    with rs.init(project="p", name="r", id="r", dir=folder, host=False) as run:
        for step in range(30):
            run.log({f"custom/m{i:03d}": step * i for i in range(CARDS)}, step=step)
    served = Served(folder)
    yield served.url
    served.stop()


def test_the_whole_page_is_drawn_before_it_is_printed(long_page: str, tab: Any) -> None:
    tab.add_init_script(f"window.print = () => {{ window.printed = {ALL}; window.wide = innerWidth }}")
    tab.add_init_script("localStorage.setItem('rollscope.theme', 'dark')")
    tab.goto(f"{long_page}r/r/metrics")
    tab.wait_for_selector(".plot[data-ink]")
    assert tab.evaluate("document.querySelectorAll('.metrics .plot').length") < CARDS
    tab.keyboard.press("Control+p")
    until(tab, "window.printed !== undefined")
    assert tab.evaluate("window.printed"), "a chart was blank when the page was printed"
    until(tab, f"document.querySelectorAll('.plot canvas').length < {CARDS / 2}")  # far ones are given back
    until(tab, "document.documentElement.dataset.theme === 'dark'")


def test_a_page_looked_at_as_on_paper_has_ink_for_light_paper(long_page: str, tab: Any) -> None:
    tab.emulate_media(color_scheme="dark")
    tab.goto(f"{long_page}r/r/metrics")
    tab.wait_for_selector(".plot[data-ink]")
    tab.emulate_media(media="print", color_scheme="dark")
    until(tab, ALL)
    assert tab.evaluate(DARK_INK) < 120, "light ink on light paper cannot be read"
    until(  # the first cards were drawn for the screen
        tab,
        "((width, card) => card * 0.8 < width && width <= card)("
        "document.querySelector('.plot canvas').getBoundingClientRect().width,"
        " document.querySelector('.card.chart').getBoundingClientRect().width)",
    )
    pdf = tab.pdf()
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 3 or len(pdf) > 100_000
