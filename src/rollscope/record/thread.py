"""Threads where the system may have none to give: a process limit, a full memory, the end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .loss import Losses


def started(work: Callable[[], None], name: str, losses: Losses) -> threading.Thread | None:
    """A daemon thread that runs `work`; None if none can be started now, which is said once."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        losses.say(
            f"no thread could be started ({error}); what is recorded stays in memory, and this is tried again. "
            "`run.flush()` and `run.finish()` write without a thread",
            "threads",
        )
        return None
    return thread
