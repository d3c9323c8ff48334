"""Show a run in the terminal: what it is, and every metric with a sparkline and its last value.

rollscope show grpo-1
rollscope show grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope show grpo-1 --json
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import itertools
import json
import math
from typing import Any

import numpy as np

import rollscope
from rollscope.errors import RollscopeError, UnknownMetric, nearest
from rollscope.strict_json import plain

from ._shown import shown
from .ls import STYLE, took

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
FEWEST = 8  # bars, in a terminal however narrow
GAP = 2  # columns between two


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument("--verify", action="store_true", help="read every byte of the run's sealed files and check it")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="only metrics that fit, such as 'reward*' or a framework's name; may be given several times",
    )


def run(args: argparse.Namespace) -> int:
    reader = rollscope.open(args.dir).run(args.target)
    if args.verify:
        reader.verify()
    found = with_units(reader)
    chosen = chosen_names(reader, found["name"].tolist(), args.metric)
    if args.json:
        rows = [
            {key: plain(values[i]) for key, values in found.items()}
            for i, name in enumerate(found["name"])
            if name in chosen
        ]
        print(
            json.dumps(
                {"run": plain(reader.record()), "metrics": rows, "damage": [str(d) for d in reader.damage]},
                indent=2,
                ensure_ascii=False,
            )
        )
        return 0
    _print(reader, found, chosen)
    return 0


def chosen_names(reader: Any, names: list[str], patterns: list[str] | None) -> set[str]:
    if not patterns:
        return set(names)
    chosen: set[str] = set()
    for pattern in patterns:
        fits = set(fnmatch.filter(names, pattern)) or {
            reader.naming.find(pattern, names, reader.facts.get("framework"))
        } & set(names)
        if not fits:
            raise UnknownMetric(
                f"no metric of run {reader.id} fits {pattern!r}.{nearest(pattern, names)} See them all: rollscope show {reader.id}"
            )
        chosen |= fits
    return chosen


def _print(reader: Any, found: dict[str, Any], chosen: set[str]) -> None:
    from rich.console import Console

    console, record = Console(), reader.record()
    step = "no step yet" if record["step"] is None else f"step {record['step']:,}"
    state = (record["state"], STYLE.get(record["state"], "default"))
    console.print(
        shown(record["name"] or record["id"], "bold").append("  ").append(*state).append(f"  {step}  {took(record)}")
    )
    for line in _about(record, reader):
        console.print(shown(line, "dim"))
    console.print(_table(reader, found, chosen, console.width))
    for note, names in known(chosen, record["framework"]).items():
        console.print(shown(f"{', '.join(names)}: {note}", "dim"))
    for damage in reader.damage:
        console.print(shown(f"damaged: {damage}", "red"))


def _table(reader: Any, found: dict[str, Any], chosen: set[str], width: int) -> Any:
    """Sections in the order of their names, each with its metrics."""
    at = {name: i for i, name in enumerate(found["name"].tolist())}
    names = sorted(chosen, key=lambda name: (_section(name), name))
    cells = [("  " + name, number(found["last"][at[name]]), found["unit"][at[name]]) for name in names]
    table, bars = columns([*cells, *((_section(name), "", "") for name in names)], width)
    rows = zip(names, cells, sparklines(reader, names, bars), strict=True)
    for section, group in itertools.groupby(rows, lambda row: _section(row[0])):
        table.add_row()
        table.add_row(shown(section, "bold"))
        for _, (name, value, unit), line in group:
            add(table, name, line, value, unit)
    return table


def _section(name: str) -> str:
    return name.split("/")[0] if "/" in name else "general"


def columns(cells: list[tuple[str, str, str]], width: int) -> tuple[Any, int]:
    """A table for name, line, value and unit, and how many bars a line has room for. Where it is narrow lines get shorter, and then names are folded; no value is cut."""
    from rich.table import Table

    name, value, unit = (max(map(len, column)) for column in zip(*cells, strict=True)) if cells else (0, 0, 0)
    room = width - value - unit - 4 * GAP
    bars = min(max(room - name, FEWEST), WIDTH)
    table = Table(box=None, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(width=min(name, max(room - bars, FEWEST)), overflow="fold")
    table.add_column(max_width=bars, no_wrap=True)
    for size in (value, unit):
        table.add_column(width=size, no_wrap=True)
    return table, bars


def add(table: Any, name: str, line: str, value: str, unit: str) -> None:
    table.add_row(shown(name), shown(line, "cyan"), value, shown(unit, "dim"))


def with_units(reader: Any) -> dict[str, Any]:
    """`reader.metrics()`, with the units of a framework's names too, where its number is ours."""
    from rollscope.views.dictionary import meaning

    found: dict[str, Any] = reader.metrics()
    framework = reader.facts.get("framework")
    if not framework:
        return found
    meant = [meaning(name, framework) for name in found["name"].tolist()]
    units = [
        unit or (m.found.entry.unit if m.found and m.same and m.scale == 1 else "")
        for unit, m in zip(found["unit"].tolist(), meant, strict=True)
    ]
    return {**found, "unit": np.array(units, object)}


def known(names: set[str], framework: str | None) -> dict[str, list[str]]:
    """What the catalogue says of the framework's numbers among these: note -> the names it is about."""
    from rollscope.catalog.names.dialects import lookup

    found: dict[str, list[str]] = {}
    for name in sorted(names) if framework else ():
        with contextlib.suppress(RollscopeError):  # a name of several meanings
            if (entry := lookup(name, framework)) is not None and entry.via is not None and entry.via.note:
                found.setdefault(entry.via.note, []).append(name)
    return found


def _about(record: Any, reader: Any) -> list[str]:
    parts = [
        f"{label} {record[key]}"
        for key, label in (
            ("id", "run"),
            ("project", "project"),
            ("algorithm", "algorithm"),
            ("framework", "framework"),
        )
        if record[key]
    ]
    why = [f"reason {record['reason']}"] if record["reason"] else []
    return ["  ".join(parts), *why]


def sparklines(reader: Any, names: list[str], width: int = WIDTH) -> list[str]:
    """One line of bars per metric, each bar the mean of its stretch of steps; a gap where there is no number."""
    if not names:
        return []
    last = max(reader.last_step or 1, 1)
    means = reader.buckets(names, 0, last, min(width, last + 1))["mean"]
    return [sparkline(row) for row in means]


def sparkline(values: np.ndarray[Any, Any]) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ""
    low, high = float(finite.min()), float(finite.max())
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((v - low) * scale)] if math.isfinite(v) else " " for v in values.tolist())


def number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else str(value)
