"""Show a run in the terminal: what it is, and every metric with a sparkline and its last value.

rollscope show grpo-1
rollscope show grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope show grpo-1 --json
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import math
from typing import Any

import numpy as np

import rollscope
from rollscope.cli._shown import shown
from rollscope.cli.ls import STYLE, took
from rollscope.errors import RollscopeError, UnknownMetric, nearest
from rollscope.store.plain import plain

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument("--verify", action="store_true", help="read every byte of the run's sealed files and check it")
    parser.add_argument(
        "--metric", action="append", metavar="PATTERN", help="only metrics that fit, such as 'reward*' or a framework's name; may be given several times"
    )


def run(args: argparse.Namespace) -> int:
    reader = rollscope.open(args.dir).run(args.target)
    if args.verify:
        reader.verify()
    found = reader.metrics()
    chosen = chosen_names(reader, found["name"].tolist(), args.metric)
    if args.json:
        rows = [{key: plain(values[i]) for key, values in found.items()} for i, name in enumerate(found["name"]) if name in chosen]
        print(json.dumps({"run": plain(reader.record()), "metrics": rows, "damage": [str(d) for d in reader.damage]}, indent=2, ensure_ascii=False))
        return 0
    _print(reader, found, chosen)
    return 0


def chosen_names(reader: Any, names: list[str], patterns: list[str] | None) -> set[str]:
    if not patterns:
        return set(names)
    chosen: set[str] = set()
    for pattern in patterns:
        fits = set(fnmatch.filter(names, pattern)) or {reader.naming.find(pattern, names, reader.facts.get("framework"))} & set(names)
        if not fits:
            raise UnknownMetric(f"no metric of run {reader.id} fits {pattern!r}.{nearest(pattern, names)} See them all: rollscope show {reader.id}")
        chosen |= fits
    return chosen


def _print(reader: Any, found: dict[str, Any], chosen: set[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, record = Console(), reader.record()
    title = Text.assemble(
        shown(record["name"] or record["id"], "bold"),
        "  ",
        (record["state"], STYLE.get(record["state"], "default")),
        f"  step {record['step']}  {took(record)}",
    )
    console.print(title)
    for line in _about(record, reader):
        console.print(shown(line, "dim"))
    order = [i for i, name in enumerate(found["name"]) if name in chosen]
    lines = sparklines(reader, [found["name"][i] for i in order])
    section = None
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for i, line in zip(order, lines, strict=True):
        name = found["name"][i]
        head = name.split("/")[0] if "/" in name else "general"
        if head != section:
            section = head
            table.add_row(shown(f"\n{head}", "bold"))
        table.add_row(shown("  " + name), Text(line, "cyan"), number(found["last"][i]), shown(found["unit"][i], "dim"))
    console.print(table)
    for note, names in known(chosen, record["framework"]).items():
        console.print(shown(f"{', '.join(names)}: {note}", "dim"))
    for damage in reader.damage:
        console.print(shown(f"damaged: {damage}", "red"))


def known(names: set[str], framework: str | None) -> dict[str, list[str]]:
    """What the catalogue says of the framework's numbers among these: note -> the names it is about."""
    from rollscope.catalog.dialects import lookup

    found: dict[str, list[str]] = {}
    for name in sorted(names) if framework else ():
        with contextlib.suppress(RollscopeError):  # a name of several meanings
            if (entry := lookup(name, framework)) is not None and entry.via is not None and entry.via.note:
                found.setdefault(entry.via.note, []).append(name)
    return found


def _about(record: Any, reader: Any) -> list[str]:
    parts = [
        f"{label} {record[key]}"
        for key, label in (("id", "run"), ("project", "project"), ("algorithm", "algorithm"), ("framework", "framework"))
        if record[key]
    ]
    why = [f"reason {record['reason']}"] if record["reason"] else []
    return ["  ".join(parts), *why]


def sparklines(reader: Any, names: list[str], width: int = WIDTH) -> list[str]:
    """One line of bars per metric, each bar the mean of its stretch of steps; a gap where there is no number."""
    if not names:
        return []
    last = max(reader.folder.last_step or 1, 1)
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
