"""The rules, one file per symptom. Importing this package registers them all in `rule.RULES`."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
