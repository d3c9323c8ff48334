"""The object whose method is being called: frameworks tell their loggers nothing about it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .quiet import quiet


@quiet
def calling(is_it: Callable[[Any], bool]) -> Any:
    """The nearest caller's `self` that is the one looked for, if there is one."""
    frame: Any = sys._getframe()
    while frame is not None:
        found = frame.f_locals.get("self")
        if found is not None and is_it(found):
            return found
        frame = frame.f_back
    return None
