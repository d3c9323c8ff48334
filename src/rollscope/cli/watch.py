"""Watch a run in the terminal while it trains: where it is, whether it is well, and its vital signs.

rollscope watch grpo-1
rollscope watch grpo-1 --metric 'reward*' --metric 'policy/kl*'
rollscope watch grpo-1 --json | jq .metrics
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import rollscope
from rollscope.diagnose import Finding, diagnose
from rollscope.diagnose.verdict import verdict
from rollscope.strict_json import plain
from rollscope.views.dictionary import by_our_names
from rollscope.views.vitals import vital_series

from ._arguments import seconds
from .doctor import COLOUR, MARK
from .ls import STYLE, took
from .show import add, chosen_names, columns, number, sparklines, with_units

ANSI = {"31": "red", "33": "yellow", "34": "blue"}
DIAGNOSE = 5.0  # seconds between two looks of the doctor: it reads whole series, the screen only their ends


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="these instead of the vital signs; may be given several times",
    )
    parser.add_argument("--every", type=seconds, default=1.0, metavar="SECONDS", help="how often to look (default 1)")


def run(args: argparse.Namespace) -> int:
    reader = rollscope.open(args.dir).run(args.target)
    if args.json:
        for seen in looks(reader, args):
            print(json.dumps(seen, ensure_ascii=False), flush=True)
        return 0
    if not sys.stdout.isatty():  # a pipe or a file gets the picture once, not a stream of them
        console = _console()
        console.print(picture(next(looks(reader, args)), reader, console.width))
        return 0
    return _live(reader, args)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _live(reader: Any, args: argparse.Namespace) -> int:
    from rich.live import Live

    console = _console()
    with Live(console=console, auto_refresh=False) as screen:
        for seen in looks(reader, args):
            screen.update(picture(seen, reader, console.width), refresh=True)
    return 0


def looks(reader: Any, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is to be seen, now and whenever the run has said more, until it ends."""
    found: list[Finding] = []
    diagnosed, version = -DIAGNOSE, None
    while True:
        reader.refresh()
        ended = reader.state != "running"
        if ended or time.monotonic() - diagnosed > DIAGNOSE:
            found, diagnosed = diagnose(reader), time.monotonic()
        if version != reader.version or ended or not args.json:
            version = reader.version
            yield look(reader, args.metric, found)
        if ended:
            return
        time.sleep(args.every)


def look(reader: Any, patterns: list[str] | None, found: list[Finding]) -> dict[str, Any]:
    listed = with_units(reader)
    at = {str(name): i for i, name in enumerate(listed["name"])}
    ours = by_our_names(at, reader.facts.get("framework"))
    if patterns:
        names = sorted(chosen_names(reader, list(at), patterns))
    else:
        names = [m.logged for signs in vital_series(reader, ours) for m in signs if m.logged in at]
    record = reader.record()
    title, context = verdict(found, 0 if record["step"] is None else int(record["step"]) + 1, None)
    return {
        "run": record["id"],
        "state": record["state"],
        "step": record["step"],
        "steps_planned": record.get("steps_planned"),
        "step_seconds": _step_seconds(reader),
        "verdict": title,
        "context": context,
        "metrics": {name: plain(listed["last"][at[name]]) for name in names},
        "units": {name: listed["unit"][at[name]] for name in names},
        "findings": [f.json() for f in found],
        "damage": [str(d) for d in reader.damage],
    }


def _step_seconds(reader: Any) -> float | None:
    recent = np.diff(reader.steps()["time_ns"][-50:]) / 1e9
    return round(float(np.median(recent)), 6) if len(recent) else None


def picture(seen: dict[str, Any], reader: Any, width: int) -> Any:
    """The screen: where it is, whether it is well, the findings, the signs. A narrow terminal gets shorter lines, never cut names."""
    from rich.console import Group
    from rich.text import Text

    names = list(seen["metrics"])
    values = ["no data" if value is None else number(float(value)) for value in seen["metrics"].values()]
    signs, bars = columns(list(zip(names, values, seen["units"].values(), strict=True)), width)
    for name, line, value, unit in zip(
        names, sparklines(reader, names, bars), values, seen["units"].values(), strict=True
    ):
        add(signs, name, line, value, unit)
    findings = [
        Text.assemble(
            (MARK[f["severity"]], ANSI[COLOUR[f["severity"]]]),
            f" {f['claim']} since step {f['step']:,}. {f['evidence']}",
        )
        for f in seen["findings"][:3]
    ]
    damage = [Text(f"damaged: {d}", "yellow") for d in seen["damage"]]
    return Group(_head(seen, reader), Text(seen["verdict"], "bold"), *findings, Text(), signs, *damage)


def _head(seen: dict[str, Any], reader: Any) -> Any:
    from rich.text import Text

    record = reader.record()
    step = (
        "no step yet"
        if seen["step"] is None
        else f"step {seen['step']:,}" + (f" of {seen['steps_planned']:,}" if seen["steps_planned"] else "")
    )
    pace = f"{seen['step_seconds']:.3g} s a step" if seen["step_seconds"] else ""
    state = (seen["state"], STYLE.get(seen["state"], "default"))
    return Text.assemble(
        (record["name"] or record["id"], "bold"),
        "  ",
        state,
        "  ",
        "  ".join(part for part in (step, pace, took(record)) if part),
    )
