"""Guard our code inside another program: an exception is printed once on stderr, never raised."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

from rollscope.visible import visible

_printed: set[str] = set()


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it returns None instead of raising."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _say(function, error)
            return None

    return guarded


def _say(function: Callable[..., Any], error: Exception) -> None:
    with contextlib.suppress(Exception):  # an error that cannot be put into words
        print_once(
            f"rollscope: {function.__qualname__} failed ({error!r}); training goes on, and this part is not recorded"
        )


def print_once(message: str) -> None:
    """Print a sentence the first time, if there is an stderr that takes it."""
    if message not in _printed:
        _printed.add(message)
        with contextlib.suppress(OSError, ValueError):  # a full disk, a closed file
            print(visible(message), file=sys.stderr)
