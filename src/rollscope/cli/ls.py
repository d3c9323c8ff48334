"""List the runs in a folder, newest first.

rollscope ls
rollscope ls --dir runs --json
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import rollscope
from rollscope.strict_json import plain

from ._arguments import count
from ._numbers import took
from ._styles import state_style
from ._terminal import styled

WIDE = 1_000  # columns of output that goes to no terminal, so that nothing is cut
FIELDS = (  # of --json
    *("id", "name", "project", "group", "tags", "algorithm", "framework"),
    *("state", "reason", "started_ns", "ended_ns", "step", "attempt"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", help="only runs of this project")
    parser.add_argument("--limit", type=count, metavar="N", help="only the N newest")


def run(args: argparse.Namespace) -> int:
    records = [record for record in rollscope.open(args.dir).runs() if args.project in (None, record["project"])]
    records = records[: args.limit]
    if args.json:
        rows = [{field: plain(record[field]) for field in FIELDS} for record in records]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        _print(records, args.dir)
    return 0


def _print(records: list[Any], folder: str) -> None:
    from rich.console import Console
    from rich.table import Table

    if not records:
        print(f"No runs in {folder}. Record one with rollscope.init(), or try: rollscope demo")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("run", "project", "state", "step", "started", "took"):
        table.add_column(column, justify="right" if column == "step" else "left", no_wrap=True, overflow="ellipsis")
    longest = max(len(record["id"]) for record in records)
    table.columns[0].min_width = longest  # people copy ids: cut the other columns instead
    for record in records:
        table.add_row(*_cells(record))
    console = Console()
    console.width = max(console.width, longest + 2) if console.is_terminal else WIDE
    console.print(table)


def _cells(record: Any) -> list[Any]:
    state = styled(record["state"], state_style(record["state"]))
    step = "" if record["step"] is None else str(record["step"])
    started = _local_time(record["started_ns"])
    return [styled(record["id"]), styled(record["project"]), state, step, started, took(record)]


def _local_time(time_ns: int | None) -> str:
    return "" if time_ns is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9))
