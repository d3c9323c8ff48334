"""List the runs in a folder, newest first.

rollscope ls
rollscope ls --dir runs --json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import rollscope
from rollscope.store.listing.unreadable import STATE as UNREADABLE
from rollscope.strict_json import plain

from ._arguments import count
from ._numbers import local_time, took
from ._styles import state_style
from ._terminal import in_line, print_json, say, styled

COLUMNS = ("run", "name", "project", "state", "step", "started", "took")
STEP = COLUMNS.index("step")
MANY = 500  # runs: a longer list is printed without colours, since laying it out takes seconds
WIDE = 1_000  # columns of output that goes to no terminal, so that nothing is cut
FIELDS = (  # of --json
    *("id", "name", "project", "group", "tags", "algorithm", "framework"),
    *("state", "reason", "started_ns", "ended_ns", "step", "attempt"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", help="only runs of this project")
    parser.add_argument("--all", action="store_true", help="archived runs too")
    parser.add_argument("--limit", type=count, metavar="N", help="only the N newest")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    archived = set() if args.all else {id for id, said in store.marks().items() if said.archived}
    limit = None if args.limit is None else args.limit + len(archived)
    records = [record for record in store.newest(limit, args.project) if record["id"] not in archived][: args.limit]
    if args.json:
        rows = [{field: plain(record[field]) for field in FIELDS} for record in records]
        print_json(rows)
    else:
        _print(records, args.dir)
        for record in records:
            if record["state"] == UNREADABLE:
                say(record["reason"], sys.stderr)
    return 0


def _print(records: list[Any], folder: str) -> None:
    from rich.console import Console
    from rich.table import Table

    if not records:
        say(f"No runs in {folder}. Record one with rollscope.init(), or try: rollscope demo")
        return
    if len(records) > MANY:
        print("\n".join(_plain_lines(records)))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column == "step" else "left", no_wrap=True, overflow="ellipsis")
    longest = max(len(in_line(record["id"])) for record in records)
    table.columns[0].min_width = longest  # people copy ids: cut the other columns instead
    for record in records:
        table.add_row(*_cells(record))
    console = Console()
    console.width = max(console.width, longest + 2) if console.is_terminal else WIDE
    console.print(table)


def _plain_lines(records: list[Any]) -> Iterator[str]:
    """The same table as text, each line as wide as it needs to be."""
    rows = [list(COLUMNS), *(_words(record) for record in records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if i == STEP else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _cells(record: Any) -> list[Any]:
    id, name, project, state, *rest = _words(record)
    return [styled(id), styled(name), styled(project), styled(state, state_style(state)), *rest]


def _words(record: Any) -> list[str]:
    """The cells of a row, safe to print."""
    id, name, project, state = (in_line(record[field] or "") for field in ("id", "name", "project", "state"))
    step = "" if record["step"] is None else str(record["step"])
    return [id, "" if name == id else name, project, state, step, local_time(record["started_ns"]), took(record)]
