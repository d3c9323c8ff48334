"""Train with ms-swift's GRPO while our code fails, once for each fault.

    python swift_faults_run.py OUT FAULT...

Runs in ms-swift's own environment. Writes `OUT/log_history.json` of a training without a fault, and
`OUT/FAULT/log_history.json` of the others. In `fields`, samples lack what our hook reads.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main(out: str, *modes: str) -> None:
    import faults

    faults.install()
    import swift_run

    for mode in ("", *modes):
        folder = Path(out, mode)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["ROLLSCOPE_DIR"] = str(folder / "runs")
        if mode == "fields":  # the last one
            without_fields()
        with faults.broken(mode, str(folder / "runs")):
            history = swift_run.train("split", folder)
        (folder / "log_history.json").write_text(json.dumps(history))


def without_fields() -> None:
    """Samples as a version of ms-swift would give them that calls all their fields otherwise."""
    from rollscope.sources.swift.rollouts import Rollouts

    real = Rollouts._on_batch

    def lacking(self: Any, result: None, samples: list[Any], batches: list[Any]) -> None:
        real(self, result, [SimpleNamespace() for _ in samples], batches)

    Rollouts._on_batch = lacking  # type: ignore[method-assign]


if __name__ == "__main__":
    main(*sys.argv[1:])
