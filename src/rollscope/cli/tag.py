"""Tag a run, or take tags away. Everyone who opens the folder sees them.

rollscope tag grpo-1 ablation paper
rollscope tag 'sweep-*' scratch
rollscope tag grpo-1 paper --remove
"""

from __future__ import annotations

import argparse

import rollscope
from rollscope.store.project.log import Change

from ._chosen import chosen, runs_in_words
from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name, or a pattern such as 'sweep-*'")
    parser.add_argument("tags", metavar="TAG", nargs="+", help="one or more words")
    parser.add_argument("--remove", action="store_true", help="take the tags away")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    ids = chosen(store, [args.target])
    entries = store.project.append_all(
        [Change("tag", f"{id}/{tag}", not args.remove) for id in ids for tag in args.tags]
    )
    if args.json:
        print_json([entry.shape() for entry in entries])
    else:
        words = ", ".join(args.tags)
        say(f"{runs_in_words(ids)}: {'took away' if args.remove else 'tagged'} {words}")
    return 0
