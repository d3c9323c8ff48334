"""Watch a run in the terminal while it trains: its step, its verdict, its vital signs.

rollscope watch grpo-1
rollscope watch grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope watch grpo-1 --json | jq .metrics
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import rollscope
from rollscope.diagnose import Diagnosis, diagnosis
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.strict_json import plain

from ._arguments import seconds
from ._health import health_json, health_of, verdict_lines
from ._metric_table import add_row, asked_metrics, metric_table, sparklines
from ._numbers import last_value, took
from ._styles import SEVERITY_MARK, SEVERITY_STYLE, state_style
from ._terminal import in_line, print_json, styled

if TYPE_CHECKING:
    from rollscope.store.run import Run

DIAGNOSE = 5.0  # seconds between two diagnoses: rules read whole series, the screen only their ends
FINDINGS = 3  # most findings on the screen


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; optional if there is only one run")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="show these metrics instead of the vital signs; can be given several times",
    )
    parser.add_argument("--every", type=seconds, default=1.0, metavar="SECONDS", help="how often to look (default 1)")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.live import Live

    reader = rollscope.open(args.dir).run(args.target)
    if args.json:
        for status in statuses(reader, args):
            print_json(status, indent=None)
        return 0
    console = Console(highlight=False)
    if not sys.stdout.isatty():  # a pipe or a file gets one picture, not a stream of them
        console.print(picture(next(statuses(reader, args)), reader, console.width))
        return 0
    with Live(console=console, auto_refresh=False) as screen:
        for status in statuses(reader, args):
            screen.update(picture(status, reader, console.width), refresh=True)
    return 0


def statuses(reader: Run, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The status of the run at every look until it ends; with --json only if it changed."""
    told = Diagnosis()
    diagnosed, version = -DIAGNOSE, None
    while True:
        reader.refresh()
        ended = reader.state != "running"
        if ended or time.monotonic() - diagnosed > DIAGNOSE:
            told, diagnosed = diagnosis(reader), time.monotonic()
        if version != reader.folder.version or ended or not args.json:
            version = reader.folder.version
            yield _status(reader, args.metric, told)
        if ended:
            return
        time.sleep(args.every)


def _status(reader: Run, patterns: list[str] | None, told: Diagnosis) -> dict[str, Any]:
    metrics, _ = asked_metrics(reader, patterns)
    row_of = {str(name): i for i, name in enumerate(metrics["name"])}
    judged = health_json(health_of(reader, told))
    names = sorted(row_of) if patterns else _vital_signs(row_of, judged)
    record = reader.record()
    return {
        "run": record["id"],
        "state": record["state"],
        "step": record["step"],
        "steps_planned": record.get("steps_planned"),
        "step_seconds": _step_seconds(reader),
        **judged,
        "metrics": {name: plain(metrics["last"][row_of[name]]) for name in names},
        "units": {name: metrics["unit"][row_of[name]] for name in names},
        "findings": [f.json() for f in open_findings(told.findings, hidden(reader))],
        "damage": [str(d) for d in reader.damage],
    }


def _vital_signs(known: dict[str, int], judged: dict[str, Any]) -> list[str]:
    return [name for sign in judged["vitals"] for name in sign["metrics"] if name in known]


def _step_seconds(reader: Run) -> float | None:
    recent = np.diff(reader.steps()["time_ns"][-50:]) / 1e9
    return round(float(np.median(recent)), 6) if len(recent) else None


def picture(status: dict[str, Any], reader: Run, width: int) -> Any:
    """The screen: headline, verdict, findings, metrics, damage.

    Fits the width without cutting names.
    """
    from rich.console import Group
    from rich.text import Text

    findings = [_finding(f) for f in status["findings"][:FINDINGS]]
    damage = [styled(in_line(f"damaged: {d}"), "yellow") for d in status["damage"]]
    table = _table(status, reader, width)
    return Group(_headline(status, reader), *verdict_lines(status), *findings, Text(), table, *damage)


def _table(status: dict[str, Any], reader: Run, width: int) -> Any:
    names, units = list(status["metrics"]), [in_line(unit) for unit in status["units"].values()]
    shown = [in_line(name) for name in names]
    values = [last_value(value) for value in status["metrics"].values()]
    table, bars = metric_table(list(zip(shown, values, units, strict=True)), width)
    for name, line, value, unit in zip(shown, sparklines(reader, names, bars), values, units, strict=True):
        add_row(table, name, line, value, unit)
    return table


def _finding(f: dict[str, Any]) -> Any:
    from rich.text import Text

    mark = (SEVERITY_MARK[f["severity"]], SEVERITY_STYLE[f["severity"]])
    return Text.assemble(mark, in_line(f" {f['claim']} since step {f['step']:,}. {f['evidence']}"))


def _headline(status: dict[str, Any], reader: Run) -> Any:
    from rich.text import Text

    record = reader.record()
    title, state = in_line(record["name"] or record["id"]), in_line(status["state"])
    facts = "  ".join(fact for fact in (_progress(status), _pace(status), took(record)) if fact)
    return Text.assemble((title, "bold"), "  ", (state, state_style(state)), "  ", facts)


def _progress(status: dict[str, Any]) -> str:
    if status["step"] is None:
        return "no step yet"
    planned = f" of {status['steps_planned']:,}" if status["steps_planned"] else ""
    return f"step {status['step']:,}{planned}"


def _pace(status: dict[str, Any]) -> str:
    return f"{status['step_seconds']:.3g} s a step" if status["step_seconds"] else ""
