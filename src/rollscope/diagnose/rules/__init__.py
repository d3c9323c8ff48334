"""The rules, one symptom a file. Importing this package fills `diagnose.rule.RULES`; a file added here is a rule."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
