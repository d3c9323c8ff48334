"""Print what a step's time went into: its critical path, who waited for whom, what would save time.

rollscope timeline grpo-1
rollscope timeline grpo-1 --step 236
rollscope timeline grpo-1 --step 236 --json
"""

from __future__ import annotations

import argparse
from typing import Any

import rollscope
from rollscope.strict_json import plain
from rollscope.views.answers.answer import MOST_LEVERS, MOST_WAITS, Answer, answer, notes
from rollscope.views.answers.levers import best

from ._terminal import in_line, print_json, single_line

BAR = 24  # characters of a bar
LANE = 28
MOST_PARTS = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("--step", metavar="N", type=int, help="the step (default: the last complete one)")


def run(args: argparse.Namespace) -> int:
    found = answer(rollscope.open(args.dir).run(args.target), args.step)
    if args.json:
        print_json(plain(found.json()))
    else:
        _print(found)
    return 0


def _print(found: Answer) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    saved = 1 - found.without_waiting / found.wall if found.wall else 0.0
    console.print(f"step {found.window.step}: {found.wall:.3f} s", style="bold")
    console.print(f"without waiting {found.without_waiting:.3f} s, {saved:.0%} less")
    for note in notes(found.window):
        console.print(in_line(note), style="yellow", markup=False)
    _print_lanes(console, found)
    _print_path(console, found)
    for title, lines in (("who waits for whom", _waits(found)), ("what would save time", _levers(found))):
        console.print(f"\n{title}", style="bold")
        for line in lines or ["  nothing"]:
            console.print(f"  {line}", markup=False)


def _print_lanes(console: Any, found: Answer) -> None:
    console.print(f"\n{'lanes':<{LANE + BAR + 4}}busy  waiting  idle", style="bold")
    for share in found.shares:
        row: dict[str, Any] = share.json()
        busy, waiting = round(BAR * row["busy"]), round(BAR * (row["busy"] + row["waiting"]))
        bar = "█" * busy + "▒" * (waiting - busy) + "·" * (BAR - waiting)
        shares = f"{row['busy']:>5.0%}  {row['waiting']:>7.0%} {row['idle']:>5.0%}"
        reasons = ", ".join(f"{reason} {part:.0%}" for reason, part in row["waiting_for"].items() if part >= 0.005)
        console.print(f"  {single_line(share.unit, LANE):<{LANE}} {bar} {shares}  {reasons}", markup=False)


def _print_path(console: Any, found: Answer) -> None:
    console.print("\nthe path, from the step's beginning to its end", style="bold")
    parts = found.path
    listed = set(sorted(range(len(parts)), key=lambda i: -parts[i].seconds)[:MOST_PARTS])
    for i in sorted(listed):
        part = parts[i]
        sample = f"sample {part.sample}" if part.sample else ""
        where = f"{single_line(part.phase, 24):<24} {single_line(part.lane, 24):<24}"
        console.print(f"  {part.seconds:>9.4f} s  {where} {single_line(sample, 40)}", markup=False)
    if rest := [part for i, part in enumerate(parts) if i not in listed]:
        console.print(f"  {sum(part.seconds for part in rest):>9.4f} s  {len(rest)} shorter parts")


def _waits(found: Answer) -> list[str]:
    return [in_line(wait.says) for wait in found.waits[:MOST_WAITS] if wait.ns]


def _levers(found: Answer) -> list[str]:
    return [f"{lever.change}: {lever.says}" for lever in best(found.levers, MOST_LEVERS)]
