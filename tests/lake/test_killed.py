"""A push that is killed anywhere and repeated gives exactly the spool, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rollscope.lake.check import check
from rollscope.lake.place import Place
from tests.lake.life import Life, check_same, pushed

HERE = Path(__file__).parent


def test_a_push_killed_anywhere_and_repeated_gives_the_spool(tmp_path: Path, lake: Place) -> None:
    life, killed = Life(tmp_path / "runs", seed=9), 0
    for round in range(6):
        life.happen()
        command = [sys.executable, str(HERE / "killed_push.py"), lake.folder, str(life.path), "5", str(round), "0.6"]
        killed += int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=200).stdout)
    pushed(lake, life)
    assert killed > 5, "the kills came too late to show anything"
    check_same(lake, life)
    assert not check(lake).problems
