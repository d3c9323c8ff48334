"""Export a run as Parquet, CSV, JSON lines, TensorBoard events or a Chrome trace (for Perfetto).

In CSV a text that a spreadsheet would run as a formula has an apostrophe in front: one that starts
with = + - @ or a tab and is no number. Importing it takes the apostrophe off; the other formats are
exact.

With --dialect the metrics have the names and units of a framework: merged values, each with its
unit and the name under which it was recorded. What the framework has no name for is left out.

rollscope export grpo-1 --format parquet --out exported
rollscope export grpo-1 --format csv --table metrics --table samples
rollscope export grpo-1 --format csv --table metrics --dialect trl:grpo
rollscope export grpo-1 --format tensorboard --out tb --dialect verl
rollscope export grpo-1 --format chrome --out trace.json
"""

from __future__ import annotations

import argparse
import os

import rollscope
from rollscope.errors import BadInput, nearest
from rollscope.store.schema import TABLES

from ._exports import FORMATS, write
from ._terminal import in_line, print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; optional if there is only one run")
    parser.add_argument("--format", default="parquet", choices=FORMATS, help="default: parquet")
    parser.add_argument("--out", metavar="PATH", help="folder to write to; for chrome, a file (default: RUN-export)")
    parser.add_argument(
        "--table",
        action="append",
        metavar="TABLE",
        help="only this table; can be given several times (parquet, csv, jsonl)",
    )
    parser.add_argument("--dialect", help="names and units of metrics as this framework has them; not for chrome")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    for table in args.table or ():
        if table not in TABLES:
            raise BadInput(f"no table {table!r}; the tables are {', '.join(TABLES)}.{nearest(table, TABLES)}")
    reader = rollscope.open(args.dir).run(args.target)
    out = args.out or (f"{reader.id}-trace.json" if args.format == "chrome" else f"{reader.id}-export")
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=args.json, transient=True) as progress:
        task = progress.add_task(args.format, total=None)

        def report(done: int, total: int, item: str) -> None:
            progress.update(task, completed=done, total=total, description=in_line(item))

        files = write(reader, args.format, out, args.table, args.dialect, report)
    _print(files, args.json)
    return 0


def _print(files: dict[str, int], as_json: bool) -> None:
    sizes = {path: os.path.getsize(path) for path in files}
    if as_json:
        listed = [{"file": path, "rows": rows, "bytes": sizes[path]} for path, rows in files.items()]
        print_json(listed)
        return
    for path, rows in files.items():
        say(f"{path}  {'1 row' if rows == 1 else f'{rows} rows'}  {sizes[path] / 1e6:.1f} MB")
