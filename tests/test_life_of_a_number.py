"""The story of `docs/life-of-a-number.md`, followed with a profiler:
every function it names is called, in its order.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import rollscope as rs
from rollscope.diagnose import diagnose
from rollscope.server.app import create
from rollscope.store.seal.logs import seal

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rollscope"
STORY = (ROOT / "docs" / "life-of-a-number.md").read_text()
NAMED = re.findall(r"`([\w.]+)`\s+in\s+\[`([\w/.]+)`\]\((\.\./[\w/.]+)\)", STORY)
STEPS = 40
Call = tuple[str, str]  # file below src/rollscope, qualified name of the function
TOLD: list[Call] = [(path, name) for name, path, _ in NAMED if path.endswith(".py")]


class Trace:
    """Every call of a function that the story names, on any thread, in order."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            call = (frame.f_code.co_filename[len(str(SOURCE)) + 1 :], frame.f_code.co_qualname)
            if call in TOLD:
                self.calls.append(call)


@contextmanager
def traced() -> Iterator[Trace]:
    trace, before = Trace(), sys.getprofile()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def record(folder: Path) -> None:
    """Two ranks of one run, each with its own entropies."""
    ranks = [rs.init(id="life", dir=folder, host=False, shard=shard, shards=2) for shard in range(2)]
    for step in range(STEPS):
        for shard, run in enumerate(ranks):
            batch = {"entropy": np.full((4, 8), 0.1 + 0.2 * shard), "action_mask": np.ones((4, 8))}
            run.log_batch(batch, step=step)
    for run in reversed(ranks):
        run.finish()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    folder = tmp_path_factory.mktemp("life")
    with pytest.MonkeyPatch.context() as patch, traced() as trace:
        patch.setenv("ROLLSCOPE_SEAL", "0")  # sealed below, in this process, where it can be followed
        record(folder)
        assert seal(str(folder / "life")) == 2
        series = rs.open(folder).run("life").series("policy/entropy", points=10)
        assert series["mean"] == pytest.approx(0.2) and series["count"].sum() == STEPS
        ask = {"runs": ["life"], "names": ["policy/entropy"]}
        with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
            assert client.post("/api/series", json=ask).status_code == 200
        assert diagnose(rs.open(folder).run("life")) == []
    return trace.calls


def test_the_story_names_functions_in_every_one_of_its_nine_links() -> None:
    links = re.split(r"^\*\*\d\. ", STORY, flags=re.M)[1:]
    assert len(links) == 9 and all(re.search(r"`[\w.]+`\s+in\s+\[`", link) for link in links)


@pytest.mark.parametrize(("name", "path", "link"), NAMED, ids=[f"{path}:{name}" for name, path, _ in NAMED])
def test_a_function_that_the_story_names_is_there(name: str, path: str, link: str) -> None:
    file = (ROOT / "docs" / link).resolve()
    assert file == SOURCE / path and file.is_file()
    last = name.split(".")[-1]
    assert re.search(rf"^\s*(?:export )?(?:async )?(?:def|class|function|const) {last}\b", file.read_text(), re.M)


def test_the_functions_are_called_in_the_order_of_the_story(calls: list[Call]) -> None:
    assert not [call for call in TOLD if call not in calls], "the story names functions that are not called"
    rest = iter(calls)
    late = next((call for call in TOLD if call not in rest), None)  # `in` moves on to the call it looks for
    assert late is None, f"{late} is not called after what the story tells before it"


def test_the_browser_decodes_what_it_fetched_and_draws_it_with_a_chart() -> None:
    """Ink is drawn in the browser; journeys look at it there.

    Here the story's two functions have their callers.
    """
    fetch, plot = ((SOURCE / "web" / path).read_text() for path in ("wire/series.js", "charts/plot.js"))
    assert re.search(r'packed\("series".*\.then\(decodeSeries\)', fetch) and "new Chart(" in plot
