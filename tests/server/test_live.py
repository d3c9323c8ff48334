"""The event stream tells of changes, and Ctrl-C ends the server at once with streams open."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import httpx
import pytest

import rollscope as rs
from rollscope.server.changes import News
from rollscope.server.library import Library
from rollscope.server.listing.run_rows import BUSY_SECONDS, RunRows
from rollscope.server.watcher import Watcher
from rollscope.store.project.log import ProjectLog


@pytest.fixture
def served(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A real server process on a free port, as a user starts it."""
    command = [sys.executable, "-m", "rollscope", "serve", str(tmp_path), "--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    httpx.get(url + "api/health", timeout=60)  # once: who has read the address may connect
    yield process, url, tmp_path
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()


def events(stream: httpx.Response):  # type: ignore[no-untyped-def]
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def test_a_new_run_and_each_step_are_told(served) -> None:  # type: ignore[no-untyped-def]
    _, url, folder = served
    with httpx.stream("GET", url + "api/live", timeout=60) as stream:
        changes = events(stream)
        assert next(changes)["kind"] == "hello"  # every later change is told
        with rs.init(project="p", name="n", id="n", dir=folder, host=False) as run:
            assert next(changes) == {"kind": "runs"}
            run.log({"reward/mean": 1.0}, step=5)
            run.commit(5)
            seen = next(event for event in changes if event.get("step") == 5)
            assert (seen["kind"], seen["run"], seen["step"]) == ("run", "n", 5)


def test_what_changed_between_the_page_and_its_stream_is_told_first(served) -> None:  # type: ignore[no-untyped-def]
    _, url, folder = served
    with rs.init(project="p", name="old", id="old", dir=folder, host=False) as run:
        run.log({"reward/mean": 1.0}, step=1)
    long_ago = time.time() - 60
    for entry in os.scandir(folder / "old"):
        os.utime(entry.path, (long_ago, long_ago))
    page = re.search(r'name="rollscope-at" content="([\d.]+)"', httpx.get(url, timeout=60).text)
    assert page
    with rs.init(project="p", name="n", id="n", dir=folder, host=False) as run:
        run.log({"reward/mean": 1.0}, step=5)
        run.commit(5)
        assert run.flush(60)
        first_time, coming_back = {"params": {"since": page[1]}}, {"headers": {"last-event-id": page[1]}}
        for request in (first_time, coming_back):
            with httpx.stream("GET", url + "api/live", timeout=60, **request) as stream:
                changes = events(stream)
                assert next(changes)["kind"] == "hello" and next(changes) == {"kind": "runs"}
                seen = next(changes)
                assert (seen["run"], seen["step"], seen["tables"]) == ("n", 5, ["metrics"])


def test_ctrl_c_ends_the_server_at_once_with_streams_open(served) -> None:  # type: ignore[no-untyped-def]
    process, url, _ = served
    with httpx.stream("GET", url + "api/live", timeout=60) as stream:
        assert next(events(stream))["kind"] == "hello"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) is not None  # a server that waits for its streams would never end


def test_a_change_is_told_while_a_request_holds_the_run(tmp_path: Path) -> None:
    """An answer that takes long must not silence the stream; what it could not say comes after."""
    with rs.init(project="p", name="n", id="n", dir=tmp_path, host=False) as run:
        run.log({"reward/mean": 1.0}, step=1)
        assert run.flush(60)
        library = Library(str(tmp_path))
        watcher = Watcher(library, RunRows(library), "", ProjectLog(tmp_path))
        grown = News(grown=["n"])
        with ThreadPoolExecutor(1) as other, library.reading("n"):
            (told,) = other.submit(watcher._events, grown).result(60)
            assert other.submit(watcher._events, News()).result(60) == [], "it is told once"
        assert (told["run"], told["step"], told["state"], told["tables"]) == ("n", None, "", ["metrics"])
        (later,) = watcher._events(News())
        assert (later["step"], later["state"]) == (1, "running")
        assert watcher._events(News()) == []


def test_a_list_asked_for_after_the_end_of_a_run_says_that_it_is_over(tmp_path: Path) -> None:
    """The event of the end makes a page ask for the list while its charts hold the run."""
    run = rs.init(project="p", name="n", id="n", dir=tmp_path, host=False)
    run.log({"reward/mean": 1.0}, step=1)
    run.flush()
    library = Library(str(tmp_path))
    rows = RunRows(library)
    watcher = Watcher(library, rows, "", ProjectLog(tmp_path))
    assert [kept.state for kept in rows.rows()[0]] == ["running"]
    run.finish()
    assert [event["state"] for event in watcher._events(News(grown=["n"]))] == ["finished"]
    with ThreadPoolExecutor(1) as other:
        with library.reading("n"):
            asked = other.submit(rows.rows)
            wait([asked], 5 * BUSY_SECONDS)  # an answer that does not wait for the run has the old row
        assert [kept.state for kept in asked.result(60)[0]] == ["finished"]
