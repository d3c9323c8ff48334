"""Compute metrics of the catalogue again from the samples that runs recorded.

rollscope recompute group/zero_spread --runs 'sweep-*'
rollscope recompute mismatch/kl_reverse policy/entropy --runs grpo-1 --workers 4
rollscope recompute reward --runs '*' --ray 10.0.0.5:6379

The results are the series recomputed/NAME, beside what was recorded and never over it. A second
call computes steps that are new, and all steps again once a definition has changed.
"""

from __future__ import annotations

import argparse
from typing import Any

import rollscope
from rollscope.recompute.definitions import ours
from rollscope.recompute.work import recompute
from rollscope.scan.work import Places, Scan
from rollscope.store.store import Store

from ._chosen import chosen
from ._places import place_arguments, places_of
from ._terminal import in_line, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metrics", metavar="METRIC", nargs="+", help="names of the catalogue; see `rollscope explain`")
    parser.add_argument(
        "--runs", metavar="RUN", nargs="+", required=True, help="run ids, names, or patterns such as 'sweep-*'"
    )
    parser.add_argument("--again", action="store_true", help="compute steps that were computed before too")
    place_arguments(parser)


def run(args: argparse.Namespace) -> int:
    places = places_of(args)
    store = rollscope.open(args.dir)
    done = [_recomputed(store, store.run(id), places, args) for id in chosen(store, args.runs)]
    if args.json:
        print_json([_json(one, args.metrics) for one in done])
    return 1 if any(one.failed for one in done) else 0


def _recomputed(store: Store, run: Any, places: Places, args: argparse.Namespace) -> Scan:
    """Recompute one run with a bar in the terminal, and say what came of it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(in_line(run.id), total=None)
        said = recompute(
            run,
            args.metrics,
            places,
            args.again,
            lambda done, all: bar.update(task, completed=done, total=all),
            lambda rows: store.add_rows(run, "scans", rows),
        )
    if not args.json:
        Console(highlight=False).print(_sentence(said, args.metrics), markup=False)
        for why, count in said.why.most_common(3):
            console.print(f"  {count:,} {'block' if count == 1 else 'blocks'}: {in_line(why)}", markup=False)
    return said


def _sentence(said: Scan, metrics: list[str]) -> str:
    run = in_line(said.run)
    if not said.samples and not said.failed:
        return f"{run}: no step is new, and no definition has changed. To compute all again: --again"
    failed = f"; {said.failed:,} failed three times and will be tried by the next call" if said.failed else ""
    return f"{run}: {said.samples:,} steps computed. See recomputed/{in_line(ours(metrics)[0])}{failed}."


def _json(said: Scan, metrics: list[str]) -> dict[str, Any]:
    counts = {"steps": said.samples, "rows": said.rows, "failed": said.failed}
    return {"run": said.run, "metrics": metrics, **counts, "why": dict(said.why)}
