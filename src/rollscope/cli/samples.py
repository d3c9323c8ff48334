"""Show samples of a run: what was asked, what was written, what it got and what became of it.

rollscope samples grpo-1 --step 236 --order-by reward --limit 3
rollscope samples grpo-1 --where "stop_reason = 'length' and reward = 0" --order-by "completion_tokens desc"
rollscope samples grpo-1 --where "not trained" --json
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import rollscope
from rollscope.errors import BadInput, RollscopeError
from rollscope.store import arrow
from rollscope.views.samples.sample_export import Rows, jsonl, markdown, rows, turns

from .why import number

TEXT = 600


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument(
        "--where", metavar="SQL", help="a condition over the columns of samples: \"reward < 0.5 and env = 'tools'\""
    )
    parser.add_argument("--order-by", metavar="SQL", help='an order: "reward", "completion_tokens desc"')
    parser.add_argument("--limit", type=int, default=10, help="at most so many (default 10)")
    parser.add_argument("--step", type=int, help="only samples of this step")
    parser.add_argument(
        "--text", type=int, default=TEXT, metavar="N", help=f"characters of each text (default {TEXT}, 0 for all)"
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown, texts whole")


def run(args: argparse.Namespace) -> int:
    for name, given, least in (("--limit", args.limit, 1), ("--text", args.text, 0)):
        if given < least:
            raise BadInput(f"{name} must be {least} or more, not {given}")
    reader = rollscope.open(args.dir).run(args.target)
    table = _asked(reader, args)
    found = rows(table)
    said = turns(reader, found)
    if args.json:
        sys.stdout.writelines(_escaped(jsonl(row, said.get(row["id"]))) for row in found)
    elif args.markdown:
        text = markdown(found, said)
        print(safe(text) if sys.stdout.isatty() else text.encode("utf-8", "replace").decode())
    else:
        _print(found, said, args.text or sys.maxsize)
    return 0


def _escaped(line: str) -> str:
    """The same JSON with nothing in it that a terminal obeys."""
    return (
        line
        if line[:-1].isprintable()
        else "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in line)
    )


def _asked(reader: Any, args: argparse.Namespace) -> Any:
    try:
        return reader.samples(where=args.where, order_by=args.order_by, limit=args.limit, step=args.step, as_arrow=True)
    except RollscopeError as error:
        if "Referenced column" not in str(error):
            raise
        columns = ", ".join(column.name for column in arrow.fields("samples"))
        raise BadInput(f"{str(error).splitlines()[0]} The columns of samples are: {columns}") from error


def _print(rows: Rows, turns: dict[str, Rows], most: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not rows:
        console.print(
            'No sample fits. See what there is: rollscope sql "select step, count(*) from samples group by step"',
            markup=False,
        )
    for row in rows:
        console.print(
            Text.assemble(
                (safe(str(row["id"])), "bold"),
                "  ",
                (f"reward {number(_float(row['reward']))}", _colour(row)),
                f"  {_facts(row)}",
            )
        )
        for label, text in (("prompt", row["prompt"]), ("completion", row["completion"]), ("error", row["error"])):
            if text:
                console.print(Text(f"  {label}", "dim"))
                console.print(Text(_indented(safe(_cut(str(text), most)))))
        _print_calls(console, turns.get(row["id"], []))
        console.print()


def _print_calls(console: Any, turns: Rows) -> None:
    from rich.text import Text

    for turn in turns:
        if turn["tool"] is not None:
            fate, style = ("", "") if turn["ok"] is None else ("ok ", "green") if turn["ok"] else ("failed ", "red")
            took = "" if turn["seconds"] is None else f"{turn['seconds']:.3g} s "
            result = safe(str(turn["result"] or ""))[:80].replace("\n", " ")
            console.print(Text.assemble(f"  tool {safe(str(turn['tool']))} ", (fate, style), took, f" {result}"))


def _facts(row: dict[str, Any]) -> str:
    parts = [f"step {row['step']}", f"group {safe(str(row['group']))}"]
    parts += (
        [f"advantage {number(_float(row['advantage']))}"]
        if _float(row["advantage"]) == _float(row["advantage"])
        else []
    )
    parts += (
        [f"{int(row['completion_tokens'])} tokens"]
        if _float(row["completion_tokens"]) == _float(row["completion_tokens"])
        else []
    )
    parts += [safe(str(row["stop_reason"]))[:80]] if row["stop_reason"] else []
    parts += (
        [f"dropped, {safe(str(row['discard_reason'] or 'no reason given'))[:80]}"]
        if row["trained"] is not None and not row["trained"]
        else []
    )
    return "  ".join(parts)


def _colour(row: dict[str, Any]) -> str:
    advantage = _float(row["advantage"])
    return "blue" if advantage > 0 else "yellow" if advantage < 0 else "default"


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… and {len(text) - most:,} characters more"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def safe(text: str) -> str:
    """Text with nothing in it that a terminal obeys: control and direction characters and lone surrogates are named."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in text)
