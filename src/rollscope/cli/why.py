"""Explain why a metric moved between two steps or ranges: which groups and kinds changed it.

rollscope why grpo-1 reward/mean 236
rollscope why grpo-1 critic/rewards/mean 236 --against 211
rollscope why grpo-1 reward/mean 230-240 --against 200-210
rollscope why grpo-1 length/completion/mean 236 --top 20 --json
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import rollscope
from rollscope.errors import BadInput
from rollscope.strict_json import plain
from rollscope.views.why.why import POPULATIONS, Kind, Why

from ._arguments import steps
from ._numbers import number, signed
from ._terminal import in_line, print_json, single_line

BAR = 24  # characters of a bar, both sides together
LABEL = 44  # characters of a label
KINDS = 8  # rows of one dimension; the last sums up the rest
NONE = "no value"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument(
        "metric", metavar="METRIC", help="a mean or a share over samples, under our name or any framework's"
    )
    parser.add_argument("step", metavar="STEP", type=steps, help="the step to explain, or a range such as 230-240")
    parser.add_argument(
        "--against",
        metavar="STEP",
        type=steps,
        help="the step or range to compare with (default: the previous step with samples)",
    )
    parser.add_argument("--top", metavar="N", type=int, default=8, help="groups to list (default 8)")


def run(args: argparse.Namespace) -> int:
    if args.top < 0:
        raise BadInput(f"--top must be 0 or more, not {args.top}")
    why: Why = rollscope.open(args.dir).run(args.target).why(args.metric, args.step, args.against)
    if args.json:
        print_json(plain(why.json()))
    else:
        _print(why, args.top)
    return 0


def _print(why: Why, top: int) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"{in_line(why.metric)}, {_between(why)}", style="bold", markup=False)
    console.print(f"{number(why.before, NONE)} to {number(why.now, NONE)}, change {signed(why.change)}")
    console.print(_population(why), style="dim")
    console.print(_logged(why), style="yellow" if why.agrees is False else "dim")
    if not why.parts:
        console.print("No sample has a value on one of the two sides, so the change cannot be explained.")
        return
    _print_groups(console, rows(why, top), "prompts" if "-" in _between(why) else "groups")
    for dimension, kinds in why.kinds.items():
        _print_kinds(console, dimension, kinds)


def _between(why: Why) -> str:
    """Which steps are compared: "step 235 to 236", "steps 200-210 to 230-240"."""
    before, now = _range(why.against_since, why.against), _range(why.since, why.step)
    return f"step{'s' if '-' in before + now else ''} {before} to {now}"


def _range(first: int | None, last: int) -> str:
    return str(last) if first is None or first == last else f"{first}-{last}"


def _population(why: Why) -> str:
    """Which samples are counted, and how many at each step."""
    counted = f"over {POPULATIONS[why.scope]}: {why.counted[1]:,} and {why.counted[0]:,}"
    if not any(why.left_out):
        return counted
    return f"{counted}; left out, without a value: {why.left_out[1]:,} and {why.left_out[0]:,}"


def _logged(why: Why) -> str:
    """Whether the samples give the number that was logged under this name."""
    if why.agrees is None:
        return "not logged under this name at these steps: computed from the samples"
    logged = f"logged: {number(why.recorded[1], NONE)} to {number(why.recorded[0], NONE)}"
    if why.agrees:
        return f"{logged}, the same"
    return f"{logged}, another number than these samples give; the samples' number is explained"


def _print_groups(console: Any, groups: list[tuple[str, float]], head: str) -> None:
    console.print(f"\n{head}", style="bold")
    largest = max((abs(adds) for _, adds in groups), default=0.0)
    for label, adds in groups:
        console.print(f"  {label:<{LABEL}} {signed(adds):>10}  ", end="", markup=False)
        console.print(bar(adds, largest), style="yellow" if adds < 0 else "blue")


def _print_kinds(console: Any, dimension: str, kinds: tuple[Kind, ...]) -> None:
    console.print(f"\nby {dimension}{'':<{LABEL - len(dimension) - 1}} more of them  each of them", style="bold")
    listed = kinds if len(kinds) <= KINDS else kinds[: KINDS - 1]
    table = [
        (single_line(k.name or "none", LABEL - 18), f"{k.share_before:.0%} to {k.share:.0%}", k.more, k.each)
        for k in listed
    ]
    if rest := kinds[len(listed) :]:
        table.append((f"{len(rest)} others", "", math.fsum(k.more for k in rest), math.fsum(k.each for k in rest)))
    for name, shares, more, each in table:
        console.print(f"  {name:<{LABEL - 16}} {shares:<15} {signed(more):>12} {signed(each):>13}", markup=False)


def rows(why: Why, top: int) -> list[tuple[str, float]]:
    """The first `top` groups, then two sums for the rest: what fell, what rose.

    They add up to the change.
    """
    groups = [
        (single_line(f"{p.group}  {p.task if p.task != p.group else ''}", LABEL), p.adds) for p in why.parts[:top]
    ]
    rest = [p.adds for p in why.parts[top:]]
    for word, adds in (("down", [a for a in rest if a < 0]), ("up", [a for a in rest if a > 0])):
        if adds:
            groups.append((f"{len(adds)} other {'group' if len(adds) == 1 else 'groups'} {word}", math.fsum(adds)))
    return groups


def bar(value: float, largest: float) -> str:
    """A bar that grows left from the middle for a fall, right for a rise."""
    half = BAR // 2
    size = round(half * abs(value) / largest) if largest else 0
    return (" " * (half - size) + "█" * size + "│") if value < 0 else (" " * half + "│" + "█" * size)
