"""Whatever a disk does, for a while: every row is there once when it is over."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.record.write import log_files
from tests.record.faults import FAULTS, Weather

SECONDS = 1.5


@pytest.mark.parametrize("faults", [*[(fault,) for fault in FAULTS], FAULTS], ids=[*FAULTS, "all of them"])
def test_every_row_is_there_once_after_bad_weather(
    tmp_path: Path, faults: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "ROTATE", 10_000)  # files are opened in bad weather too
    run = rs.init(id="r", dir=tmp_path, host=False)
    steps, until = 0, time.monotonic() + SECONDS
    with Weather(tmp_path, faults) as weather:
        while time.monotonic() < until or not any(weather.met.values()):
            run.log({"a": float(steps)}, step=steps)
            run.log_samples([{"id": f"s{steps}", "reward": 1.0}], step=steps)
            steps += 1
            time.sleep(0.002)
    assert run.flush(60), run.losses
    run.finish()
    assert not run.losses
    read = rs.open(tmp_path).run("r")
    rows = read.sql("select step, value from metrics where name = 'a' order by step")
    assert rows["step"].tolist() == [*range(steps)] and rows["value"].tolist() == [*map(float, range(steps))]
    assert sorted(read.samples(columns=["id"])["id"]) == sorted(f"s{step}" for step in range(steps))
