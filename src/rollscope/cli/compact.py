"""Seal the finished logs of runs into Parquet and merge small sets, so that they open fast and take less space.

rollscope compact
rollscope compact grpo-1 --all
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import rollscope
from rollscope.store.seal import compact, logs


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="RUN", help="run ids or names (default: every run of the folder)")
    parser.add_argument(
        "--all", action="store_true", help="merge everything into as few sets as can be, not only full tiers"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also seal logs whose process, on another machine, cannot be seen to be gone",
    )


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import Progress

    store = rollscope.open(args.dir)
    runs = [store.run(target) for target in args.targets] if args.targets else list(store)
    done = []
    with Progress(console=Console(stderr=True), disable=args.json, transient=True) as progress:
        task = progress.add_task("compacting", total=len(runs))
        for reader in runs:
            progress.update(task, description=reader.id)
            done.append(_compact(reader.id, reader.folder.path, args))
            progress.advance(task)
    print(json.dumps(done, indent=2) if args.json else "\n".join(_line(one) for one in done))
    return 0


def _compact(id: str, path: str, args: argparse.Namespace) -> dict[str, Any]:
    before = _bytes(path)
    sealed = logs.seal(path, force=args.force)
    sets = compact.compact(path, everything=args.all)
    return {"run": id, "logs_sealed": sealed, "sets": sets, "bytes_before": before, "bytes_after": _bytes(path)}


def _bytes(path: str) -> int:
    return sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files)


def _line(done: dict[str, Any]) -> str:
    return f"{done['run']}: {done['logs_sealed']} logs sealed, {done['sets']} sets, {done['bytes_before'] / 1e6:.1f} -> {done['bytes_after'] / 1e6:.1f} MB"
