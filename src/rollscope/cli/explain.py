"""Say what a metric is, how to read it, and what it is called elsewhere.

rollscope explain policy/kl_ref_k3
rollscope explain actor/ppo_kl --dialect verl
rollscope explain --scenario grpo
rollscope explain --symptom reward-crashes
rollscope explain --list --dialect trl:grpo
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rollscope.catalog import guidance
from rollscope.catalog.names import dialects
from rollscope.catalog.spec import METRICS, Metric
from rollscope.errors import BadInput

WIDTH = 100


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
        help="what to check first, and then; without a name: all symptoms",
    )


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _print(args, _listing(args.dialect), _list_text)
    if args.scenario is not None:
        return _print(
            args,
            [asdict(guidance.scenario(args.scenario))] if args.scenario else [asdict(s) for s in guidance.SCENARIOS],
            _scenarios_text,
        )
    if args.symptom is not None:
        return _print(
            args,
            [asdict(guidance.symptom(args.symptom))] if args.symptom else [asdict(s) for s in guidance.SYMPTOMS],
            _symptoms_text,
        )
    if not args.name:
        raise BadInput("say which metric to explain, as in `rollscope explain actor/ppo_kl`, or list them with --list")
    return _print(args, dialects.explain(args.name, args.dialect).json(), _entry_text)


def _print(args: argparse.Namespace, data: Any, text: Callable[[Any], str]) -> int:
    print(json.dumps(data, indent=2, ensure_ascii=False) if args.json else text(data))
    return 0


def _wrap(label: str, text: str) -> list[str]:
    import textwrap

    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<11}", subsequent_indent=" " * 11) or [label]


def _bounds(pair: list[float | None]) -> str:
    low, high = pair
    return (
        ""
        if low is None and high is None
        else f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"
    )


def _entry_text(e: dict[str, Any]) -> str:
    lines = [
        _bold(e["name"])
        + (f"   asked as {e['asked_as']['key']} ({e['asked_as']['dialect']})" if e["asked_as"] else ""),
        e["meaning"],
        "",
    ]
    if e["asked_as"] and not e["asked_as"]["same"]:
        lines += _wrap("≠ theirs", f"not the same number: {e['asked_as']['note']}")
    lines += _wrap("counts", e["definition"])
    lines += (
        _wrap("unit", e["unit"])
        + _wrap("range", _bounds(e["range"]))
        + _wrap("healthy", _bounds(e["healthy"]))
        + _wrap("good", e["good"])
    )
    lines += _wrap("read", e["read"])
    for i, check in enumerate(e["check"]):
        lines += _wrap("check" if not i else "", check)
    lines += _wrap("example", e["example"])
    for i, a in enumerate(e["alarms"]):
        lines += _wrap("alarm" if not i else "", f"{a['condition']} ({a['severity']}) {a['says']} [{a['source']}]")
    lines += _wrap("from", f"{e['producer']}: {', '.join(e['needs'])}")
    lines += [""] + [_name_line(n) for n in e["names"]]
    if e["also"]:
        lines += ["", *_wrap("also", ", ".join(e["also"]))]
    return "\n".join(lines)


def _name_line(n: dict[str, Any]) -> str:
    scale = f"  x {n['scale']:g}" if n["scale"] != 1 else ""
    note = f"   {n['note']}" if n["note"] else ""
    return f"  {'=' if n['same'] else '≠'} {n['dialect']:<18} {n['key']}{scale}{note}"


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def _listing(dialect: str | None) -> list[dict[str, str]]:
    dialects.resolve("policy/entropy")  # fills the catalogue
    if dialect is None:
        return [
            {"name": m.name, "section": m.section, "unit": m.unit, "meaning": m.meaning}
            for m in sorted(METRICS.values(), key=_order)
        ]
    rows = []
    for m in sorted(METRICS.values(), key=_order):
        rows += [
            {"name": n.key, "section": m.section, "unit": m.unit, "meaning": f"{'' if n.same else '≠ '}{m.name}"}
            for n in m.names
            if dialects.Dialect.parse(dialect).speaks(n)
        ]
    return rows


def _order(m: Metric) -> tuple[str, str]:
    return m.section, m.name


def _list_text(rows: list[dict[str, str]]) -> str:
    width = min(52, max((len(r["name"]) for r in rows), default=0))
    out = []
    for section, group in groupby(rows, key=lambda r: r["section"]):
        out += ["", _bold(section)] + [f"  {r['name']:<{width}}  {r['meaning']}" for r in group]
    return "\n".join(out[1:])


def _scenarios_text(scenarios: list[dict[str, Any]]) -> str:
    out = []
    for s in scenarios:
        out += [_bold(s["title"]), ""]
        for w in s["watch"]:
            out += _wrap("", "")
            out += [f"  {w['concern']:<14}{w['metric']:<36}{w['why']}"]
        out += [""]
    return "\n".join(out).rstrip()


def _symptoms_text(symptoms: list[dict[str, Any]]) -> str:
    out = []
    for s in symptoms:
        out += [f"{_bold(s['sees'])}   ({s['name']})"]
        out += [f"  first  {metric:<36}{question}" for metric, question in s["first"]]
        out += [f"  then   {metric:<36}{question}" for metric, question in s["then"]]
        out += [f"  {s['means']}", ""]
    return "\n".join(out).rstrip()
