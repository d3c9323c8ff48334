"""Compare two or more runs: which settings differ, and which metrics part from which step on.

rollscope compare grpo-1 grpo-2
rollscope compare grpo-1 grpo-2 grpo-3 --metric 'policy/*' --top 20
rollscope compare grpo-1 grpo-2 --json
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
from typing import Any

import rollscope
from rollscope.errors import BadInput
from rollscope.strict_json import plain
from rollscope.views.compare import Difference, Parting, differences, partings

from ._arguments import count
from ._shown import shown
from .show import number


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="+", metavar="RUN", help="run ids or names; the first is the one the others are held against"
    )
    parser.add_argument(
        "--metric", action="append", metavar="PATTERN", help="only metrics that fit; may be given several times"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=count,
        default=12,
        help="metrics to list for each pair (default 12; --json gives all)",
    )


def run(args: argparse.Namespace) -> int:
    if len(args.targets) < 2:
        raise BadInput(
            f"one run, {args.targets[0]!r}, cannot be compared; name two or more, as in `rollscope compare grpo-1 grpo-2`"
        )
    store = rollscope.open(args.dir)
    runs = [store.run(target) for target in args.targets]
    settings = differences([_settings(reader) for reader in runs])
    pairs = [_fitting(partings(runs[0], other), args.metric) for other in runs[1:]]
    if args.json:
        print(json.dumps(plain(_json(runs, settings, pairs)), indent=2, ensure_ascii=False))
    else:
        _print(runs, settings, pairs, args.top)
    return 0


def _settings(reader: Any) -> dict[str, Any]:
    """What a person set: the configuration, and what it ran with."""
    facts = reader.facts
    environment = facts.get("environment") or {}
    code = {key: environment[key] for key in ("git", "packages") if environment.get(key)}
    return {"config": reader.config, **{key: facts.get(key) for key in ("algorithm", "framework")}, **code}


def _fitting(found: list[Parting], patterns: list[str] | None) -> list[Parting]:
    return [p for p in found if not patterns or any(fnmatch.fnmatch(p.metric, pattern) for pattern in patterns)]


def sentence(found: list[Parting]) -> str:
    """Where two runs part, in words."""
    apart = [p for p in found if p.step is not None]
    if not found:
        return "They have no metric in common."
    if not apart:
        return _together(sum(p.distance == 0 for p in found), len(found))
    rest = [p.metric for p in apart if p.metric != apart[0].metric][:1]
    then = f", then in {rest[0]}" if rest else ""
    return f"They part at step {apart[0].step:,}, first in {apart[0].metric}{then}; {len(apart)} of {len(found)} common metrics part."


def _together(told: int, of: int) -> str:
    if told == of:
        return f"They stay together in all {of} common metrics."
    unknown = f"too few common steps to tell in {of - told} common metric{'s' if of - told > 1 else ''}"
    return f"They stay together in {told}; {unknown}." if told else f"{unknown.capitalize()}."


def _json(runs: list[Any], settings: list[Difference], pairs: list[list[Parting]]) -> dict[str, Any]:
    return {
        "runs": [reader.id for reader in runs],
        "settings": {d.key: [plain(value) for value in d.values] for d in settings},
        "pairs": [
            {
                "run": reader.id,
                "against": runs[0].id,
                "says": sentence(found),
                "metrics": [
                    {
                        "metric": p.metric,
                        "step": p.step,
                        "distance": p.distance,
                        "last": [plain(v) for v in p.last],
                        "steps": p.steps,
                    }
                    for p in found
                ],
            }
            for reader, found in zip(runs[1:], pairs, strict=True)
        ],
    }


def _print(runs: list[Any], settings: list[Difference], pairs: list[list[Parting]], top: int) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_settings_table(runs, settings) if settings else "Their settings are equal.")
    for reader, found in zip(runs[1:], pairs, strict=True):
        console.print()
        console.print(shown(f"{reader.id} against {runs[0].id}", "bold"))
        console.print(shown(sentence(found)))
        if found:
            console.print(_partings_table(found[:top]))


def _table(*columns: Any) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=i == 0)  # what one copies stays in one piece
    return table


def _settings_table(runs: list[Any], settings: list[Difference]) -> Any:
    table = _table("setting", *(shown(reader.id) for reader in runs))
    for d in settings:
        table.add_row(*(shown(word) for word in (d.key, *("–" if value is None else str(value) for value in d.values))))
    return table


def _partings_table(found: list[Parting]) -> Any:
    table = _table("metric", "parts at", "first", "second", "apart, of the range")
    for p in found:
        first, second = (number(value) if math.isfinite(value) else "no data" for value in p.last)
        table.add_row(shown(p.metric), p.says, first, second, f"{100 * p.distance:.0f} %" if p.step is not None else "")
    return table
