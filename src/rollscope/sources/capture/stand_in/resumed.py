"""The step that a resumed run goes on after. Trackers count on from there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rollscope.sources.live.quiet import quiet

SECONDS = 120.0
READ = "import sys; from rollscope.store import store; print(store.open(sys.argv[1]).run(sys.argv[2]).record()['step'])"


def resumed(which: dict[str, Any]) -> dict[str, Any]:
    """The wish for a run, with the step to go on after if the run is there."""
    if which.get("resume") not in (True, "allow") or not which.get("id"):
        return which
    last = _last_step(str(which.get("dir") or os.environ.get("ROLLSCOPE_DIR") or "runs"), str(which["id"]))
    return which if last is None else {**which, "resume": last}


@quiet
def _last_step(root: str, id: str) -> int | None:
    """The last step of a run. Another process reads it: training never imports a database."""
    if not (Path(root) / id / "run.json").is_file():
        return None
    done = subprocess.run([sys.executable, "-c", READ, root, id], capture_output=True, text=True, timeout=SECONDS)
    word = done.stdout.strip()
    return int(word) if word.isdigit() else None
