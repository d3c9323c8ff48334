"""Import what you already have: trackers' files, frameworks' logs and dumps of rollouts.

Give files or folders; what they are is found out. Importing again adds only what is new, and `--follow` goes on while they grow.
Known: TensorBoard, W&B offline runs and exports, Trackio, MLflow, SwanLab, TRL, veRL, OpenRLHF, RLinf, Trinity-RFT, Telescope,
JSONL, CSV, console logs, Chrome traces, Hugging Face datasets of rollouts.

example: rollscope import outputs/grpo wandb/offline-run-20260101_120000-ab12cd34
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from rollscope.sources.intake.importer import Importer, Report, grown

from ._arguments import seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    parser.add_argument("--follow", action="store_true", help="keep looking for what is new, until interrupted")
    parser.add_argument(
        "--every", type=seconds, default=1.0, metavar="SECONDS", help="how often to look when following (default 1)"
    )


def run(args: argparse.Namespace) -> int:
    paths = [Path(path) for path in args.paths]
    bar = _Bar(quiet=args.json or not sys.stderr.isatty())
    importer = Importer(Path(args.dir), bar, live=args.follow)
    seen: dict[str, tuple[int, int]] = {}
    if args.follow:
        signal.signal(
            signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
        )  # then the runs are over, and are said to be
        grown(paths, seen)  # before reading: what comes meanwhile is seen as new
    try:
        report = importer.take(paths)
        bar.done()
        _say(report, args.json)
        if args.follow:
            _follow(importer, paths, args, seen)
    finally:
        importer.close()
    return 0 if report.files else 2


def _follow(importer: Importer, paths: list[Path], args: argparse.Namespace, seen: dict[str, tuple[int, int]]) -> None:
    said: set[str] = set()
    while True:
        time.sleep(args.every)
        if grown(paths, seen):
            report = importer.take(paths)
            report.skipped = [item for item in report.skipped if str(item) not in said]
            said.update(map(str, report.skipped))
            report.runs = {id: counts for id, counts in report.runs.items() if any(counts.values())}
            if report.runs or report.skipped:
                _say(report, args.json)


def _say(report: Report, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report.json()), flush=True)
        return
    for id, new in report.runs.items():
        print(f"{id}: {new['values']:,} values and {new['rows']:,} rows are new", flush=True)
    for item in report.skipped:
        print(f"skipped {item}", flush=True)
    if not report.files:
        why = "" if report.skipped else ": no file there is of a kind Rollscope knows. See: rollscope import --help"
        print(f"nothing was imported{why}", file=sys.stderr)


class _Bar:
    """One line on the terminal that says how far the current file is."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = 0.0

    def __call__(self, path: Path, done: int, total: int) -> None:
        if not self._quiet and time.monotonic() - self._last > 0.1:
            self._last = time.monotonic()
            share = f"{done / total:4.0%}" if total else ""
            print(f"\r\x1b[K{path.name} {share}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        if not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
