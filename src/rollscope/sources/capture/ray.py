"""Ray: what the program's actors and tasks did becomes spans of its run."""

from __future__ import annotations

import os
from types import ModuleType

from rollscope.sources.live.wrap import after
from rollscope.sources.ray import watch


def listen(module: ModuleType) -> None:
    """Watch the cluster that the program starts or connects to."""
    if run := os.environ.get("ROLLSCOPE_RUN_ID"):
        after(module, "init", lambda *_: watch(run, os.environ["ROLLSCOPE_DIR"]))
