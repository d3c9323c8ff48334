"""Leave runs out of lists. They stay where they are; `rollscope restore` brings them back.

rollscope archive grpo-1 grpo-2
rollscope archive 'sweep-*'
rollscope ls --all
"""

from __future__ import annotations

import argparse

import rollscope
from rollscope.store.project.log import Change

from ._chosen import chosen, runs_in_words
from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="RUN", nargs="+", help="run ids or names, or patterns such as 'sweep-*'")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    ids = chosen(store, args.targets)
    entries = store.project.append_all([Change("archive", id, True) for id in ids])
    if args.json:
        print_json([entry.shape() for entry in entries])
    else:
        say(f"Archived {runs_in_words(ids)}. See them with: rollscope ls --all")
    return 0
