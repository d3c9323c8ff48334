"""A chart to take away: SVG and PNG that can be printed, and CSV of exactly what is shown."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, ink, until

pytestmark = pytest.mark.browser
VALUES = [0.1, 0.4, 0.2, 0.9, 0.5]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    for id in ("a", "b"):
        with rs.init(project="p", name=f"{id} & <co>", id=id, dir=tmp_path, host=False) as run:
            for step, value in enumerate(VALUES):
                more = {f"many/m{i:02d}": value + i for i in range(60)}
                run.log({"reward/mean": value + (id == "b"), **more}, step=step)
                run.commit(step)
    served = Served(tmp_path)
    yield served.url
    served.stop()


CARD = '[data-metric="reward/mean"]'


def menu(tab: Any) -> None:
    """Open the menu of the card. Focus keeps it where a pointer loses it to a new layout."""
    tab.focus(CARD)
    tab.click(f'{CARD} [aria-label="Take it with you"]')


def taken(tab: Any, what: str) -> bytes:
    menu(tab)
    with tab.expect_download() as download:
        tab.click(f'{CARD} [role="menuitem"]:text-is("{what}")')
    return Path(download.value.path()).read_bytes()


def test_an_svg_has_title_axes_legend_and_the_numbers(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?runs=b&q=reward/mean")
    tab.wait_for_selector(f'{CARD} .plot[data-ink^="series=2"]')
    svg = ET.fromstring(taken(tab, "SVG").decode())
    names = {"s": "http://www.w3.org/2000/svg"}
    words = [text.text for text in svg.findall("s:text", names)]
    assert "step" in words and "a & <co>" in words and "b & <co>" in words
    lines = {line.get("data-run"): line for line in svg.findall("s:path[@class='series']", names)}
    assert set(lines) == {"a", "b"} and lines["a"].get("stroke") != lines["b"].get("stroke")
    ticks = {
        float(t.text): float(t.get("y") or 0) - 4 for t in svg.findall("s:text[@text-anchor='end']", names) if t.text
    }
    (low, y_low), (high, y_high) = min(ticks.items()), max(ticks.items())
    for id, line in lines.items():
        points = [tuple(map(float, xy)) for xy in re.findall(r"[ML]([\d.]+) ([\d.]+)", line.get("d") or "")]
        read = [low + (y - y_low) / (y_high - y_low) * (high - low) for _, y in points]
        assert read == pytest.approx([v + (id == "b") for v in VALUES], abs=0.005)


def test_a_png_is_an_image_and_the_csv_of_a_chart_has_its_points(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?runs=b&q=reward/mean")
    tab.wait_for_selector(f'{CARD} .plot[data-ink^="series=2"]')
    assert taken(tab, "PNG").startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO(taken(tab, "CSV").decode())))
    assert [float(row["mean"]) for row in rows if row["run"] == "a"] == pytest.approx(VALUES)
    assert {row["run"] for row in rows} == {"a", "b"} and {row["metric"] for row in rows} == {"reward/mean"}


def test_the_csv_of_the_page_leaves_no_metric_run_or_step_out(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?runs=b&q=many/*&range=1-3")
    ink(tab, "many/m00")
    with tab.expect_download() as download:
        tab.click('.toolbar button:has-text("CSV")')
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert {row["name"] for row in rows} == {f"many/m{i:02d}" for i in range(60)}
    assert {row["run"] for row in rows} == {"a", "b"} and {row["step"] for row in rows} == {"1", "2", "3"}
    one = [float(row["value"]) for row in rows if row["name"] == "many/m07" and row["run"] == "b"]
    assert one == pytest.approx([v + 7 for v in VALUES[1:4]])


def test_a_chart_is_copied_as_an_image(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?q=reward/mean")
    ink(tab, "reward/mean")
    menu(tab)
    tab.click('[role="menuitem"]:text-is("Copy image")')
    until(tab, "toasts.includes('Image copied')")
    kinds = tab.evaluate("navigator.clipboard.read().then(items => items.flatMap(item => item.types))")
    assert kinds == ["image/png"]


def test_metrics_are_found_by_pattern_and_expression(site: str, tab: Any) -> None:
    tab.goto(site + "r/a/metrics?q=many/m0*")
    tab.wait_for_selector(".count:text-is('10 of 61')")
    tab.fill("[data-search]", "/m5[0-3]$/")
    tab.wait_for_selector(".count:text-is('4 of 61')")
