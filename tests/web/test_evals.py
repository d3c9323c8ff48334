"""Evals in a real browser: what a checkpoint lost, and the two answers that show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, until

pytestmark = pytest.mark.browser
TASKS = 60


def score(task: int, step: int) -> float:
    """Task 7 is lost at 300, the tasks below 5 are learnt, the rest stays."""
    if task == 7:
        return float(step < 300)
    return float(task % 2) if task >= 5 else float(step >= 300)


def rows_at(step: int) -> list[dict[str, Any]]:
    texts = {True: "Each bag costs 3, so 18.", False: "Each bag costs 4, so 21."}
    return [
        {
            "task": f"{task:04d}",
            "repeat": repeat,
            "scores": {"correct": score(task, step)},
            "answer": "18" if score(task, step) else "21",
            "tags": ["fruit", "seven"] if task == 7 else ["fruit"] if task < 10 else [],
            "sample": {"prompt": f"Question {task}: <b>apples</b>", "completion": texts[score(task, step) == 1.0]},
        }
        for task in range(TASKS)
        for repeat in range(2)
    ]


@pytest.fixture(scope="module")
def evals_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("evals")
    with rs.init(id="a", dir=folder, host=False) as run:
        for step in (0, 100, 200, 300):
            run.log({"reward/mean": step / 300}, step=step)
            trained = {"prompt": "Question 7: <b>apples</b>", "completion": "18", "reward": 1.0, "group_id": "g"}
            run.log_samples(step=step, samples=[{"id": f"train-{step}", **trained}])
            run.log_eval("gsm8k", [*rows_at(step), {"task": "gone", "repeat": 0, "failed": True}], step=step)
        run.log_eval("once", rows_at(0), step=0)
        for step, points in ((0, [10, 20, 30, 40]), (100, [15, 18, 30, 44])):
            run.log_eval("points", [{"task": f"{i}", "score": x} for i, x in enumerate(points)], step=step)
    served = Served(folder)
    yield served.url
    served.stop()


def test_did_checkpoint_300_lose_what_200_could_do_and_show_me_one(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?range=200-300")
    tab.wait_for_selector(".matrix .rows .taskrow")
    assert "+6.7 points" in tab.inner_text(".paired h1") and "paired over the 60 tasks" in tab.inner_text(".paired")
    tab.click(".eval-filters .seg >> text=Lost")
    until(tab, "document.querySelector('.matrix').dataset.count === '1'")
    tab.click(".matrix .rows .taskrow")
    until(tab, "document.querySelectorAll('.answer mark').length >= 2")
    left, right = tab.eval_on_selector_all(".answer", "all => all.map((part) => part.innerText)")
    assert "Step 200" in left and "so 18." in left and "Step 300" in right and "so 21." in right
    assert "Question 7: <b>apples</b>" in tab.inner_text(".task-prompt"), "text of a run is only text"
    assert "open=task:0007" in tab.evaluate("location.href")
    until(tab, "document.querySelector('.pass-curve') !== null")
    assert "pass@1 went from 0.467 to 0.533 and pass@2 went from 0.467 to 0.533" in tab.inner_text(".pass-curve")
    until(tab, "document.querySelector('.read.trained-on a') !== null")
    tab.click(".read.trained-on a")
    until(tab, "location.pathname.endsWith('/rollouts') && location.search.includes('sample=train-0')")


def test_the_matrix_is_one_canvas_whose_rows_are_also_text(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?range=200-300")
    tab.wait_for_selector(".matrix canvas.ink[data-rows]")
    row = "[...document.querySelectorAll('.matrix [role=option]')].find((o) => o.textContent.includes('0007'))"
    until(tab, f"{row}?.textContent.includes('trained on')")
    said = " ".join(tab.evaluate(f"{row}.textContent").split())
    assert said == "0007 Question 7: <b>apples</b>: step 200: 1, step 300: 0, change \u22121.00, trained on"
    tab.evaluate("document.querySelector('.matrix').scrollTop = 240")
    until(tab, "document.querySelector('.matrix canvas').dataset.rows.startsWith('10-')")
    until(tab, "document.querySelector('.matrix [role=option]').dataset.row === '10'")
    tab.focus(".matrix")
    tab.keyboard.press("ArrowDown")
    until(tab, "document.querySelector('.matrix').getAttribute('aria-activedescendant') === 'task-0'")
    until(tab, "document.querySelector('.matrix canvas').dataset.rows.startsWith('0-')")


def test_a_cell_opens_the_repeats_of_its_step(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?range=200-300&q=0007")
    tab.wait_for_selector(".matrix canvas.ink[data-rows]")
    until(tab, "document.querySelector('.matrix').dataset.count === '1'")
    tab.click(".matrix .rows", position={"x": 224 + 30 + 15, "y": 12})
    until(tab, "location.search.includes('step=100')")
    until(tab, "[...document.querySelectorAll('.answer b')].some((b) => b.textContent === 'Step 100')")
    tab.hover(".matrix .rows", position={"x": 224 + 90 + 15, "y": 12})
    until(tab, "document.querySelector('.matrix').title === 'step 300: 0'")


def test_tasks_stand_under_their_tags_with_the_mean_of_each(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?range=200-300")
    tab.click("text=By tag")
    until(tab, "document.querySelector('.matrix').dataset.count === '65'")  # 61 tasks, 3 tags, one task twice
    rows = (
        "[...document.querySelectorAll('.matrix [role=option]')].map((o) => o.textContent.replace(/\\s+/g, ' ').trim())"
    )
    until(tab, f"{rows}[0].startsWith('fruit 10 tasks: step 200: 0.3, step 300: 0.7, change +0.40')")
    tab.focus(".matrix")
    tab.keyboard.press("ArrowDown")
    until(tab, "document.querySelector('.matrix').getAttribute('aria-activedescendant') === 'task-1'")
    tab.fill(".eval-filters [data-search]", "seven")
    until(tab, "document.querySelector('.matrix').dataset.count === '4'")
    assert tab.evaluate(rows)[2].startswith("seven 1 task: step 200: 1")
    assert "by=tag" in tab.evaluate("location.href")


def test_scores_without_right_and_wrong_rise_and_fall(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?name=points")
    tab.wait_for_selector(".matrix canvas.ink[data-rows]")
    assert "2 rose" in tab.inner_text(".flip-words") and "1 fell" in tab.inner_text(".flip-words")
    lists = tab.inner_text(".eval-filters .seg")
    assert "Rose" in lists and "Never solved" not in lists, "a score of 40 is not unsolved"
    assert "3 tasks of 4 rose or fell" in tab.inner_text(".eval-foot")


def test_the_page_follows_keys_search_and_another_pair(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals")
    tab.wait_for_selector(".matrix .rows .taskrow")
    assert tab.inner_text(".matrix .failures").count("1") == 4, "a failed task stays in sight at every step"
    tab.keyboard.press("j")
    tab.wait_for_selector(".drawer .task-strip")
    tab.fill(".eval-filters [data-search]", "question 12")
    until(tab, "document.querySelector('.matrix').dataset.count === '1'")
    tab.select_option(".paired select >> nth=1", "0")
    until(tab, "location.search.includes('range=0-300')")


def test_a_set_that_was_evaluated_once_has_no_pair(evals_site: str, tab: Any) -> None:
    tab.goto(evals_site + "r/a/evals?name=once")
    tab.wait_for_selector(".matrix .rows .taskrow")
    assert tab.query_selector(".paired") is None and "once" in tab.inner_text(".eval-history")
