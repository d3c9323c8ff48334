"""The entries of the catalogue, one family per file. Importing them fills `spec.METRICS`."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

# Imported last: every entry and every derived quantity must be known by then.
from rollscope.catalog import dialects  # noqa: E402
from rollscope.catalog.compute.inputs import resolve_needs  # noqa: E402

dialects.enter()
resolve_needs()
