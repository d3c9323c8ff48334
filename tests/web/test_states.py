"""The states of a page in a browser: empty, loading, quiet, crashed, damaged, failed, gone, old."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.ports import free_port
from tests.store.conftest import T0, World
from tests.web.conftest import COLLECT_TOASTS, PATIENCE, Served, Watched, ink, until

pytestmark = pytest.mark.browser
REWARD = '[data-metric="reward/mean"]'


def record(folder: Path, id: str = "r", steps: int = 60, **more: Any) -> Any:
    run = rs.init(project="p", name=id, id=id, dir=folder, host=False, **more)
    for step in range(steps):
        run.log({"reward/mean": step / 100, "policy/entropy": 1.0 - step / 200}, step=step)
        run.commit(step)
    return run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    record(tmp_path).finish()
    yield tmp_path


@pytest.fixture
def served(store: Path) -> Iterator[Served]:
    served = Served(store)
    yield served
    served.stop()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    watched = Watched(browser)
    yield watched
    watched.context.close()


def test_an_empty_store_shows_the_lines_that_fill_it_and_copies_them(tmp_path: Path, tab: Any) -> None:
    served = Served(tmp_path)
    try:
        tab.goto(served.url)
        tab.wait_for_selector('[data-state="empty"]')
        assert len(tab.inner_text("pre").splitlines()) == 10
        tab.evaluate(COLLECT_TOASTS)
        tab.click("text=Copy")
        until(tab, "window.toasts.length === 1")
        assert tab.evaluate("navigator.clipboard.readText()").startswith("import rollscope as rs")
        assert "rollscope import" in tab.inner_text(".empty")
        tab.close()
    finally:
        served.stop()


@pytest.mark.parametrize(
    ("page", "call"),
    [
        ("rollouts", "run.log_samples"),
        ("timeline", "run.span"),
        ("system", "host=True"),
        ("environment", "run.log_samples"),
        ("evals", "run.log_eval"),
        ("overview", "run.span"),
    ],
)
def test_a_page_without_data_names_the_call_that_would_record_it(
    served: Served, tab: Any, page: str, call: str
) -> None:
    tab.goto(f"{served.url}r/r/{page}")
    tab.wait_for_selector("#page")
    until(tab, f"document.querySelector('#page').innerText.includes({call!r})")


def test_loading_is_nothing_then_axes_then_a_sentence_and_old_ink_stays_at_60_per_cent(
    served: Served, watched: Watched
) -> None:
    page, held = watched.page, []
    page.route("**/api/series", lambda route: held.append(route))  # a slow disk: the answer is held back
    page.goto(served.url + "r/r/metrics")
    page.wait_for_selector(f"{REWARD} .plot")
    after = "(what) => getComputedStyle(document.querySelector('[data-metric=\"reward/mean\"] .plot'), '::after')[what]"
    assert page.evaluate(after, "animationDelay") == "0.15s" and page.query_selector(f"{REWARD} canvas") is None
    until(page, f"({after})('opacity') === '1'")
    assert "mean" in page.inner_text(f"{REWARD} .title")
    until(page, f"/^Reading 60 steps, ([2-9]|\\d\\d+) s$/.test(document.querySelector('{REWARD} .note').textContent)")
    _release(page, held)
    assert ink(page, "reward/mean")["points"] == 60
    until(page, f"document.querySelector('{REWARD} .note').textContent === ''")
    from_step_20(page)
    until(page, f"getComputedStyle(document.querySelector('{REWARD} canvas')).opacity === '0.6'")
    assert ink(page, "reward/mean")["points"] == 60
    _release(page, held)
    page.wait_for_selector(f'{REWARD} .plot[data-ink*="points=40"]')
    until(page, f"getComputedStyle(document.querySelector('{REWARD} canvas')).opacity === '1'")


def from_step_20(page: Any) -> None:
    page.fill(".toolbar input[type=number]", "20")
    page.press(".toolbar input[type=number]", "Enter")


def _release(page: Any, held: list[Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not held and time.monotonic() < deadline:
        page.evaluate("1")  # lets the browser handle its events
    while held:
        held.pop(0).continue_()


SILENT = """import sys, time, rollscope as rs
run = rs.init(project="p", name="r", id="r", dir=sys.argv[1], host=False)
for step in range(5):
    run.log({"reward/mean": step / 100}, step=step)
    run.commit(step)
# The environment is the last thing that is written without a call, before the heartbeat.
while not rs.open(sys.argv[1]).run("r").facts.get("environment"):
    run.flush()
