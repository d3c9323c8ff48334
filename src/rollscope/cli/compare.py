"""Compare two or more runs: which is better, which settings differ, and where they part.

rollscope compare grpo-1 grpo-2
rollscope compare grpo-1 grpo-2 --factors gsm8k
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
from rollscope.views.compare.ablation import ablation
from rollscope.views.compare.comparison import Comparison, compare
from rollscope.views.compare.outcome import Outcome, end_of, score_of
from rollscope.views.compare.partings import Parting
from rollscope.views.compare.sentence import parting
from rollscope.views.compare.settings import Difference, differences, settings
from rollscope.views.evals.sets import sets

from ._arguments import count
from ._numbers import number, signed
from ._terminal import in_line, print_json, styled

if TYPE_CHECKING:
    from rollscope.statistics.factors import Effect
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
    parser.add_argument("--alone", action="store_true", help="leave out runs that differ in their seed alone")
    parser.add_argument(
        "--factors", metavar="NAME", help="effect of every changed setting on this metric or set, over the project"
    )


def run(args: argparse.Namespace) -> int:
    if len(args.targets) < 2:
        raise BadInput(
            f"there is only one run to compare, {args.targets[0]!r};"
            " name two or more, as in `rollscope compare grpo-1 grpo-2`"
        )
    store = rollscope.open(args.dir)
    runs = [store.run(target) for target in args.targets]
    records = [record for record in store.runs() if record["project"] == runs[0].facts.get("project")]
    pairs = [compare(runs[0], other, records, store.run, args.alone) for other in runs[1:]]
    differing = differences([settings(reader) for reader in runs])
    effects = _effects([store.run(record["id"]) for record in records], args.factors) if args.factors else []
    if args.json:
        print_json(plain({**_json(runs, differing, pairs, args.metric), "factors": [*map(_factor, effects)]}))
    else:
        _print(runs, differing, pairs, args)
        _print_factors(effects, args.factors)
    return 0


def _effects(runs: list[Run], name: str) -> list[Effect]:
    """The effect of every setting on an evaluation set, or on the end of a metric."""
    is_set = any(name in sets(reader) for reader in runs)
    found = ablation(runs, lambda reader: score_of(reader, name) if is_set else end_of(reader, name))
    if not found:
        raise BadInput(f"no setting differs between runs of this project that have {name!r}; name a metric or a set")
    return found


def _matching(metrics: list[Parting], patterns: list[str] | None) -> list[Parting]:
    return [p for p in metrics if not patterns or any(fnmatch.fnmatch(p.metric, pattern) for pattern in patterns)]


def _json(runs: list[Run], found: list[Difference], pairs: list[Comparison], only: list[str] | None) -> dict[str, Any]:
    return {
        "runs": [reader.id for reader in runs],
        "settings": {d.key: [plain(value) for value in d.values] for d in found},
        "pairs": [
            {
                "run": reader.id,
                "against": runs[0].id,
                "says": parting(pair.metrics),
                "sentences": pair.says,
                "replicas": {"run": pair.b.ids, "against": pair.a.ids},
                "evals": [*map(_outcome, pair.outcomes)],
                "noise": {"in": pair.noise_in, "floor": pair.noise.floor(len(pair.a.runs), len(pair.b.runs))},
                "metrics": [*map(_row, _matching(pair.metrics, only))],
            }
            for reader, pair in zip(runs[1:], pairs, strict=True)
        ],
    }


def _outcome(o: Outcome) -> dict[str, Any]:
    keys = ("name", "score", "difference", "low", "high", "p", "unit", "n", "improvement")
    return {key: getattr(o, key) for key in keys}


def _factor(e: Effect) -> dict[str, Any]:
    names = {"factor": e.change.factor, "from": e.change.usual, "to": e.change.other}
    keys = ("effect", "low", "high", "runs_with", "runs_without", "confounded")
    return names | {key: getattr(e, key) for key in keys}


def _row(p: Parting) -> dict[str, Any]:
    last = [plain(value) for value in p.last]
    return {"metric": p.metric, "step": p.step, "distance": p.distance, "last": last, "steps": p.steps}


def _print(runs: list[Run], found: list[Difference], pairs: list[Comparison], args: argparse.Namespace) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for reader, pair in zip(runs[1:], pairs, strict=True):
        console.print(styled(in_line(f"{reader.id} (B) against {runs[0].id} (A){_seeds(pair)}"), "bold"))
        for said in pair.says:
            console.print(styled(in_line(said)))
        if metrics := _matching(pair.metrics, args.metric):
            console.print(_partings_table(metrics[: args.top]))
        console.print()
    console.print(_settings_table(runs, found) if found else "Their settings are equal.")


def _seeds(pair: Comparison) -> str:
    counts = len(pair.b.runs), len(pair.a.runs)
    return "" if counts == (1, 1) else f", {counts[0]} and {counts[1]} runs that differ in their seed"


def _print_factors(effects: list[Effect], name: str | None) -> None:
    if not effects:
        return
    from rich.console import Console

    table = _table("factor", "from", "to", "effect", "95 %", "runs with, without", "cannot be told from")
    for e in effects:
        span = f"{number(e.low, '–')} to {number(e.high, '–')}"
        names = (in_line(e.change.factor), in_line(str(e.change.usual)), in_line(str(e.change.other)))
        counts = f"{e.runs_with}, {e.runs_without}"
        table.add_row(*map(styled, names), signed(e.effect), span, counts, styled(in_line(", ".join(e.confounded))))
    print(f"\nEffect on {name}")
    Console(highlight=False).print(table)


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
