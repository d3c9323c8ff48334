"""Say what is wrong with a run, since when, and what to look at; exit code 1 when something is.

rollscope doctor grpo-1
rollscope doctor grpo-1 --json
rollscope doctor grpo-1 --follow
rollscope doctor --rules
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from typing import Any

from rollscope.diagnose import Finding, all_rules, diagnose
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.errors import BadInput

from ._arguments import seconds

MARK = {"bad": "●", "watch": "▲", "info": "–"}
COLOUR = {"bad": "31", "watch": "33", "info": "34"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name")
    parser.add_argument("--rules", action="store_true", help="list the rules in words")
    parser.add_argument("--all", action="store_true", help="also what somebody has said is not a problem in this run")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="stay, and print each finding when it appears (with --json: one object a line)",
    )
    parser.add_argument("--every", type=seconds, default=5.0, metavar="SECONDS", help="how often to look with --follow")


def run(args: argparse.Namespace) -> int:
    if args.rules:
        return _list_rules(args.json)
    if args.target is None:
        raise BadInput("say which run, as in `rollscope doctor grpo-1`; `rollscope ls` lists them")
    import rollscope

    reader = rollscope.open(args.dir).run(args.target)
    if args.follow:
        return _follow(reader, args)
    away = {} if args.all else hidden(reader)
    every = diagnose(reader)
    findings = open_findings(every, away)
    if args.json:
        print(json.dumps([f.json() for f in findings], ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(_text, findings)) if findings else "Nothing found.")
        for f in every:
            if f.rule in away:
                print(f"hidden here: {f.claim}{f' ({away[f.rule]})' if away[f.rule] else ''}. Show it with --all.")
    return 1 if any(f.severity == "bad" or f.severity == "watch" for f in findings) else 0


def _follow(reader: Any, args: argparse.Namespace) -> int:
    """Until the run ends; each finding is printed once."""
    told: set[tuple[str, int]] = set()
    while True:
        reader.refresh()
        ended = reader.state != "running"
        for f in open_findings(diagnose(reader), {} if args.all else hidden(reader)):
            if (f.rule, f.step) not in told:
                told.add((f.rule, f.step))
                print(json.dumps(f.json(), ensure_ascii=False) if args.json else _text(f), flush=True)
        if ended:
            return 1 if told else 0
        time.sleep(args.every)


def _list_rules(as_json: bool) -> int:
    listed = sorted(all_rules().values(), key=lambda r: r.name)
    if as_json:
        print(
            json.dumps(
                [
                    {"name": r.name, "title": r.title, "teaches": r.teaches, "order": r.order, "needs": r.needs}
                    for r in listed
                ],
                indent=2,
            )
        )
    else:
        for r in listed:
            print(
                f"{r.name}\n{textwrap.indent(textwrap.fill(r.title, 96), '  ')}\n{textwrap.indent(textwrap.fill(r.teaches, 96), '  ')}\n"
            )
    return 0


def _text(f: Finding) -> str:
    mark = f"\x1b[{COLOUR[f.severity]}m{MARK[f.severity]}\x1b[0m" if sys.stdout.isatty() else MARK[f.severity]
    since = f"since step {f.step:,}" + (f" until {f.until:,}" if f.until is not None else "")
    first = f"  first check: {f.check[0]}" if f.check else ""
    return f"{mark} {f.claim} {since}\n  {f.evidence}\n{first}\n"