print("recorded", flush=True)
time.sleep(600)
"""


def test_the_caret_stands_on_the_tape_before_it_is_known_whose_run_it_is(served: Served, watched: Watched) -> None:
    page, held = watched.page, []
    for path in ("**/api/runs*", "**/api/runs/r"):  # holds back name, state and colour of the run
        page.route(path, lambda route: held.append(route))
    page.goto(served.url + "r/r/glossary")
    page.wait_for_selector('.tape canvas.over[data-caret="59"]')
    assert page.query_selector(".tape canvas[data-ink]") is None
    _release(page, held)
    page.wait_for_selector(".tape canvas[data-ink]")


def test_a_run_that_says_nothing_for_three_steps_is_quiet(tmp_path: Path, tab: Any) -> None:
    process = subprocess.Popen([sys.executable, "-c", SILENT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "recorded\n"
        process.send_signal(signal.SIGSTOP)  # alive, and no heartbeat comes, however long this takes
        long_ago = time.time() - 600
        for entry in os.scandir(tmp_path / "r"):
            os.utime(entry.path, (long_ago, long_ago))
        see_quiet(tmp_path, tab)
    finally:
        process.kill()
        process.communicate()


def see_quiet(store: Path, tab: Any) -> None:
    served = Served(store)
    try:
        tab.goto(served.url + "r/r/metrics")
        tab.wait_for_selector(".bar .state.quiet")
        assert re.search(r"heard 1\d min ago", tab.inner_text(".bar"))
        dot = tab.evaluate(
            """(({ backgroundColor, borderTopColor }) => [backgroundColor, borderTopColor])(
              getComputedStyle(document.querySelector('.bar .dot')))"""
        )
        assert dot == ["rgba(0, 0, 0, 0)", "rgb(143, 95, 0)"]  # hollow, in the colour of watch
        assert ink(tab, "reward/mean")["points"] == 5
        tab.goto(served.url)
        tab.wait_for_selector(".runs-page .state.quiet")
        tab.close()
    finally:
        served.stop()


def test_a_crash_has_a_square_its_words_and_a_tape_that_ends_in_red(site: str, tab: Any) -> None:
    tab.goto(site + "r/ppo-critic/overview")
    tab.wait_for_selector(".bar .state.crashed")
    assert "crashed at step 240" in tab.inner_text(".bar") and "CUDA out of memory" in tab.inner_text(".bar")
    assert tab.evaluate("getComputedStyle(document.querySelector('.bar .dot')).borderRadius") == "1px"
    tab.click(".notice.crash button")
    assert "raise RuntimeError" in tab.inner_text(".notice.crash pre")
    tab.wait_for_selector(".tape canvas[data-ink]")
    edge = """(() => {
      const canvas = document.querySelector('.tape canvas');
      const x = Math.ceil(20 + (canvas.width - 40) * 0.91);
      return [...canvas.getContext('2d').getImageData(x, 30, 1, 1).data];
    })()"""
    until(tab, f"(([r, g, b, a]) => a > 200 && r > 150 && g < 90 && b < 90)({edge})")


def test_a_finished_run_says_how_long_it_took_and_has_no_dot(site: str, tab: Any) -> None:
    tab.goto(site + "r/grpo-6/overview")
    tab.wait_for_selector(".bar .state.finished")
    assert re.search(r"finished, 400 steps", tab.inner_text(".bar .state")) and tab.query_selector(".bar .dot") is None


def test_a_run_that_crashes_while_it_is_looked_at_shows_its_last_lines(tmp_path: Path, tab: Any) -> None:
    run = record(tmp_path, steps=5)
    run.flush()
    served = Served(tmp_path)
    try:
        tab.goto(served.url + "r/r/metrics")
        tab.wait_for_selector(".rail .run.here")  # the list is here
        with contextlib.suppress(RuntimeError), run:
            raise RuntimeError("CUDA out of memory")
        tab.click(".notice.crash button")
        tab.wait_for_selector(".notice.crash pre:has-text('CUDA out of memory')")
        tab.close()
    finally:
        served.stop()


def test_a_run_that_ends_while_it_is_looked_at_says_what_it_was(tmp_path: Path, tab: Any) -> None:
    run = record(tmp_path, steps=5)
    run.flush()
    served = Served(tmp_path)
    try:
        tab.goto(served.url + "r/r/metrics")
        assert ink(tab, "reward/mean")["points"] == 5
        run.finish()
        state = "document.querySelector('.bar .state.finished')?.innerText ?? ''"
        until(tab, f"/^finished, 5 steps .0 to 4. in [0-9]/.test({state})")
        until(tab, "document.querySelector('.rail .run.here .what').innerText === 'finished, 5 steps'")
        tab.close()
    finally:
        served.stop()
        run.finish()


def test_what_could_not_be_read_is_one_line_with_file_and_byte(
    tmp_path: Path, tab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    record(tmp_path).finish()
    log = next((tmp_path / "r").glob("*.log"))
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    log.write_bytes(bytes(raw))
    served = Served(tmp_path)
    try:
        tab.goto(served.url + "r/r/metrics")
        line = tab.wait_for_selector(".notice.watch")
        assert log.name in line.inner_text() and re.search(r"byte [\d,]+", line.inner_text())
        before = len(line.inner_text())
        tab.click(".notice.watch button")
        until(tab, f"document.querySelector('.notice.watch').innerText.length > {before} + 20")
        tab.close()
    finally:
        served.stop()


def test_a_failed_request_is_said_in_the_card_and_can_be_tried_again(tmp_path: Path, watched: Watched) -> None:
    for id in ("r", "other"):
        record(tmp_path, id).finish()
    served, page = Served(tmp_path), watched.page
    try:
        page.goto(served.url + "r/r/metrics?runs=other")
        assert ink(page, "reward/mean")["series"] == 2
        shutil.move(tmp_path / "other", tmp_path.parent / "away")
        # Requests may share a scan of the files that is just over.
        until(page, "fetch('/api/runs/other').then(async (answer) => (await answer.text()) && answer.status === 404)")
        from_step_20(page)
        page.wait_for_selector(f"{REWARD} .note button")
        assert "no run 'other'" in page.inner_text(f"{REWARD} .note") and ink(page, "reward/mean")["points"] == 120
        with page.expect_response("**/api/series") as answer:
            page.click(f"{REWARD} .note button")
        assert answer.value.status == 404
        until(page, f"document.querySelector('{REWARD} .note').textContent.includes(\"no run 'other'\")")
        shutil.move(tmp_path.parent / "away", tmp_path / "other")
        until(page, "fetch('/api/runs/other').then(async (answer) => (await answer.text()) && answer.status === 200)")
        # The stream may have told the card already that the run is back.
        page.evaluate(f"document.querySelector('{REWARD} .note button')?.click()")
        page.wait_for_selector(f'{REWARD} .plot[data-ink*="points=80"]')
        until(page, f"document.querySelector('{REWARD} .note').textContent === ''")
    finally:
        served.stop()


# Collects the waiting times of the notice, because a busy test would miss one of a second.
COLLECT_WAITS = """() => { window.waits = []; new MutationObserver(() => {
  const wait = document.querySelector('.notice.bad')?.textContent.match(/try in (\\d+) s/)?.[1];
  if (wait && window.waits.at(-1) !== wait) window.waits.push(wait);
}).observe(document.body, { subtree: true, childList: true, characterData: true }); }"""


def test_a_server_that_goes_is_tried_after_1_2_4_seconds_and_comes_back_with_new_steps(
    store: Path, watched: Watched
) -> None:
    port = str(free_port())  # nobody takes it while the server is away
    served, page = Served(store, "--port", port), watched.page
    page.goto(served.url + "r/r/metrics")
    assert ink(page, "reward/mean")["points"] == 60
    page.evaluate(COLLECT_WAITS)
    served.stop()
    page.keyboard.press("s")  # what needs no server still works
    from_step_20(page)
    until(page, "window.waits.length >= 3")
    assert page.evaluate("window.waits.slice(0, 3)") == ["1", "2", "4"]
    assert page.query_selector(f"{REWARD} .note button") is None and ink(page, "reward/mean")["points"] == 60
    again = Served(store, "--port", port)
    try:
        page.wait_for_selector(".notice.bad", state="detached")
        page.wait_for_selector(f'{REWARD} .plot[data-ink*="points=40"]')
    finally:
        again.stop()


def test_an_updated_server_asks_for_a_reload(
    store: Path, watched: Watched, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = tmp_path_factory.mktemp("newer")
    shutil.copytree(Path(rs.__file__).parent, newer / "rollscope", ignore=shutil.ignore_patterns("__pycache__"))
    (newer / "rollscope/web/tokens.css").write_text(
        (newer / "rollscope/web/tokens.css").read_text() + "\n/* newer */\n"
    )
    port = str(free_port())  # nobody takes it while the server is away
    served, page = Served(store, "--port", port), watched.page
    page.goto(served.url + "r/r/metrics")
    ink(page, "reward/mean")
    assert page.query_selector(".notice.info") is None
    served.stop()
    monkeypatch.setenv("PYTHONPATH", str(newer))
    again = Served(store, "--port", port)
    try:
        from_step_20(page)
        page.wait_for_selector(".notice.info")
        assert page.inner_text(".notice.info").replace("\n", " ") == "Rollscope was updated. Reload."
        page.click(".notice.info button")
        page.wait_for_selector(".notice.info", state="detached")
        assert ink(page, "reward/mean")["points"] >= 40
    finally:
        again.stop()


def test_samples_that_name_no_step_are_on_their_page(tmp_path: Path, tab: Any) -> None:
    writer = World(tmp_path).writer()
    rows = [{"id": f"s{i}", "prompt": f"question {i}", "completion": f"answer {i}", "reward": i} for i in range(3)]
    writer.rows("samples", [{**row, "time_ns": T0} for row in rows])
    writer.finish()
    served = Served(tmp_path)
    try:
        tab.goto(served.url + "r/r1/rollouts")
        tab.wait_for_selector(".reader >> text=answer 0")
        assert "No sample of this run names a step." in tab.inner_text(".left")
        tab.click(".left >> text=question 2")
        tab.wait_for_selector(".reader >> text=answer 2")
        assert "Group s2" in tab.inner_text(".reader") and "Step" not in tab.inner_text(".reader")
        tab.goto(served.url + "r/r1")
        tab.wait_for_selector("text=Samples, and no numbers.")
        tab.wait_for_selector("text=Best, median, worst of the run")
        tab.goto("about:blank")  # the page follows its server, which stops now
    finally:
        served.stop()
