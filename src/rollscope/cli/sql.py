"""Run a SQL query over the tables of one run, or of all runs. Queries can only read.

rollscope sql "select name, max(value) from metrics group by name" --run grpo-1
rollscope sql "select run, count(*) as samples, avg(reward) from samples group by run" --json
rollscope sql "select step, value, unit from metric('critic/rewards/mean')" --run grpo-1
rollscope sql --tables
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from typing import Any

from rollscope.errors import BadInput
from rollscope.store.schema import TABLES
from rollscope.store.tables.sql import SECONDS
from rollscope.strict_json import plain
from rollscope.visible import csv_cell, visible

from ._arguments import seconds
from ._terminal import print_json, styled

ROWS = 1000  # that are printed as a table


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="?",
        help="one SELECT over runs, steps, metrics, samples, turns, spans, host, evals, findings, notes",
    )
    parser.add_argument("--run", dest="target", metavar="RUN", help="only this run (default: all runs in the folder)")
    parser.add_argument(
        "--csv", action="store_true", help="print CSV, with an apostrophe before texts that start like a formula"
    )
    parser.add_argument("--seconds", type=seconds, default=SECONDS, help=f"time limit (default {SECONDS:g})")
    parser.add_argument("--tables", action="store_true", help="list the tables and their columns")


def run(args: argparse.Namespace) -> int:
    if args.tables:
        return _list_tables(args.json)
    if not args.query:
        raise BadInput(
            'give a query, as in: rollscope sql "select count(*) from samples". The tables: rollscope sql --tables'
        )
    answer = _answer(args.dir, args.target, args.query, args.seconds)
    if args.json:
        rows = [dict(zip(answer.column_names, map(plain, row), strict=True)) for row in _rows(answer)]
        print_json(rows)
    elif args.csv:
        _print_csv(answer)
    else:
        _print(answer)
    return 0


def _answer(folder: str, run: str | None, query: str, seconds: float) -> Any:
    """The answer as an Arrow table, from a process whose memory and time are limited."""
    import pyarrow as pa

    from rollscope.server.questions.worker import one

    question = {"path": folder, "run": run, "query": query, "seconds": seconds}
    with one() as worker, worker.ask("table", seconds, question) as stream:
        return pa.ipc.open_stream(stream).read_all()


def _rows(answer: Any) -> Iterator[tuple[Any, ...]]:
    """The rows, with a text where Python has no such value."""
    from rollscope.store.tables.values import python_values

    return zip(*map(python_values, answer.columns), strict=True)


def _print_csv(answer: Any) -> None:
    """Texts are made visible, as in a table; --json and `rollscope export` give them exactly."""
    writer = csv.writer(sys.stdout)
    for row in (answer.column_names, *_rows(answer)):
        writer.writerow([csv_cell(visible(cell)) if isinstance(cell, str) else cell for cell in row])


def _print(answer: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in answer.column_names:
        table.add_column(styled(name), overflow="fold")
    for row in _rows(answer.slice(0, ROWS)):
        table.add_row(*map(styled, row))
    Console().print(table)
    if len(answer) > ROWS:
        print(f"... and {len(answer) - ROWS} more rows (use --json or --csv to print them all)")


def _list_tables(as_json: bool) -> int:
    if as_json:
        tables = {
            name: [{"name": c.name, "type": c.type, "doc": c.doc} for c in columns] for name, columns in TABLES.items()
        }
        print_json(tables)
        return 0
    for name, columns in TABLES.items():
        print(name)
        for column in columns:
            print(f"  {column.name:<20}{column.type:<11}{column.doc}")
    return 0
