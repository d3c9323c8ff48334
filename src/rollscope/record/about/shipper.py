"""`rs.init(lake=...)`: a process of its own ships the run to a lake while it is recorded.

It outlives this process: it ships how the run ended, and ends by itself when the lake has
everything.
"""

from __future__ import annotations

import os
from pathlib import Path

from rollscope.record.loss import Losses

from . import helper


def ship(folder: Path, lake: str, losses: Losses) -> None:
    """Start the shipper of a run. Raises OSError."""
    where = lake if lake.startswith(("http://", "https://")) else os.path.abspath(lake)
    helper.start(("push", str(folder), "--to", where, "--follow"), "the lake", losses)
