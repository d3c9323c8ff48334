"""Charts by their pixels: a gap is empty, an infinity empties no chart, a spike is not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, ink

pytestmark = pytest.mark.browser

COLUMNS = """(metric) => {
  const canvas = document.querySelector(`[data-metric="${metric}"] canvas`);
  const ctx = canvas.getContext("2d");
  const { width, height } = canvas;
  const data = ctx.getImageData(0, 0, width, height).data;
  const out = [];
  for (let x = 0; x < width; x++) {
    let n = 0, top = -1;
    for (let y = 8; y < height - 24; y++) {
      const i = (y * width + x) * 4;
      const [r, g, b, a] = [data[i], data[i + 1], data[i + 2], data[i + 3]];
      if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 60) { n++; if (top < 0) top = y; }
    }
    out.push([n, top]);
  }
  return out;
}"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("pixels")
    with rs.init(project="p", name="odd", id="odd", dir=folder, host=False) as run:
        for step in range(200):
            metrics = {
                "one/gap": 1.0 + step % 2,
                "one/inf": float("inf") if step == 100 else 1.0 + step / 200,
                "one/spike": 50.0 if step == 77 else 1.0,
                "one/constant": 0.25,
                "one/nan": float("nan") if step % 50 == 0 else 2.0 + step % 3,
            }
            if 80 <= step < 120:
                del metrics["one/gap"]
            run.log(metrics, step=step)
    served = Served(folder)
    yield served.url
    served.stop()


def columns(tab: Any, metric: str) -> list[list[int]]:
    pixels: list[list[int]] = tab.evaluate(COLUMNS, metric)
    return pixels


def test_a_gap_has_no_ink(drawn: str, tab: Any) -> None:
    tab.goto(drawn + "r/odd/metrics?step=0")
    assert ink(tab, "one/gap")["gaps"] == 1
    pixels = columns(tab, "one/gap")
    at = lambda step: pixels[round(step / 199 * (len(pixels) - 5))][0]  # noqa: E731
    assert all(at(step) == 0 for step in range(84, 117))
    assert sum(at(step) > 0 for step in range(20, 70)) > 45


def test_an_infinity_does_not_empty_a_chart(drawn: str, tab: Any) -> None:
    tab.goto(drawn + "r/odd/metrics")
    assert ink(tab, "one/inf")["inf"] == 1
    pixels = columns(tab, "one/inf")
    assert sum(n > 0 for n, _ in pixels) > len(pixels) * 0.8
    assert "1 Inf" in tab.inner_text('[data-metric="one/inf"] .value')


def test_nan_is_marked_and_counted(drawn: str, tab: Any) -> None:
    tab.goto(drawn + "r/odd/metrics")
    assert ink(tab, "one/nan")["nan"] == 4
    assert "4 NaN" in tab.inner_text('[data-metric="one/nan"] .value')


def test_one_spike_reaches_the_top(drawn: str, tab: Any) -> None:
    tab.goto(drawn + "r/odd/metrics?step=0")
    ink(tab, "one/spike")
    pixels = columns(tab, "one/spike")
    tops = [top for n, top in pixels if n]
    assert min(tops) < 25


def test_a_constant_says_so_and_has_sane_ticks(drawn: str, tab: Any) -> None:
    tab.goto(drawn + "r/odd/metrics")
    ink(tab, "one/constant")
    assert "constant" in tab.inner_text('[data-metric="one/constant"] .value')
