"""A server that is asked to tells a target about every run that goes on, once."""

from __future__ import annotations

import math
import time
from pathlib import Path

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.notify.target import target
from rollscope.server.app import application
from tests.webhook import webhook


def test_a_running_run_with_a_finding_is_told_once_and_a_finished_one_never(tmp_path: Path) -> None:
    with rs.init(id="old", dir=tmp_path, host=False) as old:
        for step in range(30):
            old.log({"policy/loss_total": math.nan}, step=step)
    run = rs.init(id="new", dir=tmp_path, host=False)
    with webhook() as (url, got):
        try:
            with TestClient(application(str(tmp_path), notify=[target(url)])):
                step, end = 0, time.monotonic() + 240
                while step < 400 or not got:  # some looks after the first notice
                    run.log({"policy/loss_total": math.nan}, step=(step := step + 1))
                    time.sleep(0.02)
                    assert got or time.monotonic() < end
        finally:
            run.finish()
    assert [(n["run"], n["event"], n["rule"]) for n in got] == [("new", "opened", "non-finite")]
