"""Seal finished logs into Parquet and merge small sets: runs open faster and take less space.

rollscope compact
rollscope compact grpo-1 --all
"""

from __future__ import annotations

import argparse
import errno
import os
from typing import Any

import rollscope
from rollscope.errors import RollscopeError
from rollscope.store.listing import unreadable
from rollscope.store.seal import compact, logs

from ._terminal import in_line, print_json

ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Make room for a second copy of what is merged"),
    errno.EROFS: "Make the folder writable",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="RUN", help="run ids or names (default: every run in the folder)")
    parser.add_argument(
        "--all", action="store_true", help="merge everything into as few sets as possible, not only full tiers"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also seal logs of processes on other machines, which may still be running",
    )


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    store = rollscope.open(args.dir)
    store.check_writable()
    readers = [store.run(target) for target in args.targets]
    runs = [(run.id, run.path) for run in readers] or [(entry.id, entry.path) for entry in store.entries()]
    reports = []
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), disable=args.json, transient=True) as progress:
        task = progress.add_task("compacting", total=len(runs))
        for id, path in runs:
            progress.update(task, description=in_line(id))
            reports.append(_report(id, path, args))
            progress.advance(task)
    if args.json:
        print_json(reports)
    else:
        print("\n".join(map(_line, reports)))
    return 1 if any("problem" in report for report in reports) else 0


def _report(id: str, path: str, args: argparse.Namespace) -> dict[str, Any]:
    """What was done, or why it could not be. One bad folder does not stop the others."""
    try:
        return _compact(id, path, args)
    except (OSError, RollscopeError) as error:
        return {"run": id, "problem": _problem(id, error)}


def _problem(id: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in ADVICE:
        return (
            f"the run {id!r} was not compacted: {os.strerror(error.errno)}. Its logs and sets are as they were."
            f" {ADVICE[error.errno]}, then ask again."
        )
    return unreadable.sentence(id, error)


def _compact(id: str, path: str, args: argparse.Namespace) -> dict[str, Any]:
    before = _bytes(path)
    sealed = logs.seal(path, force=args.force)
    sets = compact.compact(path, everything=args.all)
    return {"run": id, "logs_sealed": sealed, "sets": sets, "bytes_before": before, "bytes_after": _bytes(path)}


def _bytes(path: str) -> int:
    paths = [os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files]
    return sum(os.lstat(file).st_size for file in paths if os.path.lexists(file))


def _line(report: dict[str, Any]) -> str:
    if "problem" in report:
        return f"{in_line(report['run'])}: {in_line(report['problem'])}"
    before, after = (report[key] / 1e6 for key in ("bytes_before", "bytes_after"))
    sealed, sets = report["logs_sealed"], report["sets"]
    return f"{in_line(report['run'])}: {sealed} logs sealed, {sets} sets, {before:.1f} -> {after:.1f} MB"
