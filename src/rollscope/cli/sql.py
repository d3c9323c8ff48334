"""Ask a question in SQL over the tables of a run, or of all runs. It can only read.

rollscope sql "select name, max(value) from metrics group by name" --run grpo-1
rollscope sql "select run, count(*) as samples, avg(reward) from samples group by run" --json
rollscope sql --tables
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import Any

import rollscope
from rollscope.errors import BadInput
from rollscope.store.schema import TABLES
from rollscope.store.tables.sql import SECONDS
from rollscope.strict_json import plain

from ._arguments import seconds
from ._shown import shown


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="?",
        help="one SELECT over runs, steps, metrics, samples, turns, spans, host, evals, findings, notes",
    )
    parser.add_argument("--run", dest="target", metavar="RUN", help="only this run (default: all runs of the folder)")
    parser.add_argument("--csv", action="store_true", help="print CSV")
    parser.add_argument("--seconds", type=seconds, default=SECONDS, help=f"stop after so long (default {SECONDS:g})")
    parser.add_argument("--tables", action="store_true", help="list the tables and their columns")


def run(args: argparse.Namespace) -> int:
    if args.tables:
        return _list_tables(args.json)
    if not args.query:
        raise BadInput(
            'say what to ask, as in: rollscope sql "select count(*) from samples". The tables: rollscope sql --tables'
        )
    store = rollscope.open(args.dir)
    found = (store.run(args.target) if args.target else store).sql(args.query, as_arrow=True, seconds=args.seconds)
    if args.json:
        print(
            json.dumps(
                [{key: plain(value) for key, value in row.items()} for row in found.to_pylist()],
                indent=2,
                ensure_ascii=False,
                default=str,
            )
        )
    elif args.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(found.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in found.columns), strict=True))
    else:
        _print(found)
    return 0


def _print(found: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in found.column_names:
        table.add_column(shown(name), overflow="fold")
    for row in found.slice(0, 1000).to_pylist():
        table.add_row(*(shown(value) for value in row.values()))
    Console().print(table)
    if len(found) > 1000:
        print(f"... and {len(found) - 1000} more rows (all of them: --json or --csv)")


def _list_tables(as_json: bool) -> int:
    if as_json:
        print(
            json.dumps(
                {
                    name: [{"name": c.name, "type": c.type, "doc": c.doc} for c in columns]
                    for name, columns in TABLES.items()
                },
                indent=2,
            )
        )
        return 0
    for name, columns in TABLES.items():
        print(name)
        for column in columns:
            print(f"  {column.name:<20}{column.type:<11}{column.doc}")
    return 0
