"""Compare two or more runs: which settings differ, and from which step on their metrics part.

rollscope compare grpo-1 grpo-2
rollscope compare grpo-1 grpo-2 grpo-3 --metric 'policy/*' --top 20
rollscope compare grpo-1 grpo-2 --json
"""

from __future__ import annotations

import argparse
import fnmatch
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.errors import BadInput
from rollscope.strict_json import plain
from rollscope.views.compare import Difference, Parting, differences, partings

from ._arguments import count
from ._numbers import number
from ._terminal import in_line, print_json, styled

if TYPE_CHECKING:
    from rollscope.store.run import Run


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="RUN", help="run ids or names; each is compared with the first")
    parser.add_argument(
        "--metric", action="append", metavar="PATTERN", help="only metrics that match; can be given several times"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=count,
        default=12,
        help="metrics to list for each pair (default 12; --json lists all)",
    )


def run(args: argparse.Namespace) -> int:
    if len(args.targets) < 2:
        raise BadInput(
            f"there is only one run to compare, {args.targets[0]!r};"
            " name two or more, as in `rollscope compare grpo-1 grpo-2`"
        )
    store = rollscope.open(args.dir)
    runs = [store.run(target) for target in args.targets]
    settings = differences([_settings(reader) for reader in runs])
    pairs = [_matching(partings(runs[0], other), args.metric) for other in runs[1:]]
    if args.json:
        print_json(plain(_json(runs, settings, pairs)))
    else:
        _print(runs, settings, pairs, args.top)
    return 0


def _settings(reader: Run) -> dict[str, Any]:
    """The configuration, the algorithm, the framework, the commit and the packages of a run."""
    facts = reader.facts
    environment = facts.get("environment") or {}
    code = {key: environment[key] for key in ("git", "packages") if environment.get(key)}
    return {"config": reader.config, **{key: facts.get(key) for key in ("algorithm", "framework")}, **code}


def _matching(metrics: list[Parting], patterns: list[str] | None) -> list[Parting]:
    return [p for p in metrics if not patterns or any(fnmatch.fnmatch(p.metric, pattern) for pattern in patterns)]


def sentence(metrics: list[Parting]) -> str:
    """Say in words where two runs part."""
    apart = [p for p in metrics if p.step is not None]
    if not metrics:
        return "They have no metric in common."
    if not apart:
        return _together(sum(p.distance == 0 for p in metrics), len(metrics))
    first = apart[0]
    later = next((f", then in {p.metric}" for p in apart if p.metric != first.metric), "")
    counted = f"{len(apart)} of {len(metrics)} common metrics part"
    return f"They part at step {first.step:,}, first in {first.metric}{later}; {counted}."


def _together(together: int, total: int) -> str:
    """The sentence for two runs that part nowhere; the rest of `total` has too few common steps."""
    if together == total:
        return f"They stay together in all {total} common metrics."
    unknown = f"too few common steps to tell in {total - together} common metric{'s' if total - together > 1 else ''}"
    return f"They stay together in {together}; {unknown}." if together else f"{unknown.capitalize()}."


def _json(runs: list[Run], settings: list[Difference], pairs: list[list[Parting]]) -> dict[str, Any]:
    return {
        "runs": [reader.id for reader in runs],
        "settings": {d.key: [plain(value) for value in d.values] for d in settings},
        "pairs": [
            {"run": reader.id, "against": runs[0].id, "says": sentence(metrics), "metrics": [*map(_row, metrics)]}
            for reader, metrics in zip(runs[1:], pairs, strict=True)
        ],
    }


def _row(p: Parting) -> dict[str, Any]:
    last = [plain(value) for value in p.last]
    return {"metric": p.metric, "step": p.step, "distance": p.distance, "last": last, "steps": p.steps}


def _print(runs: list[Run], settings: list[Difference], pairs: list[list[Parting]], top: int) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_settings_table(runs, settings) if settings else "Their settings are equal.")
    for reader, metrics in zip(runs[1:], pairs, strict=True):
        console.print()
        console.print(styled(in_line(f"{reader.id} against {runs[0].id}"), "bold"))
        console.print(styled(in_line(sentence(metrics))))
        if metrics:
            console.print(_partings_table(metrics[:top]))


def _table(*columns: Any) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=i == 0)  # people copy the first column
    return table


def _settings_table(runs: list[Run], settings: list[Difference]) -> Any:
    table = _table("setting", *(styled(in_line(reader.id)) for reader in runs))
    for d in settings:
        values = ["–" if value is None else str(value) for value in d.values]
        table.add_row(*map(styled, (in_line(d.key), *values)))
    return table


def _partings_table(metrics: list[Parting]) -> Any:
    table = _table("metric", "parts at", "first", "second", "apart, of the range")
    for p in metrics:
        first, second = (number(value, "no data") for value in p.last)
        apart = f"{100 * p.distance:.0f} %" if p.step is not None else ""
        table.add_row(styled(in_line(p.metric)), p.says, first, second, apart)
    return table
