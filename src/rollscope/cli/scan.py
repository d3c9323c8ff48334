"""Run scanners, a Python file of yours, over the samples of runs; keep what they say.

rollscope scan refusals.py grpo-1
rollscope scan judges.py 'sweep-*' --workers 4
rollscope scan refusals.py grpo-1 --again --json
rollscope scan refusals.py 'sweep-*' --ray 10.0.0.5:6379
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import rollscope
from rollscope.scan.scanner import Scanner, scanners, source_of
from rollscope.scan.work import Places, Scan, scan
from rollscope.store.store import Store

from ._chosen import chosen
from ._places import place_arguments, places_of
from ._terminal import in_line, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file with scanners; see docs/scanners.md")
    parser.add_argument("targets", metavar="RUN", nargs="+", help="run ids, names, or patterns such as 'sweep-*'")
    parser.add_argument("--again", action="store_true", help="scan samples that were scanned before too")
    place_arguments(parser)


def run(args: argparse.Namespace) -> int:
    places = places_of(args)
    source, file = source_of(args.file), os.path.abspath(args.file)
    loaded = scanners(source, file)
    store = rollscope.open(args.dir)
    scans = [_scanned(store, store.run(id), source, file, loaded, places, args) for id in chosen(store, args.targets)]
    if args.json:
        print_json([_json(one, loaded) for one in scans])
    return 1 if any(one.failed for one in scans) else 0


def _scanned(
    store: Store,
    run: Any,
    source: str,
    file: str,
    loaded: dict[str, Scanner],
    places: Places,
    args: argparse.Namespace,
) -> Scan:
    """Scan one run with a bar in the terminal, and say what came of it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(in_line(run.id), total=None)
        said = scan(
            run,
            source,
            file,
            loaded,
            places,
            args.again,
            lambda done, all: bar.update(task, completed=done, total=all),
            lambda rows: store.add_rows(run, "scans", rows),
        )
    if not args.json:
        Console(highlight=False).print(_sentence(said, loaded), markup=False)
        for why, count in said.why.most_common(3):
            console.print(f"  {count:,} {'block' if count == 1 else 'blocks'}: {in_line(why)}", markup=False)
    return said


def _sentence(said: Scan, loaded: dict[str, Scanner]) -> str:
    run = in_line(said.run)
    if not said.samples and not said.failed:
        return f"{run}: nothing new to scan. To scan everything again: --again"
    failed = f"; {said.failed:,} failed three times and will be tried by the next scan" if said.failed else ""
    return f"{run}: {said.samples:,} samples scanned by {', '.join(loaded)}{failed}."


def _json(said: Scan, loaded: dict[str, Scanner]) -> dict[str, Any]:
    counts = {"samples": said.samples, "rows": said.rows, "failed": said.failed}
    return {"run": said.run, "scanners": [*loaded], **counts, "why": dict(said.why)}
