"""Show samples of a run: prompt, completion, reward, and whether it was trained on.

rollscope samples grpo-1 --step 236 --order-by reward --limit 3
rollscope samples grpo-1 --where "stop_reason = 'length'" --order-by "completion_tokens desc"
rollscope samples grpo-1 --where "not trained" --json
rollscope samples grpo-1 --filter "label:hack reward>0.5"
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.errors import BadInput, RollscopeError
from rollscope.store import arrow
from rollscope.views.let_go import let_go_sentence
from rollscope.views.samples.sample_export import Rows, jsonl, markdown, rows, samples_in_order, turns
from rollscope.views.samples.search import Narrow
from rollscope.visible import escaped_json, visible

from ._numbers import number
from ._terminal import in_line

if TYPE_CHECKING:
    from rollscope.store.run import Run
    from rollscope.store.store import Store

TEXT = 600  # characters of each text that are printed
SHORT = 80  # characters of a tool's result, a stop reason, a discard reason


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; optional if there is only one run")
    parser.add_argument(
        "--where", metavar="SQL", help="a condition on the columns of samples: \"reward < 0.5 and env = 'tools'\""
    )
    parser.add_argument(
        "--filter", metavar="WORDS", help="filter words as on the page: 'label:hack star:yes set:paper reward<0.5'"
    )
    parser.add_argument("--order-by", metavar="SQL", help='an order: "reward", "completion_tokens desc"')
    parser.add_argument("--limit", type=int, default=10, help="at most this many samples (default 10)")
    parser.add_argument("--step", type=int, help="only samples of this step")
    parser.add_argument(
        "--text", type=int, default=TEXT, metavar="N", help=f"characters of each text (default {TEXT}, 0 for all)"
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown, with full texts")


def run(args: argparse.Namespace) -> int:
    for name, given, least in (("--limit", args.limit, 1), ("--text", args.text, 0)):
        if given < least:
            raise BadInput(f"{name} must be {least} or more, not {given}")
    store = rollscope.open(args.dir)
    reader = store.run(args.target)
    samples = rows(_filtered(store, reader, args) if args.filter else _select(reader, args))
    by_sample = turns(reader, samples)
    if args.json:
        sys.stdout.writelines(escaped_json(jsonl(row, by_sample.get(row["id"]))) for row in samples)
    elif args.markdown:
        print(markdown(samples, by_sample))
    else:
        _print(samples, by_sample, args.text or sys.maxsize)
    if says := let_go_sentence(reader):
        print(says, file=sys.stderr)
    return 0


def _select(reader: Run, args: argparse.Namespace) -> Any:
    """The samples that the arguments ask for.

    An unknown column is answered with the list of columns.
    """
    try:
        return reader.samples(where=args.where, order_by=args.order_by, limit=args.limit, step=args.step, as_arrow=True)
    except RollscopeError as error:
        if "Referenced column" not in str(error):
            raise
        columns = ", ".join(column.name for column in arrow.fields("samples"))
        raise BadInput(f"{str(error).splitlines()[0]} The columns of samples are: {columns}") from error


def _filtered(store: Store, reader: Run, args: argparse.Namespace) -> Any:
    """The samples that the arguments ask for and that pass the filter words."""
    narrow = Narrow(args.filter, marks=store.sample_marks(reader.id))
    if not narrow:
        raise BadInput(f"--filter {args.filter!r} holds no filter word such as reward<0.5, stop:length or label:hack")
    asked = reader.samples(where=args.where, order_by=args.order_by, step=args.step, columns=["id"])["id"]
    passing = narrow.rows(reader, list(asked))
    return samples_in_order(reader, [id for id in asked if id in passing][: args.limit])


def _print(samples: Rows, turns: dict[str, Rows], characters: int) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not samples:
        query = 'rollscope sql "select step, count(*) from samples group by step"'
        console.print(f"No sample matches. To count the samples of each step: {query}", markup=False)
    for row in samples:
        _print_sample(console, row, characters)
        _print_calls(console, turns.get(row["id"], []))
        console.print()


def _print_sample(console: Any, row: dict[str, Any], characters: int) -> None:
    from rich.text import Text

    reward = f"reward {number(_float(row['reward']), 'no value')}"
    console.print(Text.assemble((in_line(row["id"]), "bold"), "  ", (reward, _colour(row)), f"  {_facts(row)}"))
    for label in ("prompt", "completion", "error"):
        if row[label]:
            console.print(Text(f"  {label}", "dim"))
            console.print(Text(_indented(visible(_cut(str(row[label]), characters)))))


def _print_calls(console: Any, turns: Rows) -> None:
    from rich.text import Text

    for turn in turns:
        if turn["tool"] is not None:
            outcome, style = ("", "") if turn["ok"] is None else ("ok ", "green") if turn["ok"] else ("failed ", "red")
            seconds = "" if turn["seconds"] is None else f"{turn['seconds']:.3g} s "
            result = in_line(turn["result"] or "")[:SHORT]
            console.print(Text.assemble(f"  tool {in_line(turn['tool'])} ", (outcome, style), seconds, f" {result}"))


def _facts(row: dict[str, Any]) -> str:
    """Step, group, advantage, tokens, stop reason and discard reason, as far as they are known."""
    advantage, tokens = _float(row["advantage"]), _float(row["completion_tokens"])
    facts = [f"{name} {in_line(row[name])}" for name in ("step", "group") if row[name] is not None]
    if not math.isnan(advantage):
        facts.append(f"advantage {number(advantage, 'no value')}")
    if not math.isnan(tokens):
        facts.append(f"{int(tokens)} tokens")
    if row["stop_reason"]:
        facts.append(in_line(row["stop_reason"])[:SHORT])
    if row["trained"] is not None and not row["trained"]:
        facts.append(f"dropped, {in_line(row['discard_reason'] or 'no reason given')[:SHORT]}")
    return "  ".join(facts)


def _colour(row: dict[str, Any]) -> str:
    advantage = _float(row["advantage"])
    return "blue" if advantage > 0 else "yellow" if advantage < 0 else "default"


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}… and {len(text) - characters:,} characters more"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
