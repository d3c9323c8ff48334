"""Import existing data: files of trackers, logs of frameworks, dumps of rollouts.

Give files or folders; their formats are detected. Importing again adds only what is new.
`--follow` keeps importing while the files grow. Known formats: TensorBoard, W&B offline runs and
exports, Trackio, MLflow, SwanLab, TRL, veRL, OpenRLHF, RLinf, Trinity-RFT, Telescope, JSONL, CSV,
console logs, Chrome traces, Hugging Face datasets of rollouts; evaluations of Inspect (.eval,
.json), lm-evaluation-harness (samples_*.jsonl) and as JSON lines.

`wandb://entity/project` or `wandb://entity/project/run` asks W&B's server, through the wandb
library and with your own login: all of the history, configuration, tables and files.

With --into everything goes to a run that is there: rollouts that a framework dumps to the run that
has its numbers, so that a point of a chart leads to the samples behind it. With --follow, while
both are written. Evaluations do not say which step they are of, so they need --step: the same file
twice adds nothing, and `rollscope evals` and the Evals page compare them with the run's own.

A file is read in a process that can do nothing but read it, so a hostile one is harmless. A file
that needs too much memory or time, or holds too much for its size, is skipped with a sentence.

example: rollscope import outputs/grpo wandb/offline-run-20260101_120000-ab12cd34
example: rollscope import wandb://my-team/countdown
example: rollscope import outputs/dumps --into grpo-1 --follow
example: rollscope import logs/gsm8k.eval --into grpo-1 --step 300
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rollscope
from rollscope.errors import BadInput, CannotWrite
from rollscope.sources.intake.follow.watch import Watch
from rollscope.sources.intake.guest.into import Into
from rollscope.sources.intake.importer import Importer, Report
from rollscope.sources.intake.writing import Gone
from rollscope.sources.online.address import address, is_address
from rollscope.sources.online.fetch import fetch

from ._arguments import count, seconds
from ._terminal import in_line, print_json, say

if TYPE_CHECKING:
    from rollscope.store.run import Run

SOME = 5  # names that a line lists


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder or wandb:// address")
    parser.add_argument("--into", metavar="RUN", help="add to this run: its id or name")
    parser.add_argument("--step", type=count, metavar="N", help="the step that evaluations belong to; with --into")
    parser.add_argument("--follow", action="store_true", help="keep importing new data until interrupted")
    parser.add_argument(
        "--every", type=seconds, default=1.0, metavar="SECONDS", help="how often --follow looks (default 1)"
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="lift the limits of memory, time and size, and follow links out of a folder: for files of your own",
    )


def _into(args: argparse.Namespace) -> tuple[Path, Into | None]:
    """The folder of runs, and the run and step of --into and --step."""
    if args.into is None:
        if args.step is not None:
            raise BadInput("--step needs a run to put evaluations into: give --into RUN")
        return Path(args.dir), None
    if args.step is not None and args.follow:
        raise BadInput("--step adds evaluations once: leave out --follow, or --step if the files name their steps")
    store = rollscope.open(args.dir)
    store.check_writable()
    reader = store.run(args.into)
    steps = reader.steps()
    begin, end = reader.time_range
    into = Into(
        run=reader.id,
        attempt=int(reader.facts.get("attempt") or 1),
        step=args.step,
        times=dict(zip(map(int, steps["step"]), map(int, steps["time_ns"]), strict=True)),
        writers=_writers(reader),
        begin_ns=begin,
        end_ns=None if reader.state == "running" else end,
    )
    return Path(reader.path).absolute().parent, into  # --dir may be the folder of the run itself


def _writers(reader: Run) -> dict[str, set[str]]:
    """Who wrote each number of a run."""
    found = reader.sql("SELECT DISTINCT name, writer FROM metrics")
    writers: dict[str, set[str]] = {}
    for name, writer in zip(found["name"], found["writer"], strict=True):
        writers.setdefault(str(name), set()).add(str(writer))
    return writers


def run(args: argparse.Namespace) -> int:
    root, into = _into(args)
    addresses = [address(path) for path in args.paths if is_address(path)]
    if addresses and (args.follow or into is not None):
        raise BadInput("an address is imported as runs of its own, once: leave out --follow and --into")
    paths = [Path(path) for path in args.paths if not is_address(path)]
    bar = _Bar(quiet=args.json or not sys.stderr.isatty())
    importer = Importer(root, bar, live=args.follow, trust=args.trust, into=into)
    if args.follow:
        # Exit by an exception on SIGTERM, so that the runs are closed and marked as ended.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    watch = Watch(
        paths if args.follow else [], args.every
    )  # before reading, so that data written meanwhile counts as new
    try:
        report = importer.take(paths)
        fetch(addresses, root, bar, report)
        bar.done()
        _print(report, args.json)
        _say_nothing(report, args)
        if args.follow:
            _follow(importer, paths, args, watch)
    finally:
        importer.close()
        if rest := importer.rest():
            _print(Report(skipped=rest), args.json)
    return 0 if report.files else 2


def _follow(importer: Importer, paths: list[Path], args: argparse.Namespace, watch: Watch) -> None:
    """Import again whenever a file grows, and after a full disk. Each fault is reported once."""
    reported: set[str] = set()
    while True:
        time.sleep(watch.rest)
        try:
            if not watch.changed() and not importer.waits:
                importer.meet()
                continue
            report = importer.take(paths)
        except Gone:
            raise
        except CannotWrite as error:
            watch.look_again()  # whether a file grows or not
            if str(error) not in reported:
                print(in_line(f"rollscope import: {error}"), file=sys.stderr, flush=True)
            reported.add(str(error))
            continue
        _keep_news(report, reported)
        if report.runs or report.skipped:
            _print(report, args.json)


def _keep_news(report: Report, reported: set[str]) -> None:
    """Leave in a report what no report before it said, and remember it."""
    report.skipped = [item for item in report.skipped if str(item) not in reported]
    reported.update(map(str, report.skipped))
    report.kept = {path: names for path, names in report.kept.items() if path not in reported}
    reported.update(report.kept)
    report.runs = {id: counts for id, counts in report.runs.items() if any(counts.values())}


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        print_json(report.json(), indent=None)
        return
    for id, new in report.runs.items():
        say(in_line(f"{id}: {_news(new)}"))
    for path, names in report.kept.items():
        some = ", ".join(sorted(names)[:SOME]) + (", ..." if len(names) > SOME else "")
        say(in_line(f"{path}: left out {len(names):,} of its numbers, which the run has already: {some}"))
    for path, told in report.told.items():
        if told:
            say(in_line(f"{path}: the run has {told:,} of its rollouts already; they got what the run lacked of them"))
    for item in report.skipped:
        say(in_line(f"skipped {item}"))


def _news(new: dict[str, int]) -> str:
    """What is new: `788 values and 73 rows (48 of samples, 25 of notes) are new`."""
    words = [_counted(new[name], name) for name in ("values", "rows") if new[name]]
    tables = [f"{count:,} of {name}" for name, count in new.items() if name not in ("values", "rows") and count]
    of_tables = f" ({', '.join(tables)})" if tables else ""
    is_one = new["values"] + new["rows"] == 1
    return f"{' and '.join(words) or 'nothing'}{of_tables} {'is' if is_one or not words else 'are'} new"


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name.removesuffix('s') if count == 1 else name}"


def _say_nothing(report: Report, args: argparse.Namespace) -> None:
    if args.follow and not report.files and not args.json:
        print("nothing to import yet: waiting for files that grow or come; Ctrl-C ends it", file=sys.stderr)
    elif not report.files and not args.json:
        known = (
            "" if report.skipped else ": no file there has a format that Rollscope knows. See: rollscope import --help"
        )
        print(f"nothing was imported{known}", file=sys.stderr)


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
