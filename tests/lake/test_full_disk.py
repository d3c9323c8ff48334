"""The disk of a run's folder is full: what is on it is shipped, and the rest once there is room."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import rollscope as rs
from rollscope.lake.check import check
from rollscope.lake.place import Place
from rollscope.lake.shipping.push import Pusher
from tests.lake.life import check_same
from tests.lake.test_live import wait_until

STEPS, NUMBERS = 100, 300
TRAIN = f"""
import sys
import rollscope as rs
run = rs.init(project="p", id="full", dir=sys.argv[1], host=False)
for step in range({STEPS}):
    run.log({{f"m/{{i}}": step + i / 7 for i in range({NUMBERS})}}, step=step)
    if step == 9:
        run.flush(240)
sys.stdin.read()
run.finish()
print(run.losses)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_shipping_goes_on_from_a_full_disk_and_loses_nothing(small_disk: Path, tmp_path: Path, lake: Place) -> None:
    said, command = tmp_path / "said", [sys.executable, "-c", TRAIN, str(small_disk)]
    with said.open("w") as errors:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        training = subprocess.Popen(command, stderr=errors, text=True, **pipes)
    try:
        wait_until(lambda: "No space left" in said.read_text(), "the full disk")
        written = len(rs.open(small_disk).sql("SELECT step FROM metrics")["step"])
        assert 0 < written < STEPS * NUMBERS
        Pusher(lake, str(small_disk / "full")).push()
        shipped = rs.open(lake.folder).sql(
            "SELECT count(*) AS n, count(DISTINCT (name, step)) AS different FROM metrics"
        )
        assert shipped["n"][0] == shipped["different"][0] >= written
        subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
        out, _ = training.communicate(timeout=240)
    finally:
        training.kill()
        training.wait(60)
    assert out == "{}\n"
    Pusher(lake, str(small_disk / "full")).push()
    assert rs.open(lake.folder).sql("SELECT count(*) AS n FROM metrics")["n"][0] == STEPS * NUMBERS
    check_same(lake, SimpleNamespace(root=small_disk, path=small_disk / "full"))  # type: ignore[arg-type]
    assert not check(lake).problems
