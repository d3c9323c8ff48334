"""Listen to a method or a function. What we do there never raises into the program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .quiet import quiet


def after(owner: Any, name: str, then: Callable[..., None]) -> None:
    """Call `then(result, *args)` after a method of an object, or a function of a module."""
    method, then = getattr(owner, name), quiet(then)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        then(result, *args)
        return result

    setattr(owner, name, wrapped)


def before(owner: Any, name: str, first: Callable[..., None]) -> None:
    """Call `first(*args, **kwargs)` ahead of a method of an object."""
    method, first = getattr(owner, name), quiet(first)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        first(*args, **kwargs)
        return method(*args, **kwargs)

    setattr(owner, name, wrapped)


def around(owner: Any, name: str, before: Callable[..., None], then: Callable[[], None]) -> None:
    """Call `before(*args)` ahead of a method and `then()` when it returns or raises."""
    method, before, then = getattr(owner, name), quiet(before), quiet(then)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before(*args)
        try:
            return method(*args, **kwargs)
        finally:
            then()

    setattr(owner, name, wrapped)
