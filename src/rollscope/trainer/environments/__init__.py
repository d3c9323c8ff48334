"""The environments that come with the trainer.

`load` finds them by name, or yours by `module:Class`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, nearest
from rollscope.trainer.environment import Environment

SHIPPED = {
    "countdown": "rollscope.trainer.environments.countdown:Countdown",
    "sorting": "rollscope.trainer.environments.sorting:Sorting",
    "guessing": "rollscope.trainer.environments.guessing:Guessing",
    "calculator": "rollscope.trainer.environments.calculator:Calculator",
    "shop": "rollscope.trainer.environments.shop:Shop",
}


def load(name: str, options: Mapping[str, Any] | None = None) -> Environment:
    """An environment by its shipped name, or by `module:Class` or `file.py:Class`."""
    if name not in SHIPPED and ":" not in name:
        raise BadInput(
            f"no environment {name!r}.{nearest(name, SHIPPED)} Shipped are {', '.join(SHIPPED)};"
            " your own is 'module:Class' or 'file.py:Class'"
        )
    kind = named(SHIPPED.get(name, name), Environment)
    try:
        environment: Environment = kind(**(options or {}))
    except TypeError as error:
        raise BadInput(f"environment {name!r} does not take the options {dict(options or {})}: {error}") from None
    return environment


def named(where: str, kind: type) -> type:
    """The class named by `module:Class` or `file.py:Class`; it must be a subclass of `kind`."""
    module, _, attribute = where.partition(":")
    if module.endswith(".py"):
        path = Path(module).resolve()
        if not path.is_file():
            raise BadInput(f"there is no file {module!r} (looked for {str(path)!r})")
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        module = path.stem
    try:
        named_class = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"cannot load {where!r}: {error}. Write it as 'module:Class' or 'file.py:Class'") from None
    if not (isinstance(named_class, type) and issubclass(named_class, kind)):
        raise BadInput(f"{where!r} is not a subclass of {kind.__name__}")
    return named_class
