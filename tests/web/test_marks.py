"""Label ten samples, collect them, find them again and take them away, in a real browser."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, until
from tests.web.rollout_runs import record

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record(tmp_path)
    return tmp_path


@pytest.fixture
def rolls(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


def taken(tab: Any, menu: str, format: str) -> Path:
    with tab.expect_download() as waiting:
        tab.select_option(menu, format)
    return Path(waiting.value.path())


def test_ten_samples_are_labelled_and_exported(folder: Path, rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=20&view=all")
    tab.wait_for_selector("[data-sample] .conversation")
    wanted = [f"s20.{task}.{repeat}" for task in (0, 1) for repeat in range(5)]
    for n, id in enumerate(wanted, 1):
        tab.goto(f"{rolls}r/rolls/rollouts?step=20&view=all&group=g20.{id.split('.')[1]}&sample={id}")
        tab.wait_for_selector(f'[data-sample="{id}"] .conversation')
        tab.keyboard.press("a")
        tab.wait_for_selector(f'.mark-panel:has-text("{id}") input')
        until(tab, "document.activeElement.matches('.mark-panel input')")
        for form, word in ((1, "odd answer"), (2, "to grade")):
            tab.fill(f".mark-panel form:nth-of-type({form}) input", word)
            tab.press(f".mark-panel form:nth-of-type({form}) input", "Enter")
            tab.wait_for_selector(f'[data-sample="{id}"] .marks .word:has-text("{word}")')
        until(tab, f"document.querySelector('[role=tab]:nth-of-type(3)').textContent.includes('{n}')")
        tab.wait_for_selector(f'[data-sample="{id}"] .marks .word:has-text("in to grade")')
    tab.wait_for_selector('[data-done]:has-text("Put 1 sample into")')  # an event may have shown the mark before
    tab.click("[data-done] .link:first-of-type")  # Undo: the last one leaves the set
    until(tab, "!document.querySelector('[data-sample] .marks').textContent.includes('to grade')")
    assert len(rs.open(folder).sets()["to grade"]) == 9
    tab.keyboard.press("Escape")
    tab.keyboard.press("b")
    tab.wait_for_selector(".star.on")

    tab.click("[role=tab]:has-text('Marked')")
    until(tab, "document.querySelector('#marked')?.dataset.count === '10'")
    lines = taken(tab, "[data-set='to grade'] select", "jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == wanted[:9]
    assert all(json.loads(line)["labels"] == ["odd answer"] for line in lines)
    with zipfile.ZipFile(taken(tab, "[data-set='to grade'] select", "hf")) as archive:
        assert "README.md" in archive.namelist()
    assert len(json.loads(taken(tab, "[data-set='to grade'] select", "inspect").read_text())["samples"]) == 9

    tab.fill("[data-search]", "star:yes")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('#marked')?.dataset.count === '1'")
    assert tab.get_attribute("[data-marked]", "data-marked") == wanted[9]
    tab.click("[role=tab]:has-text('Groups')")  # the same word filters the groups of the step
    until(tab, "document.querySelectorAll('#groups [data-group]').length === 1")


def test_a_label_with_a_slash_is_refused_with_a_sentence(rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=20&group=g20.1")
    tab.wait_for_selector("[data-sample] .conversation")
    tab.click(".marks .link")
    tab.fill(".mark-panel form:nth-of-type(1) input", "a/b")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('.mark-panel [role="alert"]:has-text("slash")')


def test_hits_have_prompts_counts_a_strip_and_files(folder: Path, rolls: str, tab: Any) -> None:
    found = [
        hit for batch in rs.open(folder).run("rolls").search_batches("think again", ignore_case=True) for hit in batch
    ]
    tab.goto(f"{rolls}r/rolls/rollouts?q=%22think%20again%22")
    tab.wait_for_selector('[data-search-state="all"]')
    until(tab, "document.querySelector('[data-hit] [data-prompt]').textContent.includes('Using')")
    counts = tab.inner_text('[aria-label="which samples"]').split("\n")
    by_fate = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in counts}
    assert by_fate["Trained"] + by_fate["Dropped"] == by_fate["All"] == len({hit.id for hit in found})
    strip = tab.get_attribute(".strip.hits", "data-ink")
    assert strip == f"steps=40 hits={by_fate['All']}"
    tab.click("[aria-label='which samples'] button:has-text('Dropped')")
    until(tab, f"document.querySelector('[data-search-state]').textContent.includes('{by_fate['Dropped']} ')")
    rows = list(csv.DictReader(taken(tab, ".foot select", "csv").read_text().splitlines()))
    assert len(rows) == by_fate["Dropped"] and all("think again" in row["completion"] for row in rows)
    tab.click(".foot .link")  # mark them all
    tab.fill(".mark-panel form:nth-of-type(1) input", "rambles")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[data-done]:has-text('Labelled')")
    assert len(rs.open(folder).sample_marks("rolls")) == by_fate["Dropped"]


def test_why_compares_a_range_before_with_a_range_after(folder: Path, rolls: str, tab: Any) -> None:
    tab.goto(f"{rolls}r/rolls/rollouts?step=35&view=all")
    tab.wait_for_selector(".side .why[data-why]")
    tab.click(".side .why .link:has-text('Compare ranges')")
    tab.wait_for_selector(".side .why h2:has-text('16–25 → 26–35')")
    tab.fill("[aria-label='Steps before']", "20-29")
    tab.keyboard.press("Tab")
    tab.wait_for_selector(".side .why h2:has-text('20–29 → 26–35')")
    why = rs.open(folder).run("rolls").why("reward/mean", (26, 35), (20, 29))
    until(tab, f"Math.abs(Number(document.querySelector('.side .whylist').dataset.sum) - {why.change}) < 1e-6")
    assert "why=20-29,26-35" in tab.evaluate("location.href")
    tab.reload()  # as somebody sees it who was sent the link
    tab.wait_for_selector(".side .why h2:has-text('20–29 → 26–35')")
    tab.fill("[aria-label='Steps before']", "soon")
    tab.keyboard.press("Tab")
    tab.wait_for_selector(".why-ranges [role='alert']")
