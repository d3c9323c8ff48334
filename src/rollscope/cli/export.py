"""Write a run out: Parquet, CSV, JSON lines, TensorBoard event files, or a Chrome trace of its timeline (opens in Perfetto).

rollscope export grpo-1 --format parquet --out exported
rollscope export grpo-1 --format csv --table metrics --table samples
rollscope export grpo-1 --format tensorboard --out tb --dialect verl
rollscope export grpo-1 --format chrome --out trace.json
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import rollscope
from rollscope.errors import BadInput, nearest
from rollscope.store.schema import TABLES

from ._exports import FORMATS, rows_of, write


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument("--format", default="parquet", choices=FORMATS, help="default: parquet")
    parser.add_argument("--out", metavar="PATH", help="folder to write to, or a file for chrome (default: RUN-export)")
    parser.add_argument(
        "--table",
        action="append",
        metavar="TABLE",
        help="only this table; may be given several times (parquet, csv, jsonl)",
    )
    parser.add_argument("--dialect", help="write metric names as a framework does (tensorboard)")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    for table in args.table or ():
        if table not in TABLES:
            raise BadInput(f"no table {table!r}: there are {', '.join(TABLES)}.{nearest(table, TABLES)}")
    reader = rollscope.open(args.dir).run(args.target)
    out = args.out or (f"{reader.id}-trace.json" if args.format == "chrome" else f"{reader.id}-export")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=args.json, transient=True) as progress:
        task = progress.add_task(args.format, total=None)

        def tell(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        files = write(reader, args.format, out, args.table, args.dialect, tell)
    _report(args, files)
    return 0


def _report(args: argparse.Namespace, files: dict[str, Any]) -> None:
    listed = [{"file": path, "rows": rows, "bytes": os.path.getsize(path)} for path, rows in files.items()]
    if args.json:
        print(json.dumps(listed, indent=2))
        return
    for one in listed:
        print(f"{one['file']}  {rows_of(one['rows'])}  {one['bytes'] / 1e6:.1f} MB")
