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
from ._shown import shown

WIDE = 1_000  # where nobody looks at a screen, nothing is cut
STYLE = {"running": "green", "finished": "default", "crashed": "red", "killed": "red"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", help="only runs of this project")
    parser.add_argument("--limit", type=count, metavar="N", help="the N newest")


def run(args: argparse.Namespace) -> int:
    runs = [record for record in rollscope.open(args.dir).runs() if args.project in (None, record["project"])][
        : args.limit
    ]
    if args.json:
        keep = (
            "id",
            "name",
            "project",
            "group",
            "tags",
            "algorithm",
            "framework",
            "state",
            "reason",
            "started_ns",
            "ended_ns",
            "step",
            "attempt",
        )
        print(
            json.dumps([{name: plain(record[name]) for name in keep} for record in runs], indent=2, ensure_ascii=False)
        )
    else:
        _print(runs, args.dir)
    return 0


def _print(runs: list[Any], folder: str) -> None:
    from rich.console import Console
    from rich.table import Table

    if not runs:
        print(f"No runs in {folder}. Record one with rollscope.init(), or see one with: rollscope demo")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("run", "project", "state", "step", "started", "took"):
        table.add_column(column, justify="right" if column == "step" else "left", no_wrap=True, overflow="ellipsis")
    longest = max(len(record["id"]) for record in runs)
    table.columns[0].min_width = longest  # an id is there to be copied: what does not fit is cut from the others
    for record in runs:
        state = shown(record["state"], STYLE.get(record["state"], "default"))
        step = "" if record["step"] is None else str(record["step"])
        table.add_row(
            shown(record["id"]), shown(record["project"]), state, step, _when(record["started_ns"]), took(record)
        )
    console = Console()
    console.width = max(console.width, longest + 2) if console.is_terminal else WIDE
    console.print(table)


def _when(time_ns: int | None) -> str:
    return "" if time_ns is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9))


def took(record: Any) -> str:
    """How long from the first to the last thing it said."""
    if record["started_ns"] is None or record["ended_ns"] is None:
        return ""
    seconds = (record["ended_ns"] - record["started_ns"]) / 1e9
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
