"""A short table on the terminal for each step: the numbers people look at first.

Its last line says how many more there are. Notes and findings are printed as one line each. `every`
prints only each n-th step; `names` are patterns of the metrics to show.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rollscope.visible import visible

from . import Row
from .numbers import Number, numbers

FIRST = (  # shown by default: the best known names, in reading order
    "reward/mean",
    "reward/generated/mean",
    "reward",
    "critic/score/mean",
    "policy/loss*",
    "loss",
    "actor/pg_loss",
    "policy/entropy",
    "entropy",
    "policy/kl_ref_k3",
    "kl",
    "policy/clip/region",
    "optimiser/grad_norm",
    "grad_norm",
    "optimiser/lr",
    "length/completion/mean",
    "length/truncated",
    "group/zero_spread",
    "time/step",
    "perf/throughput",
)
LIMIT = 10


class ConsoleSink:
    """Prints metrics, notes and findings."""

    def __init__(
        self,
        info: Mapping[str, Any],
        dialect: str | None = None,
        *,
        every: int = 1,
        names: Iterable[str] = (),
        console: Console | None = None,
    ) -> None:
        self._label = visible(str(info.get("name") or info.get("id") or "run"))
        self._dialect = dialect
        self._every = max(1, every)
        self._names = tuple(names)
        self._console: Console | None = console or Console(highlight=False)

    def write(self, rows: Sequence[Row]) -> None:
        console = self._console
        assert console is not None, "the console sink was closed"
        for row in rows:
            if row.table == "metrics" and (row.step or 0) % self._every == 0:
                console.print(self._table(row.step, numbers(row.data, self._dialect)))
            elif row.table in ("notes", "findings"):
                text = row.data.get("text") or row.data.get("claim") or ""
                console.print(Text(visible(f"{self._label} · {text}"), style="italic"))

    def _table(self, step: int | None, values: Mapping[str, Number]) -> Table:
        shown = choose(values, self._names)
        more = len(values) - len(shown)
        plain: dict[str, Any] = {"box": None, "show_header": False, "pad_edge": False}
        title = Text(f"{self._label} · step {step}")  # text, not markup
        table = Table(title=title, title_justify="left", title_style="bold", **plain)
        table.add_column(style="dim")
        table.add_column(justify="right")
        for name in shown:
            table.add_row(Text(visible(name)), Text(readable(values[name])))
        if more:
            table.add_row(Text(f"and {more} more"), Text(""))
        return table

    def close(self) -> None:
        self._console = None


def choose(values: Mapping[str, Number], names: Sequence[str] = ()) -> list[str]:
    """The names to show: those that match `names`, else the best known first, up to the limit."""
    if names:
        return [name for pattern in names for name in values if fnmatch.fnmatchcase(name, pattern)]
    first = [name for pattern in FIRST for name in values if fnmatch.fnmatchcase(name, pattern)]
    return list(dict.fromkeys([*first, *values]))[:LIMIT]


def readable(value: Number) -> str:
    """A number for people: five digits, integers in full, a dash for no data."""
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.5g}"
