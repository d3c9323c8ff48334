"""Star, label and comment samples, and collect them into sets. Who opens the folder sees them.

rollscope mark grpo-1 s236.4 s236.7 --label "reward hack" --set hacks
rollscope mark grpo-1 s236.4 --star --comment "repeats the question"
rollscope mark grpo-1 s236.4 --label "reward hack" --remove
rollscope mark grpo-1
"""

from __future__ import annotations

import argparse

import rollscope
from rollscope.store.store import Store

from ._terminal import in_line, print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("samples", metavar="SAMPLE", nargs="*", help="ids of samples; without any: list what is marked")
    parser.add_argument("--star", action="store_true", help="star them")
    parser.add_argument("--label", action="append", default=[], metavar="LABEL", help="put a label on them")
    parser.add_argument("--comment", default="", metavar="TEXT", help="say something about them")
    parser.add_argument("--set", action="append", default=[], metavar="NAME", help="put them into this set")
    parser.add_argument("--remove", action="store_true", help="take these marks away")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    if not args.samples:
        return _list(store, args.target, args.json)
    entries = store.mark(args.target, args.samples, args.star, args.label, args.comment, args.set, args.remove)
    if args.json:
        print_json([entry.shape() for entry in entries])
        return 0
    count = f"{len(entries)} {'mark' if len(entries) == 1 else 'marks'}"
    say(f"{'Took away' if args.remove else 'Made'} {count} on {len(set(args.samples))} samples.")
    return 0


def _list(store: Store, target: str, as_json: bool) -> int:
    marks = store.sample_marks(target)
    if as_json:
        print_json(marks)
        return 0
    for id, said in marks.items():
        words = ["★"] if said["star"] else []
        words += said["labels"] + [f"in {name}" for name in said["sets"]]
        words += [f"“{comment['text']}” ({comment['author']})" for comment in said["comments"]]
        say(f"{in_line(id)}  {in_line(', '.join(words))}")
    if not marks:
        say("No sample of this run is marked. To mark one: rollscope mark RUN SAMPLE --star")
    return 0
