"""Guard our code inside another program: an exception is printed once on stderr, never raised."""

from __future__ import annotations

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
            print_once(
                f"rollscope: {function.__qualname__} failed ({error!r});"
                " training goes on, and this part is not recorded"
            )
            return None

    return guarded


def print_once(message: str) -> None:
    if message not in _printed:
        _printed.add(message)
        print(visible(message), file=sys.stderr)
