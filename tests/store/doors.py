"""Every door of a reader: what Python, the command line and a page may ask of one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.errors import RollscopeError
from rollscope.store.schema import TABLES

Ask = Callable[[Any], object]


def _series(run: Any) -> None:
    for name in run.metrics()["name"]:
        for how in ({}, {"points": 5}, {"x": "time"}, {"x": "tokens"}, {"rank": 0}):
            _said(lambda name=name, how=how: run.series(name, **how))


def _each_sample(run: Any) -> None:
    for id in run.samples(columns=["id"])["id"]:
        if id is not None:
            run.sample(id)
            run.turns(id)


def _said(ask: Callable[[], object]) -> None:
    """An answer, or a sentence of ours."""
    try:
        ask()
    except RollscopeError as error:
        assert str(error).strip()


DOORS: dict[str, Ask] = {
    "record": lambda run: run.record(),
    "facts": lambda run: (run.facts, run.config, run.declared, run.state, run.step_range, run.time_range),
    "metrics": lambda run: run.metrics(),
    "series": _series,
    "buckets": lambda run: run.buckets(list(run.metrics()["name"]), 0, 10, 5),
    "steps": lambda run: run.steps(),
    "samples": lambda run: run.samples(),
    "samples by SQL": lambda run: run.samples(where="reward >= 0", order_by="reward desc, id"),
    "samples of a step": lambda run: run.samples(step=3),
    "each sample": _each_sample,
    "statistics": lambda run: run.rollups(),
    "counts": lambda run: (run.count_by_step("samples"), run.count_by_step("spans")),
    "turns": lambda run: run.turns(),
    "spans": lambda run: (run.spans(), run.spans(step=1, lo_ns=0, lanes=["trainer/0"])),
    "evals": lambda run: (run.evals(), run.evals("e")),
    "search": lambda run: (list(run.search("good")), list(run.search("o+", regex=True, ignore_case=True))),
    "verify": lambda run: run.verify(),
    **{f"table {name}": lambda run, name=name: run.table(name) for name in TABLES},  # type: ignore[misc]
    "sql": lambda run: [run.sql(f"select * from {name}") for name in TABLES],
}


def failing(root: Path) -> dict[str, str]:
    """The doors that raise, each asked of a new reader, and what they raise."""
    failures: dict[str, str] = {}
    asks: dict[str, Callable[[], object]] = {"runs": lambda: rs.open(root).runs()}
    asks |= {name: lambda ask=ask: ask(rs.open(root).run("r1")) for name, ask in DOORS.items()}  # type: ignore[misc]
    for name, ask in asks.items():
        try:
            ask()
        except Exception as error:
            failures[name] = repr(error)[:300]
    return failures
