"""The timeline in a real browser: who held up a step, who waits, would another engine help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, answer_late, until

pytestmark = pytest.mark.browser

S = 10**9
BEGAN = 1_700_000_000 * S
STEP, SLOTS, ENGINES = 10.0, 12, 2


def record(run: rs.Run, step: int, at: float) -> float:
    """Every slot answers in 4 s, but one in step 236, which takes 12; then an update of 3 s."""
    keys, ready, samples = [], at, []
    queued = BEGAN + round(at * S)
    for slot in range(ENGINES * SLOTS):
        lane, id = f"inference/{slot % ENGINES}/{slot // ENGINES}", f"g{step}.{slot}"
        end = at + (12 if (step, slot) == (236, 7) else 4)
        more: dict[str, Any] = {"step": step, "sample": id, "version": step, "queued_ns": queued}
        made = run.log_span("generate", queued, BEGAN + round(end * S), lane, **more)
        scored = BEGAN + round((end + 0.2) * S)
        keys.append(run.log_span("reward", BEGAN + round(end * S), scored, lane, step=step, sample=id, causes=[made]))
        ready = max(ready, end + 0.2)
        text = "because I wandered off" if end > at + 4 else "forty-two"
        samples.append(
            {"id": id, "group": f"g{step}", "prompt": "why?", "completion": text, "reward": 1.0, "trained": True}
        )
    run.log_samples(samples, step=step)
    run.log_span("wait_for_data", queued, BEGAN + round(ready * S), "trainer/0", kind="wait", step=step)
    done = ready + 3
    run.log_span("update", BEGAN + round(ready * S), BEGAN + round(done * S), "trainer/0", step=step, causes=keys)
    run.log({"reward/mean": 0.5}, step=step)
    run.commit(step)
    return done


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("timeline")
    with rs.init(project="p", name="async", id="async", dir=folder, host=False) as run:
        at = 0.0
        for step in range(230, 240):
            at = record(run, step, at)
        for second in range(round(at)):
            for name, value in (("gpu_utilisation", second % 7 / 7), ("gpu_memory_share", 0.6)):
                row = {"host": "node-1", "device": "gpu0", "name": f"host/{name}", "value": value}
                run._put("host", {**row, "time_ns": BEGAN + second * S})
    begun = {"name": "generate", "lane": "inference/0/3", "kind": "work", "sample": "g240.3"}
    left = [{**begun, "start_ns": BEGAN + round((at - 1) * S)}]
    (Path(folder) / "async" / "0123456789abcdef.open.json").write_text(json.dumps({"spans": left}))
    served = Served(Path(folder))
    yield served.url
    served.stop()


def opened(tab: Any, url: str, step: int) -> Any:
    tab.goto(f"{url}r/async/timeline?step={step}")
    tab.wait_for_selector(f'.step-answer[data-step="{step}"]')
    tab.wait_for_selector('.lanes canvas[data-ink^="spans"]')
    return tab


def test_which_sample_held_up_step_236_and_what_it_said(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 236)
    page.click(".step-answer button:has-text('g236.7')")
    page.wait_for_selector(".drawer")
    until(page, "document.querySelector('.drawer').innerText.includes('because I wandered off')")
    assert "g236.7" in page.inner_text(".step-answer .path")


def test_is_inference_waiting_for_the_trainer(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 234)
    rows = page.eval_on_selector_all(".share", "all => all.map((row) => row.innerText)")
    engines = [row for row in rows if row.startswith("inference")]
    assert len(engines) == ENGINES and all("42 waiting" in row for row in engines), rows
    assert "waited 3 s for new prompts" in page.inner_text(".step-answer")


def test_would_another_engine_help(timeline: str, tab: Any) -> None:
    text = opened(tab, timeline, 234).inner_text(".step-answer")
    assert "Training twice as fast" in text and "saves" in text
    assert "does not help" in text.split("One engine more")[1][:60], "every sample has a slot already"


def test_search_goes_to_the_sample_and_a_click_opens_its_span_with_causes(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 234)
    page.fill(".timeline [data-search]", "g236.7")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.timeline .bar').innerText.includes('2 spans')")
    page.focus(".lanes")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".drawer")
    until(page, "/generate|reward/.test(document.querySelector('.drawer h2').innerText)")
    until(page, "/It (waited for|delayed)/.test(document.querySelector('.drawer').innerText)")


def test_a_range_that_is_selected_says_its_sums(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 234)
    box = page.locator(".lanes").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 60, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    until(page, "/selected: .*generate/.test(document.querySelector('.timeline .under').innerText)")


def test_zoom_selection_and_colours_are_in_the_address_and_come_back(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 234)
    page.focus(".lanes")
    page.keyboard.press("+")
    page.keyboard.press("v")
    until(page, "/view=[\\d.]+-[\\d.]+/.test(location.search) && location.search.includes('by=version')")
    before = page.evaluate("location.search")
    page.goto(page.evaluate("location.href") + "&show=45-46")  # Playwright's own address may be older
    page.wait_for_selector('.lanes canvas[data-ink^="spans"]')
    until(page, "document.querySelector('.timeline .under').innerText.startsWith('1 s selected')")
    assert page.evaluate("location.search").startswith(before.split("&view")[0])
    assert page.get_attribute("button:has-text('Colour by version')", "aria-pressed") == "true"
    page.click("button:has-text('Step 234')")
    until(page, "!location.search.includes('view=')")


def test_machines_stand_under_their_lanes_and_what_was_left_open_is_said(timeline: str, tab: Any) -> None:
    page = opened(tab, timeline, 239)
    until(page, "/strips=1 open=1/.test(document.querySelector('.lanes canvas').dataset.ink)")
    said = page.inner_text(".timeline .under")
    assert said.startswith("Left open when its process ended: generate on inference/0/3, sample g240.3.")


def test_the_first_picture_takes_one_request_for_lanes_and_one_for_spans(timeline: str, tab: Any) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.partition("/api/runs/async/")[2]))
    for more in ("step=236", "step=236&view=50-55.5"):
        asked.clear()
        tab.goto(f"{timeline}r/async/timeline?{more}")
        tab.wait_for_selector('.lanes canvas[data-ink^="spans"]')
        tab.wait_for_selector('.step-answer[data-step="236"]')
        assert len([one for one in asked if one.startswith("timeline/spans")]) == 1, asked
        assert asked.count("timeline") == 1, asked


def test_the_last_steps_stand_above_the_machines_and_lead_to_the_timeline(timeline: str, tab: Any) -> None:
    tab.goto(f"{timeline}r/async/system?step=236")
    tab.wait_for_selector('.span-strip canvas[data-ink^="parts=2 steps=7 "]')
    tab.wait_for_selector(".hosts tr.host small:has-text('inference/0 and 1, trainer/0')")
    tab.focus(".span-strip")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('.step-answer[data-step="236"]')
    tab.goto(f"{timeline}r/async/system")
    tab.wait_for_selector('.span-strip canvas[data-ink^="parts=2 steps=10 "]')
    box = tab.locator(".span-strip").bounding_box()
    tab.click(".span-strip", position={"x": 140, "y": box["height"] / 2})
    tab.wait_for_selector('.step-answer[data-step="230"]')


def test_an_older_search_that_answers_late_changes_nothing(timeline: str, tab: Any) -> None:
    page, held = opened(tab, timeline, 236), list[Any]()
    page.route("**/timeline/find?text=g236.7", lambda route: held.append(route))
    with page.expect_request("**/timeline/find?text=g236.7"):
        page.fill(".timeline [data-search]", "g236.7")
        page.keyboard.press("Enter")
    page.fill(".timeline [data-search]", "no such span")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.timeline .bar').innerText.includes('nothing found')")
    answer_late(page, held[0])
    assert "nothing found" in page.inner_text(".timeline .bar")
