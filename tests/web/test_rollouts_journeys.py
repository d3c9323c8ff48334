"""The journeys of Rollouts, each on a real training and on a very large run.

The large run has a step of 10,000 samples of 20 kB and a completion of 10 MB. The expected answers
come from the store in Python, not from the page.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import rollscope as rs
from rollscope.views.samples.prompts import prompts
from tests.web.conftest import PATIENCE, Served, ink, until
from tests.web.journey_runs import LONG, PHRASE, WIDE

pytestmark = pytest.mark.browser
MAKE = Path(__file__).with_name("journey_runs.py")


@dataclass
class Site:
    """A served store: its address, a run, a run with tools, and a phrase of some samples."""

    url: str
    run: Any
    tools: Any
    phrase: str


@pytest.fixture(scope="module", params=["trained", "large"])
def at(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if request.param == "trained":
        pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp(request.param)
    subprocess.run([sys.executable, str(MAKE), request.param, str(folder)], check=True)
    store = rs.open(folder)
    served = Served(folder)
    if request.param == "large":
        yield Site(served.url, store.run("large"), store.run("large"), PHRASE)
    else:
        yield Site(served.url, store.run("countdown"), store.run("tools"), "+4")
    served.stop()


def fall(run: Any) -> int:
    """The step at which the reward fell most."""
    series = run.series("reward/generated/mean")
    return int(series["step"][1 + int(np.argmin(np.diff(series["value"])))])


def texts(run: Any) -> dict[str, str]:
    """All texts of each sample, by id."""
    rows = run.samples(columns=["id", "prompt", "completion", "messages", "answer"])
    out = {
        id: "\n".join(str(rows[c][i] or "") for c in ("prompt", "completion", "messages", "answer"))
        for i, id in enumerate(rows["id"])
    }
    turns = run.turns()
    for i, id in enumerate(turns["sample"]):
        out[id] += "\n" + "\n".join(str(turns[c][i] or "") for c in ("content", "arguments", "result"))
    return out


def shows(tab: Any, ids: Any) -> None:
    """Wait until the first sample on the screen is one of these: an old step stays for a while."""
    first = "document.querySelector('[data-sample]')?.dataset.sample"
    until(tab, f"{json.dumps(sorted(map(str, ids)))}.includes({first})")


def test_four_clicks_from_the_falling_reward_to_the_words_of_the_worst_group(at: Site, tab: Any) -> None:
    step = fall(at.run)
    worst = min(at.run.why("reward/generated/mean", step).parts, key=lambda p: p.adds)
    clicks = 0

    def click(where: str, **more: Any) -> None:
        nonlocal clicks
        clicks += 1
        tab.click(where, **more)

    tab.goto(f"{at.url}r/{at.run.id}/overview")
    tab.wait_for_selector("text=Metrics")
    click("nav >> text=/^Metrics/")
    ink(tab, "reward/generated/mean")
    plot = '[data-metric="reward/generated/mean"] .u-over'
    box = tab.locator(plot).first.bounding_box()
    last = httpx.get(f"{at.url}api/runs/{at.run.id}/tape", timeout=PATIENCE).json()["last"]
    click(plot, position={"x": box["width"] * min(0.998, step / last), "y": box["height"] / 2})
    tab.wait_for_selector(f'.drawer .why[data-why="{step}"] .whylist button')
    click(f'.drawer .whylist button[title^="{worst.group}:"]')
    until(tab, f"document.querySelector('.group.at')?.dataset.group === {worst.group!r}")
    members = at.run.samples(step=step, where=f"\"group\" = '{worst.group}'", columns=["id", "reward", "completion"])
    shows(tab, members["id"][members["reward"] == members["reward"].min()])
    tab.wait_for_selector("[data-sample] .conversation")
    until(tab, "document.querySelector('[data-sample] .written .ink').innerText.trim() !== ''")
    text = tab.inner_text("[data-sample] .written .ink")
    assert text.strip()[:40] in {str(c).strip()[:40] for c in members["completion"]} or "turns" in tab.inner_text(
        "[data-sample]"
    )
    assert clicks <= 4


def test_every_sample_that_contains_a_phrase(at: Site, tab: Any) -> None:
    expected = {id for id, text in texts(at.run).items() if at.phrase.lower() in text.lower()}
    assert expected
    tab.goto(f"{at.url}r/{at.run.id}/rollouts")
    tab.wait_for_selector("#groups .group")
    tab.keyboard.press("/")
    tab.keyboard.type(at.phrase)
    tab.keyboard.press("Enter")
    tab.wait_for_selector('[data-search-state="all"]')
    found = tab.inner_text('[data-search-state="all"]').split()[0]
    assert int(found.replace(",", "")) == len(expected)
    assert set(tab.evaluate("[...document.querySelectorAll('[data-hit]')].map(e => e.dataset.hit)")) <= expected
    hit = tab.get_attribute("[data-hit].at", "data-hit")
    tab.wait_for_selector(f'[data-sample="{hit}"] .conversation')
    text = f"document.querySelector('[data-sample=\"{hit}\"]').innerText"
    until(tab, f"{text}.includes({json.dumps(at.phrase)})")


def test_the_dropped_groups_and_why_they_were(at: Site, tab: Any) -> None:
    rows = at.run.samples(columns=["step", "group", "task", "id", "trained", "discard_reason", "split"])
    dropped = [
        i
        for i in range(len(rows["id"]))
        if rows["split"][i] != "eval" and rows["trained"][i] is not None and not rows["trained"][i]
    ]
    step = max(rows["step"][i] for i in dropped)
    here = [i for i in dropped if rows["step"][i] == step]
    tab.goto(f"{at.url}r/{at.run.id}/rollouts?step={step}")
    tab.wait_for_selector("#groups .group")
    tab.click("text=/^Dropped/")
    groups = {rows["group"][i] for i in here}
    tab.wait_for_selector(f'#groups[data-count="{len(groups)}"]')
    shown = {
        line.rsplit(" ", 1)[0].strip(): int(line.rsplit(" ", 1)[1].replace(",", ""))
        for line in tab.evaluate(
            "[...document.querySelectorAll('.word.reason')].map(e => e.innerText.replace(/\\s+/g, ' '))"
        )
    }
    assert shown == {
        reason.replace("_", " "): n for reason, n in Counter(rows["discard_reason"][i] for i in here).items()
    }
    reason = Counter(rows["discard_reason"][i] for i in here).most_common()[-1][0]
    tab.click(f"text=/^{reason.replace('_', ' ')} /")
    tab.wait_for_selector(
        f'#groups[data-count="{len({rows["group"][i] for i in here if rows["discard_reason"][i] == reason})}"]'
    )
    assert reason.replace("_", " ") in tab.inner_text("#groups .group .tag")


def test_a_prompt_that_was_solved_and_forgotten(at: Site, tab: Any) -> None:
    history = prompts(at.run)
    counts = Counter(history["status"])
    assert at.run.id != "large" or counts["forgotten"] == 2
    tab.goto(f"{at.url}r/{at.run.id}/rollouts?view=prompts")
    for word, status in (("Solved", "solved"), ("Forgotten", "forgotten"), ("Never", "never")):
        tab.wait_for_selector(f"text=/^{word} {counts[status]}$/")
    status = "forgotten" if counts["forgotten"] else "solved"
    tab.click(f"text=/^{status.capitalize()}/")
    task = tab.get_attribute("#prompts .prompt >> nth=0", "data-task")
    assert history["status"][list(history["task"]).index(task)] == status
    tab.click(f"#prompts .prompt[data-task={json.dumps(task)}]")
    until(tab, "location.search.includes('group=')")
    tab.wait_for_selector(f"#prompts .prompt.at[data-task={json.dumps(task)}]")
    rows = at.run.samples(columns=["id", "task"])
    shows(tab, rows["id"][rows["task"] == task])
    tab.wait_for_selector("[data-sample] .conversation")
    tab.wait_for_selector(".visit >> nth=0")
    tab.click(".visit >> nth=0")
    tab.wait_for_selector(".visit.at")


def test_two_samples_are_compared(at: Site, tab: Any) -> None:
    step = WIDE if at.run.id == "large" else fall(at.run)
    tab.goto(f"{at.url}r/{at.run.id}/rollouts?step={step}&view=n2")
    until(tab, "document.querySelectorAll('[data-sample] .conversation').length === 2")
    tab.keyboard.press("d")
    tab.wait_for_selector(".differs")
    full, common = (tab.evaluate(WRITTEN, leave) for leave in ("nothing", ".differs"))
    assert full[0] != full[1] and common[0] == common[1] != ""  # without the underlined words they are equal


# What the policy wrote in each column, without the elements of a selector.
WRITTEN = """(leave) => {
  const text = (element) => {
    const copy = element.cloneNode(true);
    for (const left of copy.querySelectorAll(leave)) left.remove();
    return copy.textContent;
  };
  const columns = [...document.querySelectorAll('[data-sample]')];
  return columns.map((column) => [...column.querySelectorAll('.written .ink')].map(text).join('\\n'));
}"""


def test_a_tool_call_that_failed(at: Site, tab: Any) -> None:
    calls = at.tools.turns()
    failed = [
        i for i in range(len(calls["sample"])) if calls["tool"][i] and calls["ok"][i] is not None and not calls["ok"][i]
    ]
    about = at.tools.samples(ids=[calls["sample"][i] for i in failed], columns=["id", "step", "split"])
    training = {
        id: step for id, step, split in zip(about["id"], about["step"], about["split"], strict=True) if split != "eval"
    }
    step = max(training.values())
    tab.goto(f"{at.url}r/{at.tools.id}/rollouts?step={step}&view=all")
    tab.wait_for_selector("#groups .group")
    tab.fill("[data-search]", "failures>0")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".word.filter")
    shows(tab, [id for id in training if training[id] == step])
    sample = tab.get_attribute("[data-sample]:has(.call.failed)", "data-sample")
    call = f'[data-sample="{sample}"] .call.failed'
    assert training[sample] == step and "failed" in tab.inner_text(call)
    tab.click(f"{call} >> nth=0 >> summary")
    result = next(str(calls["result"][i] or calls["content"][i] or "") for i in failed if calls["sample"][i] == sample)
    until(
        tab,
        f"document.querySelector('.call.failed[open]')?.innerText.includes({json.dumps(result.splitlines()[0].strip()[:30])})",
    )


@pytest.mark.parametrize("at", ["large"], indirect=True)
def test_ten_thousand_samples_of_20_kb_and_ten_megabytes(at: Site, tab: Any) -> None:
    """Few rows are elements, the first words come with the sample, the rest follows.

    The seconds are measured in bench/web.
    """
    tab.goto(f"{at.url}r/large/rollouts?step={WIDE}&view=all")
    tab.wait_for_selector('#groups[data-count="1250"] .group')
    assert tab.evaluate("document.querySelectorAll('.group').length") < 40
    tab.evaluate("document.querySelector('#groups').scrollTop = 1e6")
    until(tab, "document.querySelector('#groups .group:last-child').textContent.includes('Using the numbers')")
    until(tab, "document.querySelector('[data-sample] .written .ink').innerText.length > 4000")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector('[data-sample="long"] .textblock')
    tab.wait_for_selector("[data-sample=long] [data-whole]")
    assert tab.evaluate("document.querySelector('[data-sample=long] .written .ink').textContent.length") == 25 * 400_000
    assert (
        tab.evaluate(
            "getComputedStyle(document.querySelector('[data-sample=long] .written .textblock')).contentVisibility"
        )
        == "auto"
    )
    assert f"step={LONG}" in tab.evaluate("location.search")


# Counts in window.drawn how often the line above the hits changes.
COUNT_DRAWINGS = """() => {
  window.drawn = 0;
  const counts = (change) => change.target.parentElement?.matches('[data-search-state]');
  new MutationObserver((changes) => { window.drawn += changes.filter(counts).length; })
    .observe(document.querySelector('.left'), { characterData: true, subtree: true });
}"""


@pytest.mark.parametrize("at", ["large"], indirect=True)
def test_ten_thousand_hits_are_drawn_as_they_come_together(at: Site, tab: Any) -> None:
    """Drawing the list for every hit would block the page for seconds. This counts the drawings."""
    tab.goto(f"{at.url}r/large/rollouts?step=3")
    tab.wait_for_selector("#groups .group")
    tab.evaluate(COUNT_DRAWINGS)
    tab.fill("[data-search]", "Sample")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('[data-search-state="cut"]')
    assert tab.inner_text('[data-search-state="cut"]').startswith("10,000 samples and more")
    assert 0 < tab.evaluate("window.drawn") < 1000
