"""Show a run in the terminal: its verdict, its vital signs, and every metric with its last value.

rollscope show grpo-1
rollscope show grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope show grpo-1 --metric timing_per_token_ms/gen
rollscope show grpo-1 --metric kl --dialect trl:grpo
rollscope show grpo-1 --json
"""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.strict_json import plain

from ._health import health_json, health_of, sign_lines, verdict_lines
from ._metric_table import Columns, add_row, asked_metrics, metric_table, sparklines
from ._numbers import last_value, took
from ._styles import state_style
from ._terminal import in_line, print_json, styled

if TYPE_CHECKING:
    from rollscope.store.naming import Found
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
    parser.add_argument("--dialect", help="whose names --metric gives, such as trl:grpo")


def run(args: argparse.Namespace) -> int:
    reader = rollscope.open(args.dir).run(args.target)
    if args.verify:
        reader.verify()
    metrics, found = asked_metrics(reader, args.metric, args.dialect)
    if args.json:
        print_json(_json(reader, metrics, found))
    else:
        _print(reader, metrics, found)
    return 0


def _json(reader: Run, metrics: Columns, found: list[Found]) -> dict[str, Any]:
    rows = [
        {
            **{key: plain(values[i]) for key, values in metrics.items()},
            "stored": one.stored,
            "warning": one.warning,
            "why": one.why,
        }
        for i, one in enumerate(found)
    ]
    judged = plain(health_json(health_of(reader)))
    return {"run": plain(reader.record()), **judged, "metrics": rows, "damage": [str(d) for d in reader.damage]}


def _print(reader: Run, metrics: Columns, found: list[Found]) -> None:
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
    console.print(_table(reader, metrics, console.width))
    for text in [*_readings(found), *catalogue_notes(reader, [one.stored for one in found])]:
        console.print(styled(in_line(text), "dim"))
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


def _table(reader: Run, metrics: Columns, width: int) -> Any:
    """Metrics under the heading of their section, in the order of their names."""
    row_of = {name: i for i, name in enumerate(metrics["name"].tolist())}
    names = sorted(row_of, key=lambda name: (_section(name), name))
    cells = [
        ("  " + in_line(name), last_value(metrics["last"][row_of[name]]), in_line(metrics["unit"][row_of[name]]))
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


def _readings(found: list[Found]) -> list[str]:
    """How each name that the run did not log was read, and in what its number differs."""
    return [f"{one.asked}: {text}" for one in found for text in (one.why, one.warning) if text]


def catalogue_notes(reader: Run, names: list[str]) -> list[str]:
    """The catalogue's notes on a framework's numbers, each with the names it is about."""
    from rollscope.views.dictionary import dialect_of, meaning

    notes: dict[str, list[str]] = {}
    for name in sorted(names):
        match = meaning(name, dialect_of(reader)).match
        if match is not None and match.via is not None and match.via.note:
            notes.setdefault(match.via.note, []).append(name)
    return [f"{', '.join(noted)}: {note}" for note, noted in notes.items()]
