"""Import existing data: files of trackers, logs of frameworks, dumps of rollouts.

Give files or folders; their formats are detected. Importing again adds only what is new.
`--follow` keeps importing while the files grow. Known formats: TensorBoard, W&B offline runs and
exports, Trackio, MLflow, SwanLab, TRL, veRL, OpenRLHF, RLinf, Trinity-RFT, Telescope, JSONL, CSV,
console logs, Chrome traces, Hugging Face datasets of rollouts; evaluations of Inspect (.eval,
.json), lm-evaluation-harness (samples_*.jsonl) and as JSON lines.

`wandb://entity/project` or `wandb://entity/project/run` asks W&B's server, through the wandb
library and with your own login: all of the history, configuration, tables and files.

With --into the evaluations of a file are added to a run, at a step: the same file twice adds
nothing. `rollscope evals` and the Evals page then compare them with the run's own.

A file is read in a process that can do nothing but read it, so a hostile one is harmless. A file
that needs too much memory or time, or holds too much for its size, is skipped with a sentence.

example: rollscope import outputs/grpo wandb/offline-run-20260101_120000-ab12cd34
example: rollscope import wandb://my-team/countdown
example: rollscope import logs/gsm8k.eval --into grpo-1 --step 300
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

import rollscope
from rollscope.errors import BadInput, CannotWrite
from rollscope.sources.intake.importer import Importer, Report, grown
from rollscope.sources.intake.into import Into
from rollscope.sources.online.address import address, is_address
from rollscope.sources.online.fetch import fetch

from ._arguments import count, seconds
from ._terminal import in_line, print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder or wandb:// address")
    parser.add_argument("--into", metavar="RUN", help="add evaluations to this run: its id or name")
    parser.add_argument("--step", type=count, metavar="N", help="the step that the evaluations belong to; with --into")
    parser.add_argument("--follow", action="store_true", help="keep importing new data until interrupted")
    parser.add_argument(
        "--every", type=seconds, default=1.0, metavar="SECONDS", help="how often --follow looks (default 1)"
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="lift the limits of memory, time and size, and follow links out of a folder: for files of your own",
    )


def _into(args: argparse.Namespace) -> Into | None:
    """The run and step of --into and --step."""
    if args.into is None:
        if args.step is not None:
            raise BadInput("--step needs a run to put evaluations into: give --into RUN")
        return None
    if args.step is None:
        raise BadInput(f"--into {args.into} needs the step that was evaluated: give --step N")
    if args.follow:
        raise BadInput("--into adds files once; leave out --follow")
    store = rollscope.open(args.dir)
    store.check_writable()
    reader = store.run(args.into)
    steps = reader.steps()
    times = dict(zip(map(int, steps["step"]), map(int, steps["time_ns"]), strict=True))
    return Into(reader.id, args.step, int(reader.facts.get("attempt") or 1), times)


def run(args: argparse.Namespace) -> int:
    into = _into(args)
    addresses = [address(path) for path in args.paths if is_address(path)]
    if addresses and (args.follow or into is not None):
        raise BadInput("an address is imported as runs of its own, once: leave out --follow and --into")
    paths = [Path(path) for path in args.paths if not is_address(path)]
    bar = _Bar(quiet=args.json or not sys.stderr.isatty())
    importer = Importer(Path(args.dir), bar, live=args.follow, trust=args.trust, into=into)
    seen: dict[str, tuple[int, int]] = {}
    if args.follow:
        # Exit by an exception on SIGTERM, so that the runs are closed and marked as ended.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        grown(paths, seen)  # before reading, so that data written meanwhile counts as new
    try:
        report = importer.take(paths)
        fetch(addresses, Path(args.dir), bar, report)
        bar.done()
        _print(report, args.json)
        if args.follow:
            _follow(importer, paths, args, seen)
    finally:
        importer.close()
    return 0 if report.files else 2


def _follow(importer: Importer, paths: list[Path], args: argparse.Namespace, seen: dict[str, tuple[int, int]]) -> None:
    """Import again whenever a file grows, and after a full disk. Each fault is reported once."""
    reported: set[str] = set()
    while True:
        time.sleep(args.every)
        if grown(paths, seen):
            try:
                report = importer.take(paths)
            except CannotWrite as error:
                seen.clear()  # look again, whether a file grows or not
                if str(error) not in reported:
                    print(in_line(f"rollscope import: {error}"), file=sys.stderr, flush=True)
                reported.add(str(error))
                continue
            report.skipped = [item for item in report.skipped if str(item) not in reported]
            reported.update(map(str, report.skipped))
            report.runs = {id: counts for id, counts in report.runs.items() if any(counts.values())}
            if report.runs or report.skipped:
                _print(report, args.json)


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        print_json(report.json(), indent=None)
        return
    for id, new in report.runs.items():
        say(in_line(f"{id}: {new['values']:,} values and {new['rows']:,} rows are new"))
    for item in report.skipped:
        say(in_line(f"skipped {item}"))
    if not report.files:
        why = (
            "" if report.skipped else ": no file there has a format that Rollscope knows. See: rollscope import --help"
        )
        print(f"nothing was imported{why}", file=sys.stderr)


class _Bar:
    """One line on the terminal: the current file and how much of it is read."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = 0.0

    def __call__(self, path: Path, done: int, total: int) -> None:
        if not self._quiet and time.monotonic() - self._last > 0.1:
            self._last = time.monotonic()
            share = f"{done / total:4.0%}" if total else ""
            print(f"\r\x1b[K{in_line(path.name)} {share}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        if not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
