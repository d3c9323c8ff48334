"""Findings as a chain on the tape's x, a cause opened, a run asked to stop; failures by cause."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.notify.stop import requested
from tests.web.conftest import Served, until

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> failed"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that goes on and hears: entropy collapses at step 60, reward falls at 80."""
    folder = tmp_path_factory.mktemp("chain")
    run = rs.init(name="chain", id="chain", dir=folder, algorithm="grpo", host=False)
    for step in range(140):
        entropy = 0.8 if step < 60 else max(0.01, 0.8 * math.exp(-(step - 60) / 5))
        reward = 0.2 + 0.005 * min(step, 80) + 0.01 * math.sin(step * 7) - 0.008 * max(0, step - 80)
        run.log({"policy/entropy": entropy, "reward/generated/mean": reward}, step=step)
        run.commit(step)
    run.should_stop(139)
    run.flush()
    with rs.init(name="broken", id="broken", dir=folder, algorithm="grpo", host=False) as broken:
        for step in range(70):
            rows = [{"id": f"{step}-{i}", "task": f"t{i}", "reward": 0.0, "trained": True} for i in range(4)]
            broken.log_samples([row | {"error": HOSTILE if 20 <= step < 26 else None} for row in rows], step=step)
    yield folder
    run.finish()


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    served = Served(folder)
    yield served.url
    served.stop()


def test_the_chart_of_a_finding_marks_its_own_stretch_alone(site: str, tab: Any) -> None:
    tab.goto(site + "r/chain/findings")
    tab.wait_for_selector(".finding .plot[data-ink]")
    plots = "[...document.querySelectorAll('.finding .plot[data-ink]')]"
    until(tab, f"{plots}.length && {plots}.every((plot) => /marked=1\\b/.test(plot.dataset.ink))")


# The first finding of the chain stands on the tape's x.
ON_THE_TAPE = """(() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const step = Number(document.querySelector(".chain .onset").textContent);
  const { x, width } = box(".tape");
  return Math.abs(box(".chain circle").x + 3 - (x + 20 + ((width - 40) * 0.91 * step) / 139)) < 4;
})()"""


def test_the_chain_shows_the_cause_first_and_what_follows_below_it(site: str, tab: Any) -> None:
    tab.goto(site + "r/chain/findings")
    tab.wait_for_selector(".chain .link")
    assert tab.inner_text("h1").startswith("Entropy collapsed")
    tab.wait_for_selector('.card [data-finding="reward-falling"]')
    assert tab.get_attribute(".card [data-finding] >> nth=0", "data-finding") == "entropy-collapse"
    tab.wait_for_selector(".verdict >> text=one cause")
    tab.wait_for_selector(".chain .elbow", state="attached")
    until(tab, ON_THE_TAPE)
    tab.wait_for_selector(".rule-names.skipped >> text=needs >> nth=0")
    tab.wait_for_selector(".cause-columns .checks li")


def test_a_run_is_asked_to_stop_after_a_question(site: str, folder: Path, tab: Any) -> None:
    tab.goto(site + "r/chain/findings")
    tab.click("text=Stop the run")
    tab.click("text=Cancel")
    assert requested(rs.open(folder).run("chain")) is None
    tab.click("text=Stop the run")
    tab.click("text=Stop it")
    until(tab, "document.body.innerText.includes('asked to stop') || document.body.innerText.includes('stops at its')")
    request = requested(rs.open(folder).run("chain"))
    assert request is not None and request.why.startswith("Entropy collapsed since step")


def test_failures_are_drawn_by_cause_and_their_text_is_text(site: str, tab: Any) -> None:
    tab.goto(site + "r/broken/environment")
    tab.wait_for_selector(".env-causes code")
    assert "<img src=x" in tab.inner_text(".env-causes code") and tab.title() != "owned"
    assert tab.inner_text(".env-causes .bad") == "24"
    until(tab, "document.querySelector('h1').innerText.includes('trained on as zeros')")
    until(tab, "document.querySelectorAll('.env-block .column').length === 70")
