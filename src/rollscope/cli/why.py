"""Say why a metric moved between two steps: which groups, and which kinds of samples, carry the change.

rollscope why grpo-1 reward/mean 236
rollscope why grpo-1 critic/rewards/mean 236 --against 211
rollscope why grpo-1 length/completion/mean 236 --top 20 --json
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import rollscope
from rollscope.errors import BadInput
from rollscope.strict_json import plain
from rollscope.views.why.why import POPULATIONS, Kind, Why

BAR = 24
LABEL = 44
KINDS = 8  # of a dimension that are listed


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument(
        "metric", metavar="METRIC", help="a mean or a share over samples, under our name or any framework's"
    )
    parser.add_argument("step", metavar="STEP", type=int, help="the step that is asked about")
    parser.add_argument(
        "--against", metavar="N", type=int, help="the step to compare with (default: the one before that has samples)"
    )
    parser.add_argument("--top", metavar="N", type=int, default=8, help="groups to list (default 8)")


def run(args: argparse.Namespace) -> int:
    if args.top < 0:
        raise BadInput(f"--top must be 0 or more, not {args.top}")
    reader: Any = rollscope.open(args.dir).run(args.target)
    answer: Why = reader.why(args.metric, args.step, args.against)
    if args.json:
        print(json.dumps(plain(answer.json()), indent=2, ensure_ascii=False))
    else:
        _print(answer, args.top)
    return 0


def _print(answer: Why, top: int) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"{answer.metric}, step {answer.against} to {answer.step}", style="bold", markup=False)
    console.print(f"{number(answer.before)} to {number(answer.now)}, change {signed(answer.change)}")
    console.print(
        f"over {POPULATIONS[answer.scope]}: {answer.counted[1]:,} and {answer.counted[0]:,}{_left_out(answer)}",
        style="dim",
    )
    console.print(_witness(answer), style="yellow" if answer.agrees is False else "dim")
    if not answer.parts:
        console.print("No sample has a value at one of the two steps, so there is nothing to take apart.")
        return
    console.print("\ngroups", style="bold")
    for label, adds in rows(answer, top):
        console.print(f"  {label:<{LABEL}} {signed(adds):>10}  ", end="", markup=False)
        console.print(bar(adds, max(abs(a) for _, a in rows(answer, top))), style="yellow" if adds < 0 else "blue")
    for dimension, kinds in answer.kinds.items():
        _print_kinds(console, dimension, kinds)


def _left_out(answer: Why) -> str:
    return (
        f"; left out, without a value: {answer.left_out[1]:,} and {answer.left_out[0]:,}"
        if any(answer.left_out)
        else ""
    )


def _witness(answer: Why) -> str:
    """Whether the number that was logged under this name is the one that is taken apart."""
    if answer.agrees is None:
        return "not logged under this name at these steps: made of the samples"
    said = f"logged: {number(answer.recorded[1])} to {number(answer.recorded[0])}"
    return (
        f"{said}, the same"
        if answer.agrees
        else f"{said}, another number than these samples give; what is taken apart is theirs"
    )


def _print_kinds(console: Any, dimension: str, kinds: tuple[Kind, ...]) -> None:
    console.print(f"\nby {dimension}{'':<{LABEL - len(dimension) - 1}} more of them  each of them", style="bold")
    shown = kinds if len(kinds) <= KINDS else kinds[: KINDS - 1]
    rows = [
        (clean(k.name or "none", LABEL - 18), f"{k.share_before:.0%} to {k.share:.0%}", k.more, k.each) for k in shown
    ]
    if rest := kinds[len(shown) :]:
        rows.append((f"{len(rest)} others", "", math.fsum(k.more for k in rest), math.fsum(k.each for k in rest)))
    for name, shares, more, each in rows:
        console.print(f"  {name:<{LABEL - 16}} {shares:<15} {signed(more):>12} {signed(each):>13}", markup=False)


def rows(answer: Why, top: int) -> list[tuple[str, float]]:
    """The leading groups, then the rest in two sums: together they are the change."""
    found = [(clean(f"{p.group}  {p.task if p.task != p.group else ''}", LABEL), p.adds) for p in answer.parts[:top]]
    rest = [p.adds for p in answer.parts[top:]]
    for word, adds in (("down", [a for a in rest if a < 0]), ("up", [a for a in rest if a > 0])):
        if adds:
            found.append((f"{len(adds)} other {'group' if len(adds) == 1 else 'groups'} {word}", math.fsum(adds)))
    return found


def bar(value: float, most: float) -> str:
    """Left of the middle for what fell, right of it for what rose."""
    half = BAR // 2
    size = round(half * abs(value) / most) if most else 0
    return (" " * (half - size) + "█" * size + "│") if value < 0 else (" " * half + "│" + "█" * size)


def clean(text: str, most: int) -> str:
    """What a model or a data set wrote, on one line, with nothing in it that a terminal obeys."""
    shown = "".join(c if c.isprintable() else " " if c in "\n\t" else f"<{ord(c):02X}>" for c in text[: 4 * most])
    shown = " ".join(shown.split())
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "no value"


def signed(value: float) -> str:
    return (f"{value:+.4g}".replace("-", "−") if value else "0") if math.isfinite(value) else "–"
