"""The store: append-only columns on disk, read with numpy, Arrow and DuckDB.

It knows columns, not metrics. Writing and reading are separate: a training process imports `log/`
and `schema`; everything else is for readers and for the sealer, which runs in a process of its own.

    schema      every table and column, declared once
    log/        the log of one process: blocks, appended and scanned
    live/       logs that still grow, decoded as they grow
    seal/       turn logs into Parquet sets, merge small sets
    sealed/     Parquet sets, read and checked
    names/      where the names of a run lie
    numbers/    metric rows: merge, bucket, fold, roll up
    series/     one metric, many on one grid, the list of names
    tables/     samples, spans, evaluations: Arrow and SQL
    text/       full-text search
    listing/    the runs of a folder, thousands of them: an index beside them, few opened
    project/    what people say about the runs: tags, names, boards, with author and undo
    folder      the files of one run
    run, store  the door for readers: `open(path)`, `Store`, `Run`

`from rollscope.store import open, Run, Store, Damage` imports a module on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollscope.store.log.frame import Damage

    from .run import Run
    from .store import Store, open

__all__ = ["Damage", "Run", "Store", "open"]
_HOMES = {"open": "store", "Store": "store", "Run": "run", "Damage": "log.frame"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
