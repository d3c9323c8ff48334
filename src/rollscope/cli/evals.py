"""List a run's evaluations, or decide whether one evaluation is worse than another.

rollscope evals grpo-1
rollscope evals grpo-2 --against grpo-1 --fail-on regression --margin 0.01
rollscope evals grpo-1 --at 300 --against-at 200
rollscope evals grpo-2 --against grpo-1 --markdown

Tasks are paired: only tasks that both have count, and Holm's correction covers several sets. With
--fail-on regression the exit code is 1 if a set fell by more than the margin beyond noise; it is 2
if there is nothing sound to compare.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.errors import BadInput
from rollscope.strict_json import plain
from rollscope.views.evals.gate import Evaluated, Verdict, left_out, verdicts
from rollscope.views.evals.history import history
from rollscope.views.evals.pairing import Pairing
from rollscope.views.evals.sets import sets
from rollscope.views.evals.task_scores import task_scores

from ._arguments import count, share
from ._numbers import number
from ._terminal import in_line, print_json, say, styled

if TYPE_CHECKING:
    from rollscope.store.run import Run

FEW = 8  # task ids to print of those learnt or lost; --json has all


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("--against", metavar="RUN", help="the run to compare with (default: the same run)")
    parser.add_argument("--at", type=count, metavar="STEP", help="step of RUN (default: its newest evaluation)")
    parser.add_argument("--against-at", type=count, metavar="STEP", help="step to compare with (default: the newest)")
    parser.add_argument("--set", action="append", metavar="NAME", help="only this set; can be given several times")
    parser.add_argument("--score", metavar="NAME", help="score to compare (default: the first one that both have)")
    parser.add_argument(
        "--margin", type=share, default=0.0, metavar="X", help="a fall that would not matter (default 0)"
    )
    parser.add_argument("--fail-on", choices=["regression"], help="exit 1 if a set is worse")
    parser.add_argument("--markdown", action="store_true", help="print a table for a pull request")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    after = store.run(args.target)
    if args.against is None and args.against_at is None:
        if args.fail_on:
            raise BadInput("--fail-on needs something to compare with: give --against RUN or --against-at STEP")
        return _list(after, args)
    before = after if args.against is None else store.run(args.against)
    sides = Evaluated(before, args.against_at), Evaluated(after, args.at)
    found = verdicts(*sides, args.margin, args.score, args.set)
    left = [] if args.set else left_out(*sides, found)
    if args.json:
        about = {"against": before.id, "run": after.id, "margin": args.margin, "left_out": left}
        print_json(plain({**about, "sets": _json(found)}))
    else:
        _print(found, args.margin, args.markdown)
        if left:
            print()
            say(in_line("Not compared: " + ", ".join(left) + "."))
    return 1 if args.fail_on and any(verdict.is_regression for verdict in found) else 0


def _json(found: list[Verdict]) -> dict[str, Any]:
    return {verdict.set: _row(verdict) for verdict in found}


def _row(verdict: Verdict) -> dict[str, Any]:
    pairing, result = verdict.pairing, verdict.pairing.result
    return {
        "score": verdict.score,
        "at": pairing.after.step,
        "against_at": pairing.before.step,
        **{key: getattr(result, key) for key in ("difference", "low", "high", "p", "n", "method")},
        "p_holm": verdict.p,
        "p_worse": verdict.p_worse,
        "p_equivalent": verdict.p_equivalent,
        "equivalent": verdict.is_equal,
        "regression": verdict.is_regression,
        "only_before": pairing.alone[0],
        "only_after": pairing.alone[1],
        "says": verdict.says,
        **{kind: list(tasks) for kind, tasks in pairing.kinds.items()},
    }


def _print(found: list[Verdict], margin: float, markdown: bool) -> None:
    if markdown:
        print(_markdown(found, margin))
        return
    for verdict in found:
        say(in_line(f"{verdict.set}: {sentence(verdict)}"))
        for word in ("lost", "learnt"):
            tasks = verdict.pairing.kinds[word]
            if tasks:
                more = f" and {len(tasks) - FEW} more" if len(tasks) > FEW else ""
                say(in_line(f"  {word}: {', '.join(tasks[:FEW])}{more}"))
    if margin:
        say(f"The margin is {number(margin)}: a fall of up to that counts as none.")


def sentence(verdict: Verdict) -> str:
    """The difference in words, with its certainty."""
    r, pairing = verdict.pairing.result, verdict.pairing
    steps = f"step {pairing.after.step:,} against step {pairing.before.step:,}"
    interval = f"95 % interval {r.low:+.3g} to {r.high:+.3g}, p {r.p:.2g}, paired over {r.n:,} tasks"
    flips = f"{len(pairing.kinds['learnt'])} learnt, {len(pairing.kinds['lost'])} lost"
    failed = f", {len(pairing.kinds['failed'])} failed" if pairing.kinds["failed"] else ""
    equal = (
        "" if math.isnan(verdict.p_equivalent) else f", p of a difference within the margin {verdict.p_equivalent:.2g}"
    )
    found = f"{verdict.score} {r.difference:+.3g} ({interval}{equal}), {steps}"
    return f"{verdict.says}. {found}; {flips}{failed}{_alone(pairing)}."


def _alone(pairing: Pairing) -> str:
    """Tasks that cannot be paired: the other evaluation did not try them."""
    parts = [f"{n:,} tried {when} only" for n, when in zip(pairing.alone, ("before", "after"), strict=True) if n]
    return "".join(f", {part}" for part in parts)


def _markdown(found: list[Verdict], margin: float) -> str:
    head = "| set | score | difference | 95 % interval | p | tasks | learnt | lost | verdict |"
    if margin:
        head = head.replace("| p |", f"| p | p within ±{number(margin)} |")
    rows = [head, "|" + "---|" * head.count(" | ") + "---|"]
    for verdict in found:
        r, kinds = verdict.pairing.result, verdict.pairing.kinds
        cells = [_cell(verdict.set), _cell(verdict.score), f"{r.difference:+.4g}", f"{r.low:+.4g} to {r.high:+.4g}"]
        cells += [
            f"{r.p:.2g}",
            *([f"{verdict.p_equivalent:.2g}"] if margin else []),
            f"{r.n}",
            f"{len(kinds['learnt'])}",
            f"{len(kinds['lost'])}",
            verdict.says,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    """A name inside a Markdown table."""
    return in_line(text).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")


def _list(reader: Run, args: argparse.Namespace) -> int:
    found = {name: evals for name, evals in sets(reader).items() if not args.set or name in args.set}
    rows = {name: history(task_scores(evals, args.score)) for name, evals in found.items()}
    if args.json:
        columns = ("steps", "mean", "low", "high", "tasks", "failed", "best", "detectable")
        print_json(plain({name: {c: getattr(h, c) for c in columns} for name, h in rows.items()}))
        return 0
    if not rows:
        say("This run has no evaluation. Record one with run.log_eval, or import one.")
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("set", "score", "step", "mean", "95 % interval", "tasks", "failed", "best at", "can show"):
        table.add_column(column, no_wrap=column == "set")
    for name, h in rows.items():
        last, score = len(h.steps) - 1, args.score or found[name].main_score
        span = f"{number(h.low[last], '–')} to {number(h.high[last], '–')}"
        numbers = [f"{h.steps[last]}", number(h.mean[last], "–"), span, f"{h.tasks[last]}", f"{h.failed[last]}"]
        best = "–" if h.best is None else f"{h.best}"
        table.add_row(styled(in_line(name)), styled(in_line(score)), *numbers, best, number(h.detectable, "–"))
    Console(highlight=False).print(table)
    return 0
