"""Show a run in the terminal: its verdict, its vital signs, and every metric with its last value.

rollscope show grpo-1
rollscope show grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope show grpo-1 --json
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.errors import RollscopeError
from rollscope.strict_json import plain

from ._health import health_json, health_of, sign_lines, verdict_lines
from ._metric_table import Columns, add_row, matching_names, metric_table, metrics_with_units, sparklines
from ._numbers import number, took
from ._styles import state_style
from ._terminal import in_line, print_json, styled

if TYPE_CHECKING:
    from rollscope.store.run import Run

FACTS = {"id": "run", "project": "project", "algorithm": "algorithm", "framework": "framework"}  # key -> label


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; optional if there is only one run")
    parser.add_argument("--verify", action="store_true", help="read every byte of the run's sealed files and check it")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="only metrics that match, such as 'reward*' or a framework's name; can be given several times",
    )


def run(args: argparse.Namespace) -> int:
    reader = rollscope.open(args.dir).run(args.target)
    if args.verify:
        reader.verify()
    metrics = metrics_with_units(reader)
    names = matching_names(reader, metrics["name"].tolist(), args.metric)
    if args.json:
        print_json(_json(reader, metrics, names))
    else:
        _print(reader, metrics, names)
    return 0


def _json(reader: Run, metrics: Columns, names: set[str]) -> dict[str, Any]:
    rows = [
        {key: plain(values[i]) for key, values in metrics.items()}
        for i, name in enumerate(metrics["name"])
        if name in names
    ]
    judged = plain(health_json(health_of(reader)))
    return {"run": plain(reader.record()), **judged, "metrics": rows, "damage": [str(d) for d in reader.damage]}


def _print(reader: Run, metrics: Columns, names: set[str]) -> None:
    from rich.console import Console

    console, record = Console(), reader.record()
    console.print(_headline(record))
    console.print(
        styled("  ".join(f"{label} {in_line(record[key])}" for key, label in FACTS.items() if record[key]), "dim")
    )
    if record["reason"]:
        console.print(styled(f"reason {record['reason']}", "dim"))
    judged = health_json(health_of(reader))
    for line in [*verdict_lines(judged), *sign_lines(judged)]:
        console.print(line)
    console.print(_table(reader, metrics, names, console.width))
    for note, noted in catalogue_notes(names, record["framework"]).items():
        console.print(styled(in_line(f"{', '.join(noted)}: {note}"), "dim"))
    for damage in reader.damage:
        console.print(styled(in_line(f"damaged: {damage}"), "red"))


def _headline(record: Any) -> Any:
    step = "no step yet" if record["step"] is None else f"step {record['step']:,}"
    title = styled(in_line(record["name"] or record["id"]), "bold")
    return (
        title.append("  ")
        .append(in_line(record["state"]), state_style(record["state"]))
        .append(f"  {step}  {took(record)}")
    )


def _table(reader: Run, metrics: Columns, chosen: set[str], width: int) -> Any:
    """Metrics under the heading of their section, in the order of their names."""
    row_of = {name: i for i, name in enumerate(metrics["name"].tolist())}
    names = sorted(chosen, key=lambda name: (_section(name), name))
    cells = [
        ("  " + in_line(name), number(metrics["last"][row_of[name]]), in_line(metrics["unit"][row_of[name]]))
        for name in names
    ]
    headings = [(in_line(_section(name)), "", "") for name in names]
    table, bars = metric_table([*cells, *headings], width)
    rows = zip(names, cells, sparklines(reader, names, bars), strict=True)
    for section, group in itertools.groupby(rows, lambda row: _section(row[0])):
        table.add_row()
        table.add_row(styled(in_line(section), "bold"))
        for _, (name, value, unit), line in group:
            add_row(table, name, line, value, unit)
    return table


def _section(name: str) -> str:
    return name.split("/")[0] if "/" in name else "general"


def catalogue_notes(names: set[str], framework: str | None) -> dict[str, list[str]]:
    """The catalogue's notes on a framework's numbers: note -> the names it is about."""
    from rollscope.catalog.names.resolve import lookup

    notes: dict[str, list[str]] = {}
    for name in sorted(names) if framework else ():
        with contextlib.suppress(RollscopeError):  # the name has several meanings
            if (entry := lookup(name, framework)) is not None and entry.via is not None and entry.via.note:
                notes.setdefault(entry.via.note, []).append(name)
    return notes
