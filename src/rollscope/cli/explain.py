"""Explain a metric: what it means, how to read it, and what other frameworks call it.

rollscope explain policy/kl_ref_k3
rollscope explain actor/ppo_kl --dialect verl
rollscope explain --scenario grpo
rollscope explain --symptom reward-crashes
rollscope explain --list --dialect trl:grpo
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rollscope.catalog import guidance
from rollscope.catalog.names.dialect import Dialect
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.spec import METRICS
from rollscope.errors import BadInput

from ._terminal import in_line, print_json

WIDTH = 100
LABEL = 11  # characters of a label before a paragraph


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a metric's name, ours or any framework's")
    parser.add_argument("--dialect", help="whose name it is: framework[:trainer][@version], such as trl:grpo@1.16")
    parser.add_argument(
        "--list", action="store_true", help="list every metric (with --dialect: every name of that dialect)"
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        nargs="?",
        const="",
        help=f"what to watch: {', '.join(s.name for s in guidance.SCENARIOS)}",
    )
    parser.add_argument(
        "--symptom",
        metavar="NAME",
        nargs="?",
        const="",
        help="what to check first, and what next; without a name: all symptoms",
    )


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _print(args, _listing(args.dialect), _list_text)
    if args.scenario is not None:
        scenarios = [guidance.scenario(args.scenario)] if args.scenario else guidance.SCENARIOS
        return _print(args, [asdict(s) for s in scenarios], _scenarios_text)
    if args.symptom is not None:
        symptoms = [guidance.symptom(args.symptom)] if args.symptom else guidance.SYMPTOMS
        return _print(args, [asdict(s) for s in symptoms], _symptoms_text)
    if not args.name:
        raise BadInput("say which metric to explain, as in `rollscope explain actor/ppo_kl`, or list them with --list")
    return _print(args, resolve(args.name, args.dialect).json(), _entry_text)


def _print(args: argparse.Namespace, data: Any, text: Callable[[Any], str]) -> int:
    if args.json:
        print_json(data)
    else:
        print(text(data))
    return 0


def _wrap(label: str, text: str) -> list[str]:
    """A paragraph after its label; nothing if there is no text."""
    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL) or [label]


def _wrap_all(label: str, texts: list[str]) -> list[str]:
    """Paragraphs, the first of which has the label."""
    return [line for i, text in enumerate(texts) for line in _wrap("" if i else label, text)]


def _bounds(pair: list[float | None]) -> str:
    low, high = pair
    if low is None and high is None:
        return ""
    return f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"


def _entry_text(e: dict[str, Any]) -> str:
    asked = e["asked_as"]
    alarms = [f"{a['condition']} ({a['severity']}) {a['says']} [{a['source']}]" for a in e["alarms"]]
    return "\n".join(
        [
            _bold(e["name"]) + (f"   asked as {in_line(asked['key'])} ({in_line(asked['dialect'])})" if asked else ""),
            e["meaning"],
            "",
            *(_wrap("≠ theirs", f"not the same number: {asked['note']}") if asked and not asked["same"] else []),
            *_wrap("counts", e["definition"]),
            *_wrap("unit", e["unit"]),
            *_wrap("range", _bounds(e["range"])),
            *_wrap("healthy", _bounds(e["healthy"])),
            *_wrap("good", e["good"]),
            *_wrap("read", e["read"]),
            *_wrap_all("check", e["check"]),
            *_wrap("example", e["example"]),
            *_wrap_all("alarm", alarms),
            *_wrap("from", f"{e['producer']}: {', '.join(e['needs'])}"),
            "",
            *map(_name_line, e["names"]),
            *(["", *_wrap("also", ", ".join(e["also"]))] if e["also"] else []),
        ]
    )


def _name_line(n: dict[str, Any]) -> str:
    scale = f"  x {n['scale']:g}" if n["scale"] != 1 else ""
    note = f"   {n['note']}" if n["note"] else ""
    return f"  {'=' if n['same'] else '≠'} {n['dialect']:<18} {n['key']}{scale}{note}"


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def _listing(dialect: str | None) -> list[dict[str, str]]:
    """Every metric, or every name of a dialect with the metric it means (`≠`: another number)."""
    resolve("policy/entropy")  # fills the catalogue
    metrics = sorted(METRICS.values(), key=lambda m: (m.section, m.name))
    if dialect is None:
        return [{"name": m.name, "section": m.section, "unit": m.unit, "meaning": m.meaning} for m in metrics]
    speaker = Dialect.parse(dialect)
    return [
        {"name": n.key, "section": m.section, "unit": m.unit, "meaning": f"{'' if n.same else '≠ '}{m.name}"}
        for m in metrics
        for n in m.names
        if speaker.speaks(n)
    ]


def _list_text(rows: list[dict[str, str]]) -> str:
    width = min(52, max((len(r["name"]) for r in rows), default=0))
    lines = []
    for section, group in groupby(rows, key=lambda r: r["section"]):
        lines += ["", _bold(section)] + [f"  {r['name']:<{width}}  {r['meaning']}" for r in group]
    return "\n".join(lines[1:])


def _scenarios_text(scenarios: list[dict[str, Any]]) -> str:
    lines = []
    for s in scenarios:
        watched = [f"  {w['concern']:<14}{w['metric']:<36}{w['why']}" for w in s["watch"]]
        lines += [_bold(s["title"]), "", *watched, ""]
    return "\n".join(lines).rstrip()


def _symptoms_text(symptoms: list[dict[str, Any]]) -> str:
    lines = []
    for s in symptoms:
        lines += [f"{_bold(s['sees'])}   ({s['name']})"]
        lines += [f"  first  {metric:<36}{question}" for metric, question in s["first"]]
        lines += [f"  then   {metric:<36}{question}" for metric, question in s["then"]]
        lines += [f"  {s['means']}", ""]
    return "\n".join(lines).rstrip()
