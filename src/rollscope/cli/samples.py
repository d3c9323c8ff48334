"""Show samples of a run: what was asked, what was written, what it got and what became of it.

rollscope samples grpo-1 --step 236 --order-by reward --limit 3
rollscope samples grpo-1 --where "stop_reason = 'length' and reward = 0" --order-by "completion_tokens desc"
rollscope samples grpo-1 --where "not trained" --json
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import rollscope
from rollscope.cli.why import number
from rollscope.errors import BadInput
from rollscope.store import arrow, tables
from rollscope.views.written import jsonl, markdown

TEXT = 600


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; not needed when there is one run")
    parser.add_argument("--where", metavar="SQL", help="a condition over the columns of samples: \"reward < 0.5 and env = 'tools'\"")
    parser.add_argument("--order-by", metavar="SQL", help='an order: "reward", "completion_tokens desc"')
    parser.add_argument("--limit", type=int, default=10, help="at most so many (default 10)")
    parser.add_argument("--step", type=int, help="only samples of this step")
    parser.add_argument("--text", type=int, default=TEXT, metavar="N", help=f"characters of each text (default {TEXT}, 0 for all)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown, texts whole")


def run(args: argparse.Namespace) -> int:
    if args.limit < 0:
        raise BadInput(f"--limit must be 0 or more, not {args.limit}")
    reader = rollscope.open(args.dir).run(args.target)
    table = reader.samples(where=args.where, order_by=args.order_by, limit=args.limit, step=args.step, as_arrow=True)
    columns = arrow.numpy(table, tables.types("samples"))
    rows = [{name: values[i] for name, values in columns.items()} for i in range(len(table))]
    if args.json:
        sys.stdout.writelines(line.encode("utf-8", "replace").decode() for line in map(jsonl, rows))
    elif args.markdown:
        print(markdown(rows, reader.turns).encode("utf-8", "replace").decode())
    else:
        _print(rows, reader, args.text or sys.maxsize)
    return 0


def _print(rows: list[dict[str, Any]], reader: Any, most: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not rows:
        console.print('No sample fits. See what there is: rollscope sql "select step, count(*) from samples group by step"', markup=False)
    for row in rows:
        console.print(Text.assemble((safe(str(row["id"])), "bold"), "  ", (f"reward {number(_float(row['reward']))}", _colour(row)), f"  {_facts(row)}"))
        for label, text in (("prompt", row["prompt"]), ("completion", row["completion"]), ("error", row["error"])):
            if text:
                console.print(Text(f"  {label}", "dim"))
                console.print(Text(_indented(safe(_cut(str(text), most)))))
        _print_calls(console, reader, row)
        console.print()


def _print_calls(console: Any, reader: Any, row: dict[str, Any]) -> None:
    from rich.text import Text

    if not _float(row["tool_calls"]) > 0:
        return
    turns = reader.turns(row["id"])
    for tool, ok, seconds, result in zip(turns["tool"], turns["ok"], turns["seconds"], turns["result"], strict=True):
        if tool is not None:
            fate, style = ("failed", "red") if ok is False or ok == 0 else ("ok", "green")
            console.print(Text.assemble(f"  tool {safe(str(tool))} ", (fate, style), f" {seconds:.3g} s  {safe(str(result or ''))[:80]}".replace("\n", " ")))


def _facts(row: dict[str, Any]) -> str:
    parts = [f"step {row['step']}", f"group {safe(str(row['group']))}"]
    parts += [f"advantage {number(_float(row['advantage']))}"] if _float(row["advantage"]) == _float(row["advantage"]) else []
    parts += [f"{int(row['completion_tokens'])} tokens"] if _float(row["completion_tokens"]) == _float(row["completion_tokens"]) else []
    parts += [safe(str(row["stop_reason"]))[:80]] if row["stop_reason"] else []
    parts += [f"dropped, {safe(str(row['discard_reason'] or 'no reason given'))[:80]}"] if row["trained"] is not None and not row["trained"] else []
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
