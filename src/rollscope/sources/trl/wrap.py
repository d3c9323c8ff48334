"""Listening to a method or a function without being in its way: what we do there never raises into the trainer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rollscope.sources.quiet import quiet


def after(owner: Any, name: str, then: Callable[..., None]) -> None:
    """Call `then(result, *args)` after a method of this object, or a function of this module."""
    method, then = getattr(owner, name), quiet(then)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        then(result, *args)
        return result

    setattr(owner, name, wrapped)


def around(owner: Any, name: str, before: Callable[..., None], then: Callable[[], None]) -> None:
    method, before = getattr(owner, name), quiet(before)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before(*args)
        try:
            return method(*args, **kwargs)
        finally:
            then()

    setattr(owner, name, wrapped)
