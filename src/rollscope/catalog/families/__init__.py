"""The entries themselves, a family a file. Importing this package fills `catalog.spec.METRICS`."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

from rollscope.catalog.compute.inputs import resolve_needs  # noqa: E402  # when every entry and every derived quantity is known

resolve_needs()
