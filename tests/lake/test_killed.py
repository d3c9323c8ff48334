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
    life, killed, longest = Life(tmp_path / "runs", seed=9), 0, 0.6
    for round in range(40):
        if round >= 6 and killed > 5:
            break
        life.happen()
        words = [lake.folder, str(life.path), "5", str(round), str(longest)]
        command = [sys.executable, str(HERE / "killed_push.py"), *words]
        hit = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=200).stdout)
        killed, longest = killed + hit, longest if hit > 1 else max(0.03, longest / 2)  # of a machine that is faster
    pushed(lake, life)
    assert killed > 5, "the kills came too late to show anything"
    check_same(lake, life)
    assert not check(lake).problems
