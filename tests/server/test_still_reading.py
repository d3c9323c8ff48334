"""A run whose first diagnosis is under way: no finding is then no claim."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from rollscope.server import doctor as doctor_module
from rollscope.server.app import application
from rollscope.server.doctor import Doctor
from rollscope.server.front import page_loads
from rollscope.server.front.page_loads import Counted, PageLoads
from rollscope.server.routes.run import findings


def test_findings_say_that_the_run_is_still_read_and_then_what_was_found(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "WAIT", 0.0)
    go_on = threading.Event()
    client.app.app.state.doctor._pool.submit(go_on.wait, 60)  # type: ignore[attr-defined]  # one before this takes long
    first = client.get("/api/runs/a/findings").json()
    assert first["diagnosed"] is False and first["findings"] == []
    go_on.set()
    deadline = time.monotonic() + 60
    while not (answer := client.get("/api/runs/a/findings").json())["diagnosed"]:
        assert time.monotonic() < deadline, "the first diagnosis is not done after a minute"
        time.sleep(0.1)
    assert answer["findings"] and answer["rules"]


def test_a_page_that_waits_for_a_diagnosis_holds_up_no_other_request(store: Path) -> None:
    app = application(str(store))
    go_on = threading.Event()
    app.state.doctor._pool.submit(go_on.wait, 60)  # a diagnosis before this one takes long
    client = TestClient(app, base_url="http://127.0.0.1")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.get, "/api/runs/a/findings")
        while "a" not in app.state.doctor._jobs:
            time.sleep(0.01)
        assert client.get("/api/runs/a/tape").json()["diagnosed"] is False
        assert not waiting.done()
        go_on.set()
        assert waiting.result(60).json()["diagnosed"] is True
    app.state.doctor.close()


def test_a_diagnosis_waits_for_pages_to_load_unless_one_waits_for_it(store: Path) -> None:
    loading = threading.Event()
    loading.set()
    doctor = Doctor(str(store), lambda id: None, loading.is_set)
    assert doctor.findings("a", 0.3) is None
    assert doctor.findings("b", 60, at_once=True) is not None
    loading.clear()
    assert doctor.findings("a", 60) is not None
    doctor.close()


def test_the_doctor_rests_between_runs_unless_a_page_waits(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "REST", 1e9)
    doctor = Doctor(str(store), lambda id: None)
    assert doctor.findings("a", 60) is not None, "it has not worked yet"
    assert doctor.findings("b", 0.3) is None
    assert doctor.findings("b", 60, at_once=True) is not None
    doctor.close()


def test_requests_are_a_page_until_their_replies_begin_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    monkeypatch.setattr(page_loads, "PAGE_SECONDS", 600.0)
    loads = PageLoads()
    assert not loads.is_page()
    one, other = Counted(loads, send), Counted(loads, send)
    asyncio.run(one({"type": "http.response.start"}))
    monkeypatch.setattr(page_loads, "QUIET_SECONDS", -1.0)
    assert sent and loads.is_page(), "the other is still answered"
    other.end()
    one.end()
    assert not loads.is_page()
    monkeypatch.setattr(page_loads, "QUIET_SECONDS", 600.0)
    assert loads.is_page(), "it may ask for more in a moment"
    monkeypatch.setattr(page_loads, "PAGE_SECONDS", 0.0)
    assert not loads.is_page(), "no page takes that long"
