"""What we do inside somebody's program never raises into it: what fails is said once on stderr, and the program goes on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

_said: set[str] = set()


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or None and a sentence."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            what = f"rollscope: {function.__qualname__} failed ({error!r}); training goes on, and this part is not recorded"
            if what not in _said:
                _said.add(what)
                print(what, file=sys.stderr)
            return None

    return guarded
